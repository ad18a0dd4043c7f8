package transport

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/winnowhq/winnow/internal/llmtest"
)

// Two processes on one store, each with what it remembers of the conversation, get its requests by
// turns, and repeated ones: what stands is sent as it was, from whichever gateway. So it is where each
// gets so many in a row that requests wait to be written.
func TestTransport_replicasSendTheSame(t *testing.T) {
	sequential(t)
	for _, p := range llmtest.Protocols() {
		for _, window := range []int{0, 14_000} {
			t.Run(fmt.Sprintf("%s, window %d", p, window), func(t *testing.T) { replicas(t, p, window, false) })
			t.Run(fmt.Sprintf("%s, window %d, behind", p, window), func(t *testing.T) { replicas(t, p, window, true) })
		}
	}
}

func replicas(t *testing.T, p llmtest.Protocol, window int, behind bool) {
	b := &tap{base: http.DefaultTransport}
	turn, aside, twice := 3, 5, 2
	if behind {
		turn, aside, twice = 8, 8, 8
	}
	var due []func()
	late := func() {
		for _, write := range due {
			write()
		}
		due = nil
	}
	s := play(t, p, 80, Options{Base: b, Behind: behind, Shared: true, After: func(_ time.Duration, call func()) func() bool {
		due = append(due, call)
		return func() bool { return true }
	}})
	s.window = window
	s.restart()
	both := []*Transport{s.transport, nil}
	s.restart()
	both[1] = s.transport
	receipts, commits, again, waited := 0, 0, 0, false
	var before []digest
	for i, at := range s.steps() {
		asked := s.request(at)
		var first []byte
		for n := range 2 {
			s.transport = both[(i/turn+n)%2]
			r := asked.Clone(t.Context())
			r.Body, _ = asked.GetBody()
			if n == 0 && i%aside == aside-1 { // the other one is asked while this one waits for its answer
				b.fail = func() bool {
					b.fail = nil
					mine, decided := b.sent[len(b.sent)-1], s.receipts()
					other := asked.Clone(t.Context())
					other.Body, _ = asked.GetBody()
					answer := must(both[(i/turn+1)%2].RoundTrip(other))
					waited = waited || len(due) > 0
					late()
					must(io.ReadAll(answer.Body))
					answer.Body.Close()
					if yours := b.sent[len(b.sent)-1]; s.decided == decided && !bytes.Equal(mine, yours) {
						t.Fatalf("step %d: meanwhile the other one sends another request, %s", i, difference(mine, yours))
					}
					return false
				}
			}
			if status, answer := s.send(r); status != 200 {
				t.Fatalf("step %d: %d %s", i, status, answer)
			}
			sent := b.sent[len(b.sent)-1]
			records := s.server.Records()
			now := chained(records[len(records)-1].Messages)
			if s.decided > receipts {
				commits++
			} else {
				for k := range min(len(before), len(now)) {
					if before[k] != now[k] {
						t.Fatalf("step %d: message %d is another one, and nothing was decided", i, k)
					}
				}
				if n > 0 {
					again++
					if !bytes.Equal(first, sent) {
						t.Fatalf("step %d: the other one sends another request, %s", i, difference(first, sent))
					}
				}
			}
			receipts, before, first = s.decided, now, sent
			late()
			if n == 0 && i%twice != twice-1 {
				break // not every request is asked again
			}
		}
		s.now = s.now.Add(20 * time.Second)
	}
	if commits == 0 || again == 0 || waited != behind {
		t.Errorf("%d decisions, %d asked again, one waited: %t", commits, again, waited)
	}
	s.only()
	if problems := s.server.Problems(); len(problems) > 0 {
		t.Errorf("the provider would refuse: %s", problems)
	}
}
