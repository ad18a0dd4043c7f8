package transport

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/winnowhq/winnow/internal/llmtest"
)

// Shims between a client and winnow number the blocks of a message anew with each request, and give
// items other ids: it is the same conversation, of which the same is left out.
func TestTransport_renumberedBlocks(t *testing.T) {
	sequential(t)
	numbers := regexp.MustCompile(`"index":\d+,`)
	b := &tap{base: carrier(func(r *http.Request) (*http.Response, error) { // a provider that takes no notice of them
		body := numbers.ReplaceAll(must(io.ReadAll(r.Body)), nil)
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
		return http.DefaultTransport.RoundTrip(r)
	})}
	s := play(t, llmtest.Anthropic, 50, Options{Base: b})
	for i, at := range s.steps() {
		r := s.request(at)
		body := must(io.ReadAll(must(r.GetBody())))
		var out bytes.Buffer
		n := i
		for part := range strings.SplitAfterSeq(string(body), `{"type":"text",`) {
			n++
			if whole, cut := strings.CutSuffix(part, `{"type":"text",`); cut {
				fmt.Fprintf(&out, `%s{"index":%d,"type":"text",`, whole, n)
			} else {
				out.WriteString(part)
			}
		}
		text := bytes.ReplaceAll(out.Bytes(), []byte(`{"type":"tool_result",`), fmt.Appendf(nil, `{"index":%d,"type":"tool_result",`, i))
		r = r.Clone(r.Context())
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(text)), int64(len(text))
		if status, answer := s.send(r); status != 200 {
			t.Fatalf("step %d: %d %s", at, status, answer)
		}
		s.now = s.now.Add(20 * time.Second)
	}
	if list := must(s.store.List(t.Context())); len(list) != 1 {
		t.Errorf("%d sessions were made of one", len(list))
	}
	if s.transport.Totals().Edited == 0 {
		t.Error("nothing was left out")
	}
}

type carrier func(*http.Request) (*http.Response, error)

func (c carrier) RoundTrip(r *http.Request) (*http.Response, error) { return c(r) }
