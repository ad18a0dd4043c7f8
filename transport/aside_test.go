package transport

import (
	"bytes"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/winnowhq/winnow/internal/llmtest"
)

// What the provider compacted is opaque, and may be bound to what stands behind it: nothing is left
// out beside it. What the provider keeps itself is no conversation of ours.
func TestTransport_whatTheProviderCompactedStays(t *testing.T) {
	sequential(t)
	for name, c := range map[string]struct {
		protocol llmtest.Protocol
		was, is  string
		sessions int
	}{
		"an item": {llmtest.Responses, `"input":[`,
			`"input":[{"type":"compaction","id":"cmp_1","encrypted_content":"b3BhcXVl"},`, 1},
		"a context item": {llmtest.Responses, `"input":[`,
			`"input":[{"type": "context_compaction","encrypted_content":"b3BhcXVl"},`, 1},
		"the provider's history": {llmtest.Responses, `"input":[`, `"previous_response_id":"resp_1","input":[`, 0},
		"a conversation of its":  {llmtest.Responses, `"input":[`, `"conversation":{"id":"c1"},"input":[`, 0},
		"asked for":              {llmtest.Anthropic, `"messages":[`, `"compaction":{"type":"summarize"},"messages":[`, 1},
	} {
		t.Run(name, func(t *testing.T) {
			b := &tap{base: plainer{c.is, c.was}}
			s := play(t, c.protocol, 40, Options{Base: b})
			for _, at := range s.steps() {
				r := s.request(at)
				text := bytes.Replace(must(io.ReadAll(r.Body)), []byte(c.was), []byte(c.is), 1)
				r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(text)), int64(len(text))
				answer, err := s.transport.RoundTrip(r)
				if err != nil {
					t.Fatal(err)
				}
				if io.Copy(io.Discard, answer.Body); answer.StatusCode != 200 {
					t.Fatal(answer.Status)
				}
				answer.Body.Close()
				if !bytes.Equal(b.sent[len(b.sent)-1], text) {
					t.Fatal("another body was sent")
				}
				s.now = s.now.Add(2 * time.Hour)
			}
			if list := must(s.store.List(t.Context())); len(list) != c.sessions || s.receipts() != 0 {
				t.Errorf("%d sessions, %d decisions", len(list), s.receipts())
			}
		})
	}
}

// plainer sends requests on without something that the provider of the tests does not know.
type plainer struct{ unknown, plain string }

func (p plainer) RoundTrip(r *http.Request) (*http.Response, error) {
	text, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	text = bytes.Replace(text, []byte(p.unknown), []byte(p.plain), 1)
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(text)), int64(len(text))
	return http.DefaultTransport.RoundTrip(r)
}
