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

// A cache is taken for cold a little later than it lives. A client that asks for its cache to live
// for an hour has it for an hour: nothing is decided as if it were forgotten after the five minutes
// that the model's own lifetime is.
func TestTransport_coldForCertain(t *testing.T) {
	sequential(t)
	for _, c := range []struct {
		idle       time.Duration
		hour, cold bool
	}{
		{5*time.Minute + 50*time.Second, false, false}, {6*time.Minute + 2*time.Second, false, true},
		{10 * time.Minute, true, false}, {time.Hour + 50*time.Second, true, false}, {time.Hour + 62*time.Second, true, true},
	} {
		for _, restarted := range []bool{false, true} {
			s := play(t, llmtest.Anthropic, 50, Options{Mode: Safe, Base: http.DefaultTransport})
			ask := func(at int) {
				r := s.request(at)
				body := must(io.ReadAll(must(r.GetBody())))
				if c.hour {
					body = bytes.ReplaceAll(body, []byte(`{"type":"ephemeral"}`), []byte(`{"type":"ephemeral","ttl":"1h"}`))
				}
				r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
				s.now = s.now.Add(20 * time.Second)
				if status, answer := s.send(r); status != 200 {
					t.Fatalf("step %d: %d %s", at, status, answer)
				}
			}
			steps := s.steps()
			for _, at := range steps[:40] {
				ask(at)
			}
			before := s.receipts()
			s.now = s.now.Add(c.idle - 20*time.Second)
			if restarted {
				s.restart()
			}
			ask(steps[40])
			if decided := s.receipts() > before; decided != c.cold {
				t.Errorf("after %s, restarted %t: decided %t, want %t", c.idle, restarted, decided, c.cold)
			}
		}
	}
}
