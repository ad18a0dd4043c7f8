package transport

import (
	"context"
	"errors"
	"runtime"
	"testing"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/internal/llmtest"
	"github.com/winnowhq/winnow/session"
)

// The store has two lines of one conversation, one with a decision and one without, as two processes
// leave them that could not read each other's messages. A request that leaves through one of them
// while the store takes nothing is followed by one that goes on with the same, although another
// process has gone on with the other one meanwhile.
func TestTransport_goesOnWithWhatItSentWhileTheStoreWasAway(t *testing.T) {
	sequential(t)
	for _, p := range llmtest.Protocols() {
		t.Run(string(p), func(t *testing.T) { otherLines(t, p) })
	}
}

func otherLines(t *testing.T, p llmtest.Protocol) {
	ctx := t.Context()
	whole := play(t, p, 80, Options{}) // the same conversation, sent whole
	whole.idle = 1000
	whole.restart()
	s := play(t, p, 80, Options{})
	s.restart()
	s.quiet = true
	steps := s.steps()
	send := func(on *stage, step int) llmtest.Record {
		t.Helper()
		if status, answer := on.send(on.request(steps[step])); status != 200 {
			t.Fatalf("step %d: %d %s", step, status, answer)
		}
		records := on.server.Records()
		return records[len(records)-1]
	}
	at := 0
	for s.decided == 0 {
		send(s, at)
		send(whole, at)
		at++
	}
	send(s, at)
	send(whole, at)
	send(whole, at+1)
	other := s.transport

	line := must(s.store.List(ctx))[0].Info.ID
	logOf := func(on *stage) (log []session.Message) {
		for m, err := range on.store.Messages(ctx, must(on.store.List(ctx))[0].Info.ID) {
			if err != nil {
				t.Fatal(err)
			}
			log = append([]session.Message{m}, log...)
		}
		return log
	}
	first := logOf(s)[1].ID
	if err := winnow.ForkAs(ctx, s.engine, line, first, "live_other", ""); err != nil {
		t.Fatal(err)
	}
	if err := winnow.Extend(ctx, s.engine, "live_other", nil, nil, logOf(whole)[1:]...); err != nil {
		t.Fatal(err)
	}

	kept := &ailing{Store: s.store}
	s.store = kept
	s.restart()
	full := func(context.Context) error { return errors.New("the disk is full") }
	kept.writes.Store(&full)
	before := send(s, at+2)
	sick := s.transport
	s.transport = other
	beside := send(s, at+2)
	if differs(before, beside) < 0 {
		t.Fatal("both lines are the same: the test does not show what it is to show")
	}
	s.transport = sick
	kept.writes.Store(nil)
	for s.transport.Lost() {
		if ctx.Err() != nil {
			t.Fatal("it is not noticed that the store is back")
		}
		runtime.Gosched()
	}
	for step := at + 3; step < at+6; step++ {
		now := send(s, step)
		if s.decided == 1 && differs(before, now) >= 0 {
			t.Errorf("step %d: message %d is another one than this process sent before", step, differs(before, now))
		}
		before = now
	}
}

// differs is the first message that is another one in a request that goes on with another, -1
// without any.
func differs(before, now llmtest.Record) int {
	a, b := chained(before.Messages), chained(now.Messages)
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return i
		}
	}
	return -1
}
