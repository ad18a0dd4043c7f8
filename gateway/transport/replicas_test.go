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
// turns, and repeated ones: what stands is sent as it was, from whichever gateway.
func TestTransport_replicasSendTheSame(t *testing.T) {
	sequential(t)
	for _, p := range llmtest.Protocols() {
		for _, window := range []int{0, 14_000} {
			t.Run(fmt.Sprintf("%s, window %d", p, window), func(t *testing.T) { replicas(t, p, window) })
		}
	}
}

func replicas(t *testing.T, p llmtest.Protocol, window int) {
	b := &tap{base: http.DefaultTransport}
	s := play(t, p, 80, Options{Base: b})
	s.window = window
	s.restart()
	both := []*Transport{s.transport, nil}
	s.restart()
	both[1] = s.transport
	receipts, commits, again := 0, 0, 0
	var before []digest
	for i, at := range s.steps() {
		asked := s.request(at)
		var first []byte
		for n := range 2 {
			s.transport = both[(i/3+n)%2]
			r := asked.Clone(t.Context())
			r.Body, _ = asked.GetBody()
			if n == 0 && i%5 == 4 { // the other one is asked while this one waits for its answer
				b.fail = func() bool {
					b.fail = nil
					mine, decided := b.sent[len(b.sent)-1], s.receipts()
					other := asked.Clone(t.Context())
					other.Body, _ = asked.GetBody()
					answer := must(both[(i/3+1)%2].RoundTrip(other))
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
			if n == 0 && i%2 == 0 {
				break // not every request is asked again
			}
		}
		s.now = s.now.Add(20 * time.Second)
	}
	if commits == 0 || again == 0 {
		t.Errorf("%d decisions, %d asked again", commits, again)
	}
	s.only()
	if problems := s.server.Problems(); len(problems) > 0 {
		t.Errorf("the provider would refuse: %s", problems)
	}
}
