package transport

import (
	"net/http"
	"time"
)

// DefaultPatience is the default of Options.Patience: longer than a store waits for one that has
// locked it, and shorter than any client waits for an answer to begin.
const DefaultPatience = 30 * time.Second

// ending is how long the end of an answer waits until the answer is recorded. The client's next
// request finds it in the log then.
const ending = time.Second

// mostOverdue is how many steps may be overdue at a time. Beyond that requests pass as they came at
// once: each that is overdue holds a request in memory.
const mostOverdue = 64

// within waits for the result of a step, but not for longer than the client has patience for. A
// step that takes longer goes on by itself; late is given its result.
func within[T any](patience time.Duration, step func() T, late func(T)) (result T, inTime bool) {
	done, left := make(chan T), make(chan struct{})
	go func() {
		result := step()
		select {
		case done <- result:
		case <-left:
			if late != nil {
				late(result)
			}
		}
	}()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case result = <-done:
		return result, true
	case <-timer.C:
		close(left)
		return result, false
	}
}

// patiently is within for a step that is about a request. The zero value of a step that is overdue
// lets the request pass as it came.
func patiently[T any](t *Transport, what string, step func() T, late func(T)) (result T) {
	if t.overdue.Load() >= mostOverdue {
		t.log.Error("could not "+what, "why", "too much before it is not done yet")
		return result
	}
	result, inTime := within(t.patience, step, func(result T) {
		t.overdue.Add(-1)
		late(result)
	})
	if !inTime {
		t.overdue.Add(1)
		t.log.Error("could not "+what, "why", "it took too long", "patience", t.patience)
	}
	return result
}

// begin is join, as long as there is patience for it.
func (t *Transport) begin(r *http.Request, p protocol, original []byte) *exchange {
	if t.passes() {
		return nil
	}
	return patiently(t, "decide about a request", func() *exchange { return t.join(r, p, original) },
		func(x *exchange) {
			if x != nil {
				t.withdraw(x)
				t.release(x.family)
			}
		})
}

// counting is reduced, as long as there is patience for it; then it is what the client sent.
func (t *Transport) counting(r *http.Request, p protocol, original []byte) *http.Request {
	if t.passes() {
		return with(r, nil, false)
	}
	counted := patiently(t, "understand a request for a size",
		func() *http.Request { return t.reduced(r, p, original) }, func(*http.Request) {})
	if counted == nil {
		return with(r, nil, false)
	}
	return counted
}
