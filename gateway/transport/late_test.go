package transport

import (
	"context"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/winnowhq/winnow/internal/llmtest"
	"github.com/winnowhq/winnow/plan/pivot"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/summarize/offline"
)

// Another process writes to the conversation before any use of the store that a request makes, and
// before the next one, too. The request is decided about all the same: nothing is logged, which
// would fail the test, and it leaves as it does without the other process.
func TestTransport_decidesWhileAnotherOneWrites(t *testing.T) {
	sequential(t)
	for _, again := range []bool{false, true} {
		uses, want := 1, ""
		for k := 0; k <= uses; k++ {
			var sent string
			uses, sent = writtenMeanwhile(t, k, again)
			if k == 0 {
				want = sent
			}
			if sent != want {
				t.Errorf("asked again: %t, written before uses %d and %d of the store: another request is sent, %s", again,
					k, k+1, difference([]byte(want), []byte(sent)))
			}
		}
		t.Logf("asked again: %t, %d uses of the store", again, uses)
	}
}

// writtenMeanwhile plays a session in whose last step another process writes before two uses of the
// store. It returns how many there are, and what was sent then.
func writtenMeanwhile(t *testing.T, k int, again bool) (uses int, sent string) {
	b := &tap{base: http.DefaultTransport}
	s := play(t, llmtest.Anthropic, 40, Options{Base: b})
	defer s.server.Close()
	kept := s.store
	shared := &interrupted{Store: kept, at: -1}
	s.store = shared
	s.restart()
	steps := s.steps()[:30]
	writes := func() {
		id := s.transport.Totals().Sessions[0]
		if _, err := kept.Apply(context.Background(), id, store.Change{}); err != nil {
			t.Fatal(err)
		}
	}
	for i, at := range steps {
		if i == len(steps)-2 {
			writes() // from now on this process asks whether another one has gone on
		}
		if i == len(steps)-1 {
			if again {
				s.send(s.request(at))
			}
			shared.uses, shared.at = 0, k
			shared.happens = func() {
				if shared.at == k {
					shared.at++
				}
				writes()
			}
		}
		if status, answer := s.send(s.request(at)); status != 200 {
			t.Fatalf("step %d: %d %s", i, status, answer)
		}
		s.now = s.now.Add(20 * time.Second)
	}
	uses, sent = shared.uses, string(b.sent[len(b.sent)-1])
	s.store = kept
	s.restart() // the store has what the client said
	at := s.steps()[len(steps)]
	if status, answer := s.send(s.request(at)); status != 200 {
		t.Fatalf("%d %s", status, answer)
	}
	if n := len(must(kept.List(t.Context()))); n != 1 {
		t.Errorf("asked again: %t, written before uses %d and %d of the store: %d conversations", again, k, k+1, n)
	}
	return uses, sent
}

// A gateway has relayed an answer and is still at work on it, when the client's next request reaches
// another gateway: whenever that is, what the first one decides then counts from the first request
// that carries it, and none is under way that does not.
func TestTransport_decidesNothingWhileARequestIsUnderWay(t *testing.T) {
	sequential(t)
	for _, p := range llmtest.Protocols()[:2] {
		_, decides := overlapped(t, p, -1, 0)
		if len(decides) == 0 {
			t.Fatalf("%s: nothing is decided behind an answer", p)
		}
		uses, _ := overlapped(t, p, decides[0], 0)
		for k := 1; k <= uses; k++ {
			overlapped(t, p, decides[0], k)
		}
		t.Logf("%s: decided behind the steps %v; %d uses of the store", p, decides, uses)
	}
}

// scribe stands for a model that writes summaries, so that folds are made behind an answer.
type scribe struct{ pivot.Summarizer }

func (scribe) Name() string { return "acme/scribe" }

// arrival is a request as it reached the provider, and how much had been decided by then.
type arrival struct {
	chain   []digest
	decided int
}

