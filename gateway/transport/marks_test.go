package transport

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/winnowhq/winnow/internal/llmtest"
	"github.com/winnowhq/winnow/wire"
	"github.com/winnowhq/winnow/wire/anthropic"
)

// Where something is left out in the middle, the provider still reads from its cache what stands
// before that. A client that has spent its marks keeps them, and there is never one more than the
// provider takes.
func TestTransport_whatStandsBeforeAChangeIsReadFromTheCache(t *testing.T) {
	sequential(t)
	read := map[bool]int{}
	for _, spent := range []bool{false, true} {
		b := &tap{base: http.DefaultTransport}
		s := play(t, llmtest.Anthropic, 60, Options{Base: b})
		changes := 0
		for i, at := range s.steps() {
			before := s.receipts()
			if status, answer := s.send(withSystem(s.request(at), spent)); status != 200 {
				t.Fatalf("step %d: %d %s", i, status, answer)
			}
			n, _ := marksOf(wire.ValueOf(b.sent[len(b.sent)-1]), 0)
			_, state := s.only()
			changed := s.decided > before && state.Receipts[len(state.Receipts)-1].Rewritten > 0
			if want := 3; i > 0 && (spent || changed) && n != want+1 || !spent && !changed && n > want {
				t.Errorf("step %d, marks spent: %t, a change: %t: %d marks", i, spent, changed, n)
			}
			if records := s.server.Records(); changed {
				changes++
				read[spent] += records[len(records)-1].Usage.Cache.Read
			}
			s.now = s.now.Add(20 * time.Second)
		}
		if changes == 0 {
			t.Error("nothing was left out of what the cache had")
		}
		if problems := s.server.Problems(); len(problems) > 0 {
			t.Errorf("the provider would refuse: %v", problems)
		}
	}
	if read[false] <= read[true] {
		t.Errorf("with a mark in front of the change %d tokens were read from the cache, without one %d",
			read[false], read[true])
	}
}

// withSystem is a request with a system prompt that is long enough for the cache. It has one mark,
// or two, which with those of the messages makes four.
func withSystem(r *http.Request, two bool) *http.Request {
	body := must(io.ReadAll(r.Body))
	mark := ""
	if two {
		mark = anthropic.CacheControl
	}
	long := strings.Repeat("You write code with care. ", 1000)
	body = bytes.Replace(body, []byte(`"system":"You write code."`), fmt.Appendf(nil,
		`"system":[{"type":"text","text":"You write code."%s},{"type":"text","text":%q%s}]`,
		mark, long, anthropic.CacheControl), 1)
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	return r
}
