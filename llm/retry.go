package llm

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"
)

// RetryOptions say how often and how patiently a request is tried again. The zero value has the
// defaults.
type RetryOptions struct {
	// Attempts is how many requests are made at most, the first one included. Default 4.
	Attempts int
	// First is the longest wait before the second attempt; it doubles with each further one.
	// Default 1 s.
	First time.Duration
	// Most is the longest wait between two attempts. A provider that asks for a longer one is not
	// waited for. Default 30 s.
	Most time.Duration
	// Longest bounds all of it, requests and waits: no attempt begins later. Default 10 minutes.
	Longest time.Duration

	// Sleep waits, and returns early with the context's error when it ends. Default: by the clock.
	Sleep func(ctx context.Context, d time.Duration) error
	// Now is the time. Default time.Now.
	Now func() time.Time
	// Random is a number from 0 to below 1. Default: a random one.
	Random func() float64
}

func (o RetryOptions) withDefaults() RetryOptions {
	positive := func(d *time.Duration, standard time.Duration) {
		if *d <= 0 {
			*d = standard
		}
	}
	positive(&o.First, time.Second)
	positive(&o.Most, 30*time.Second)
	positive(&o.Longest, 10*time.Minute)
	if o.Attempts <= 0 {
		o.Attempts = 4
	}
	if o.Sleep == nil {
		o.Sleep = sleep
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Random == nil {
		o.Random = rand.Float64
	}
	return o
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// Retry returns a client that asks again when a failure may pass: see Error.Temporary. A request
// that is too long, refused, not permitted, or cancelled is never made again.
//
// Waits grow exponentially, each of them random from nothing to its bound, so that many clients
// that failed together do not come back together. A provider that says how long to wait is waited
// for that long, and a little longer.
//
// The answer's Attempts has every request that was made, also if the last one failed. Its Usage and
// Cost are those of the last request; Spent sums up all of them. Before an attempt that follows one
// whose text was heard, Request.Restart is called, and before each wait Request.Waiting.
func Retry(client Client, o RetryOptions) Client { return retrying{client, o.withDefaults()} }

type retrying struct {
	client Client
	RetryOptions
}

func (c retrying) Ask(ctx context.Context, r Request) (Answer, error) {
	begun := c.Now()
	heard := false
	asked := r
	if r.Delta != nil {
		asked.Delta = func(text string) {
			heard = heard || text != ""
			r.Delta(text)
		}
	}
	var attempts []Attempt
	for made := 1; ; made++ {
		if heard && r.Restart != nil {
			r.Restart()
		}
		heard = false
		at := c.Now()
		answer, err := c.client.Ask(ctx, asked)
		if len(answer.Attempts) > 0 { // of a client that asks again by itself
			attempts = append(attempts, answer.Attempts...)
		} else {
			attempts = append(attempts, Attempt{Usage: answer.Usage, Cost: answer.Cost, Duration: c.Now().Sub(at),
				Err: err})
		}
		answer.Attempts = attempts
		if err == nil {
			return answer, nil
		}
		wait, final := c.wait(err, made, c.Now().Sub(begun))
		if final != nil {
			return answer, final
		}
		if r.Waiting != nil {
			r.Waiting(wait, err)
		}
		if ended := c.Sleep(ctx, wait); ended != nil {
			return answer, cancelled(ctx, ended, err)
		}
	}
}

// wait is how long to wait before the next attempt; otherwise it returns the error with which to
// give up.
func (c retrying) wait(err error, made int, passed time.Duration) (time.Duration, error) {
	var e *Error
	if !errors.As(err, &e) || !e.Temporary() || made >= c.Attempts {
		return 0, err
	}
	if e.RetryAfter > c.Most {
		return 0, e.because(fmt.Sprintf("the provider asks to wait %s, longer than the %s that are waited for",
			e.RetryAfter.Round(time.Second), c.Most))
	}
	bound := c.Most
	if doubled := c.First << min(made-1, 30); doubled > 0 {
		bound = min(doubled, c.Most)
	}
	wait := time.Duration(c.Random() * float64(bound))
	if e.RetryAfter > 0 {
		wait = e.RetryAfter + time.Duration(c.Random()*float64(min(c.First, e.RetryAfter/10)))
	}
	if passed+wait > c.Longest {
		return 0, e.because(fmt.Sprintf("no time is left for another attempt in %s", c.Longest))
	}
	return wait, nil
}

// because returns the error with the reason for which it is final in its words.
func (e *Error) because(reason string) *Error {
	final := *e
	if final.Message == "" && final.Err != nil {
		final.Message = final.Err.Error()
	}
	if final.Message != "" {
		reason = final.Message + " (" + reason + ")"
	}
	final.Message = reason
	return &final
}

// cancelled is the error of a wait that the caller's context ended. Its message names the failure
// after which it waited.
func cancelled(ctx context.Context, ended, waited error) *Error {
	e := &Error{Kind: Cancelled, Message: "while waiting after: " + waited.Error(), Err: ended}
	if cause := context.Cause(ctx); cause != nil {
		e.Err = cause
	}
	var failed *Error
	if errors.As(waited, &failed) {
		e.Provider, e.Model = failed.Provider, failed.Model
	}
	return e
}