// overlapped plays a session in which another gateway builds the request behind a step before the
// kth use of the store that the first one makes once the step has reached the provider, and sends it
// when the first one is done; never if k is 0. It returns how many uses there are, and the steps behind whose answer something is decided.
func overlapped(t *testing.T, p llmtest.Protocol, step, k int) (uses int, decides []int) {
	b := &tap{base: http.DefaultTransport}
	s := play(t, p, 44, Options{Base: b, Prepare: func(context.Context, string, string) {}})
	defer s.server.Close()
	s.window, s.scribe = 14_000, scribe{offline.New()}
	s.restart()
	other := s.transport
	kept := s.store
	shared := &interrupted{Store: kept, at: -1}
	s.store = shared
	s.restart()
	first := s.transport
	s.store = kept

	var arrivals []arrival
	ask := func(gateway *Transport, at int) {
		s.transport = gateway
		if status, answer := s.send(s.request(at)); status != 200 {
			t.Errorf("%s, step %d, use %d: %d %s", p, step, k, status, answer)
		}
	}
	steps, paused, goesOn, done := s.steps(), make(chan bool), make(chan bool), make(chan bool)
	last := len(steps)
	if step >= 0 {
		last = min(last, step+6)
	}
	for i := 0; i < last; i++ {
		if i != step {
			ask(first, steps[i])
			arrivals = append(arrivals, arrived(s))
			s.now = s.now.Add(20 * time.Second)
			if s.receipts() > s.decided {
				decides = append(decides, i)
			}
			continue
		}
		b.fail = func() bool {
			b.fail, shared.uses, shared.at = nil, 0, k
			return false
		}
		shared.happens = func() { paused <- true; <-goesOn }
		go func() {
			ask(first, steps[step])
			close(done)
		}()
		select {
		case <-done:
			uses, shared.at = shared.uses, -1
			arrivals = append(arrivals, arrived(s))
		case <-paused: // the other gateway has built the next request when the first one goes on
			arrivals = append(arrivals, arrived(s))
			b.fail = func() bool {
				b.fail = nil
				close(goesOn)
				<-done
				return false
			}
			i++
			ask(other, steps[i])
			arrivals = append(arrivals, arrived(s))
		}
	}
	for i := range arrivals[:len(arrivals)-1] {
		was, now := arrivals[i], arrivals[i+1]
		for j := range min(len(was.chain), len(now.chain)) {
			if was.chain[j] != now.chain[j] && was.decided == now.decided {
				t.Fatalf("%s, step %d, the next one before use %d of the store: at request %d message %d is another one, "+
					"and nothing was decided since the request before it", p, step, k, i+1, j)
			}
		}
	}
	return uses, decides
}

// arrived is the newest request that reached the provider.
func arrived(s *stage) arrival {
	records := s.server.Records()
	return arrival{chained(records[len(records)-1].Messages), s.decided}
}

// Another gateway has begun conversations that leave the first one. A gateway that has seen a change
// of the first one since knows them when it is asked to go on with one: it begins no other one.
func TestTransport_knowsTheConversationsOfAnotherOne(t *testing.T) {
	sequential(t)
	s := play(t, llmtest.Anthropic, 20, Options{})
	one := s.transport
	s.restart()
	two := s.transport
	ask := func(gateway *Transport, messages []session.Message, at int) {
		s.transport = gateway
		if status, answer := s.send(s.ask(messages, at)); status != 200 {
			t.Fatalf("message %d: %d %s", at, status, answer)
		}
		s.now = s.now.Add(20 * time.Second)
	}
	steps := s.steps()
	for _, at := range steps[:8] {
		ask(one, s.log[:at], at)
	}
	for i, gateway := range []*Transport{two, one, two} {
		ask(gateway, s.log[:steps[8+i]], steps[8+i])
	}
	other := session.Message{Parts: []session.Part{{Type: session.TextPart, Text: "I meant something else."}}}
	other.ID, other.Role = "left", session.User
	left := append(slices.Clone(s.log[:steps[5]]), other)
	ask(one, append(slices.Clone(s.log[:steps[3]]), other), steps[3])
	ask(one, left, steps[5])
	ask(two, s.log[:steps[11]], steps[11])
	ask(two, append(left, s.log[steps[5]:steps[6]]...), steps[6])
	if n := len(must(s.store.List(t.Context()))); n != 3 {
		t.Errorf("%d conversations are in the store, not 3", n)
	}
}
