package transport

import (
	"context"
	"net/http"
	"time"

	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/wire"
)

// DefaultPatience is the default of Options.Patience.
const DefaultPatience = 2 * time.Second

// ending is how long the end of an answer waits until the answer is recorded. The client's next
// request finds it in the log then.
const ending = time.Second

// mostWork is how long a request waits for what is to be done about it while the store answers:
// shorter than any client waits for an answer to begin.
const mostWork = 30 * time.Second

// mostOverdue is how many steps may be overdue at a time. Beyond that requests leave with what was
// decided before at once: each that is overdue holds a request in memory.
const mostOverdue = 64

// within waits for the result of a step, but not for longer than most, nor beyond an end. A step
// that takes longer goes on by itself; late is given its result.
func within[T any](most time.Duration, end <-chan struct{}, step func() T, late func(T)) (result T, inTime bool) {
	done, left := make(chan T), make(chan struct{})
	go func() {
		deepen()
		result := step()
		select {
		case done <- result:
		case <-left:
			if late != nil {
				late(result)
			}
		}
	}()
	timer := time.NewTimer(most)
	defer timer.Stop()
	select {
	case result = <-done:
		return result, true
	case <-end:
	case <-timer.C:
	}
	close(left)
	return result, false
}

// deepen gives a goroutine that is new the stack that a request needs. Without it the stack grows to
// that in steps, and is copied at each.
//
//go:noinline
func deepen() {
	var stack [deep]byte
	touch(&stack)
}

const deep = 24 << 10 // bytes

//go:noinline
func touch(*[deep]byte) {}

// bounded is a context for a step that uses the store. It ends when the store does not answer any
// more, which closes away, too; a step that only has much to do is not disturbed. The step calls
// stop when it has ended.
func (t *Transport) bounded(of context.Context) (ctx context.Context, away <-chan struct{}, stop func()) {
	ctx, cancel := context.WithCancel(of)
	gone := make(chan struct{})
	timer := time.AfterFunc(t.options.Patience/4, func() {
		for t.answers() {
			select {
			case <-ctx.Done():
				return
			case <-time.After(t.options.Patience / 4):
			}
		}
		cancel()
		close(gone)
	})
	return ctx, gone, func() {
		timer.Stop()
		cancel()
	}
}

// patiently waits for a step about a request for as long as the store answers. It reports false if
// the step is overdue.
func patiently[T any](t *Transport, r *http.Request, what string, step func(context.Context) T, late func(T)) (
	result T, done bool,
) {
	if t.overdue.Load() >= mostOverdue {
		t.options.Log.Error("could not "+what, "why", "too much before it is not done yet")
		return result, false
	}
	ctx, away, stop := t.bounded(r.Context())
	result, done = within(mostWork, away, func() T {
		defer stop()
		return step(ctx)
	}, func(result T) {
		t.overdue.Add(-1)
		late(result)
	})
	if !done {
		t.overdue.Add(1)
		t.options.Log.Error("could not "+what, "why", "it took too long", "patience", t.options.Patience.String())
	}
	return result, done
}

// begin is join, for as long as the store answers, and replay where something of ours fails, and for
// what does not join. nil: the request passes as it came.
func (t *Transport) begin(in incoming) *exchange {
	if in.purpose != wire.Generate {
		return nil
	}
	until := time.Now().Add(t.options.Patience)
	if store.Unwritable(t.engine.Store()) == nil {
		t.outage.refused.Store(false)
	}
	if t.Lost() {
		t.count(func(all *Totals) { all.Passed++ })
		return t.replay(in, until)
	}
	j, done := patiently(t, in.Request, "decide about a request",
		func(ctx context.Context) joined { return t.join(ctx, in) },
		func(j joined) {
			if j.x == nil {
				return
			}
			defer t.release(j.x.lineage)
			if <-in.fared { // what is in the store goes on with it
				t.accepted(j.x)
			} else {
				t.withdraw(j.x)
			}
		})
	if !done || j.failed || j.replays {
		return t.replay(in, until)
	}
	return j.x
}

// counting is reduced, for as long as the store answers, and what replay would send otherwise.
func (t *Transport) counting(in incoming) *http.Request {
	until := time.Now().Add(t.options.Patience)
	if !t.Lost() {
		counted, done := patiently(t, in.Request, "understand a request for a size",
			func(ctx context.Context) *http.Request { return t.reduced(ctx, in) }, func(*http.Request) {})
		if done && counted != nil {
			return counted
		}
	}
	if x := t.replay(in, until); x != nil {
		defer t.release(x.lineage)
		return x.outgoing(in.Request)
	}
	return with(in.Request, nil, false)
}
