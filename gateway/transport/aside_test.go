package transport

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/winnowhq/winnow/format/body"
	"github.com/winnowhq/winnow/internal/llmtest"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/wire"
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
			list := slices.DeleteFunc(must(s.store.List(t.Context())), func(l store.Listing) bool {
				return strings.HasPrefix(l.Info.ID, store.Beside)
			})
			if len(list) != c.sessions || s.receipts() != 0 {
				t.Errorf("%d sessions, %d decisions", len(list), s.receipts())
			}
		})
	}
}

// What a body has somewhere is found where its conversation goes on, too, however it wanders.
func TestRead_findsTheSignsOfTheWholeBody(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	extended, before, behind := 0, 0, 0
	for _, p := range []protocol{providerProtocols[wire.Anthropic], providerProtocols[wire.Responses]} {
		r := must(http.NewRequest(http.MethodPost, "https://provider.example/v1", nil))
		gateway := New(nil, Options{})
		dialect, _ := body.Of(p.kind)
		list, sign, at := []string{}, 0, 0
		for step := range 120 {
			if step%40 == 0 {
				list = list[:0]
			}
			for _, role := range []string{"user", "assistant", "user"}[min(len(list), 1):] {
				list = append(list, fmt.Sprintf(`{"role":%q,"content":[{"type":"text","text":"%d"}]}`, role, len(list)))
			}
			if random.IntN(3) == 0 {
				sign, at = random.IntN(4), random.IntN(len(list))
			}
			elements, head := slices.Clone(list), ""
			switch hour := `"cache_control":{"type":"ephemeral","ttl":"1h"},"type":`; {
			case sign == 1:
				elements[at] = strings.Replace(elements[at], `"type":`, hour, 1)
			case sign == 2:
				head = `"system":[{` + hour + `"text","text":"Be brief."}],`
			case sign == 3 && p.kind == wire.Responses:
				elements = slices.Insert(elements, at, `{"type": "compaction","id":"cmp_1","encrypted_content":"b3Bh"}`)
			}
			text := fmt.Appendf(nil, `{"model":"m",%s%q:[%s],"stream":true}`, head, dialect.Form.List,
				strings.Join(elements, ","))
			whole, _, err := body.ReadRequest(text, dialect, nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			read, err := gateway.read(incoming{Request: r, protocol: p, original: text})
			if err != nil {
				t.Fatalf("%s: %v", text, err)
			}
			if want := signsOf(whole.Native.(*body.Native), signs{}); read.signs != want {
				t.Fatalf("%s: found %+v, want %+v", text, read.signs, want)
			}
			if same := read.doc.Native.(*body.Native).Same(); same > 0 {
				extended++
				for _, found := range []int{read.hour, read.compacted} {
					switch {
					case found >= same:
						behind++
					case found >= 0:
						before++
					}
				}
			}
			gateway.recent.put(read)
		}
	}
	if extended == 0 || before == 0 || behind == 0 {
		t.Errorf("%d bodies went on, %d with a sign before what is new, %d within it: some are never tried",
			extended, before, behind)
	}
	t.Logf("%d bodies went on, %d with a sign before what is new, %d within it", extended, before, behind)
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
