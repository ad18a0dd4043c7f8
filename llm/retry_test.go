package llm

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/winnowhq/winnow/session"
)

// scripted answers with one outcome after the other; the last one stays.
type scripted struct {
	outcomes []outcome
	asked    int
}

type outcome struct {
	text  string // heard, whether it fails or not
	err   error
	takes time.Duration
}

func (s *scripted) Ask(ctx context.Context, r Request) (Answer, error) {
	o := s.outcomes[min(s.asked, len(s.outcomes)-1)]
	s.asked++
	time.Sleep(o.takes)
	if r.Delta != nil && o.text != "" {
		r.Delta(o.text)
	}
	return Answer{Parts: []session.Part{{Type: session.TextPart, Text: o.text}},
		Usage: session.Usage{Input: 10, Output: 1}, Cost: 0.5}, o.err
}

func fails(kind Kind) error { return &Error{Kind: kind, Provider: "p", Model: "m", Message: "no"} }

func always(number float64) func() float64 { return func() float64 { return number } }

func TestRetry_triesAgainWhatMayPass(t *testing.T) {
	for kind, asked := range map[Kind]int{
		RateLimited: 4, Overloaded: 4, Server: 4, Network: 4, Cut: 4, Stalled: 4, Garbage: 4,
		Overflow: 1, Auth: 1, Rejected: 1, Cancelled: 1,
	} {
		t.Run(string(kind), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &scripted{outcomes: []outcome{{err: fails(kind)}}}
				a, err := Retry(s, RetryOptions{}).Ask(t.Context(), Request{})
				if s.asked != asked || KindOf(err) != kind {
					t.Errorf("asked %d times, want %d: %v", s.asked, asked, err)
				}
				if len(a.Attempts) != asked {
					t.Errorf("%d attempts are told, want %d", len(a.Attempts), asked)
				}
			})
		})
	}
	s := &scripted{outcomes: []outcome{{err: errors.New("not one of ours")}}}
	if _, err := Retry(s, RetryOptions{}).Ask(t.Context(), Request{}); s.asked != 1 || err == nil {
		t.Errorf("asked %d times: %v", s.asked, err)
	}
}

func TestRetry_waitsLongerEachTimeAndCountsEveryAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &scripted{outcomes: []outcome{
			{err: fails(Server), takes: time.Second}, {err: fails(Cut)}, {err: fails(Overloaded)},
			{err: fails(Stalled)}, {text: "done", takes: 2 * time.Second},
		}}
		var waits []time.Duration
		o := RetryOptions{Attempts: 5, First: 4 * time.Second, Most: 10 * time.Second, Random: always(0.5),
			Sleep: func(_ context.Context, d time.Duration) error {
				waits = append(waits, d)
				return nil
			}}
		a, err := Retry(s, o).Ask(t.Context(), Request{})
		if err != nil || a.Text() != "done" {
			t.Fatalf("%q, %v", a.Text(), err)
		}
		if want := []time.Duration{2 * time.Second, 4 * time.Second, 5 * time.Second,
			5 * time.Second}; !slices.Equal(waits, want) {
			t.Errorf("waited %s, want %s", waits, want)
		}
		usage, cost := a.Spent()
		if len(a.Attempts) != 5 || usage.Input != 50 || cost != 2.5 || a.Usage.Input != 10 {
			t.Errorf("%d attempts, spent %+v and $%v, the answer itself %+v", len(a.Attempts), usage, cost, a.Usage)
		}
		if a.Attempts[0].Duration != time.Second || KindOf(a.Attempts[2].Err) != Overloaded ||
			a.Attempts[4].Err != nil || a.Attempts[4].Duration != 2*time.Second {
			t.Errorf("attempts %+v", a.Attempts)
		}
	})
}

func TestRetry_jitterIsFull(t *testing.T) {
	for number, want := range map[float64]time.Duration{0: 0, 0.25: time.Second / 4, 0.999: 999 * time.Millisecond} {
		c := retrying{nil, RetryOptions{Random: always(number)}.withDefaults()}
		if got, err := c.wait(fails(Server), 1, 0); err != nil || got.Round(time.Millisecond) != want {
			t.Errorf("with %v: %s, want %s (%v)", number, got, want, err)
		}
	}
}

func TestRetry_waitsAsLongAsTheProviderAsks(t *testing.T) {
	for name, c := range map[string]struct {
		after time.Duration
		want  time.Duration // with the largest random number
		gives string        // gives up with these words
	}{
		"a little":       {200 * time.Millisecond, 220 * time.Millisecond, ""},
		"some seconds":   {7 * time.Second, 7700 * time.Millisecond, ""},
		"just the bound": {30 * time.Second, 31 * time.Second, ""},
		"over the bound": {31 * time.Second, 0,
			"p/m: rate-limited: no (the provider asks to wait 31s, longer than the 30s that are waited for)"},
		"for a long time": {24 * time.Hour, 0, "24h0m0s"},
	} {
		o := RetryOptions{Random: always(1)}.withDefaults()
		got, err := retrying{nil, o}.wait(&Error{Kind: RateLimited, Provider: "p", Model: "m", Message: "no",
			RetryAfter: c.after}, 1, 0)
		if got != c.want || (err != nil) != (c.gives != "") || err != nil && !strings.Contains(err.Error(), c.gives) {
			t.Errorf("%s: %s, %v; want %s", name, got, err, c.want)
		}
		if err != nil && KindOf(err) != RateLimited {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestRetry_beginsNoAttemptAfterTheLongestTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &scripted{outcomes: []outcome{{err: fails(Stalled), takes: 2 * time.Minute}}}
		_, err := Retry(s, RetryOptions{Attempts: 100, Longest: 5 * time.Minute, Random: always(0.5)}).Ask(t.Context(),
			Request{})
		if s.asked != 3 || KindOf(err) != Stalled || !strings.Contains(err.Error(), "no time is left") {
			t.Errorf("asked %d times: %v", s.asked, err)
		}
	})
}

func TestRetry_aWaitEndsWithTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &scripted{outcomes: []outcome{{err: &Error{Kind: RateLimited, Provider: "p", Model: "m",
			RetryAfter: 20 * time.Second}}}}
		ctx, cancel := context.WithCancelCause(t.Context())
		mine := errors.New("the user pressed a key")
		time.AfterFunc(3*time.Second, func() { cancel(mine) })
		began := time.Now()
		a, err := Retry(s, RetryOptions{}).Ask(ctx, Request{})
		if time.Since(began) != 3*time.Second || KindOf(err) != Cancelled || !errors.Is(err, mine) ||
			len(a.Attempts) != 1 {
			t.Errorf("after %s: %v, %d attempts", time.Since(began), err, len(a.Attempts))
		}
		if !strings.Contains(err.Error(), "p/m: cancelled: while waiting after: p/m: rate-limited") {
			t.Errorf("got %v", err)
		}
	})
}

func TestRetry_saysThatTheAnswerBeginsAnew(t *testing.T) {
	s := &scripted{outcomes: []outcome{{text: "Hel", err: fails(Cut)}, {err: fails(Server)}, {text: "Hello"}}}
	var heard []string
	r := Request{Delta: func(text string) { heard = append(heard, text) },
		Restart: func() { heard = append(heard, "|") }}
	if _, err := Retry(s, RetryOptions{First: 1}).Ask(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	if want := []string{"Hel", "|", "Hello"}; !slices.Equal(heard, want) {
		t.Errorf("heard %q, want %q", heard, want)
	}
	r.Restart = nil
	s.asked = 0
	if _, err := Retry(s, RetryOptions{First: 1}).Ask(t.Context(), r); err != nil {
		t.Fatal(err)
	}
}

// A client that asks again by itself is asked again as any other, and what it made of each asking
// is counted.
func TestRetry_ofAClientThatRetries(t *testing.T) {
	asked := 0
	fails := clientFunc(func(context.Context, Request) (Answer, error) {
		if asked++; asked < 4 {
			return Answer{Cost: float64(asked)}, &Error{Kind: Overloaded, Status: 529}
		}
		return Answer{Cost: 4}, nil
	})
	o := RetryOptions{Attempts: 2, Sleep: func(context.Context, time.Duration) error { return nil }}
	answer, err := Retry(Retry(fails, o), o).Ask(t.Context(), Request{})
	var costs []float64
	for _, a := range answer.Attempts {
		costs = append(costs, a.Cost)
	}
	if err != nil || !slices.Equal(costs, []float64{1, 2, 3, 4}) {
		t.Errorf("the attempts cost %v, %v", costs, err)
	}
}

type clientFunc func(context.Context, Request) (Answer, error)

func (f clientFunc) Ask(ctx context.Context, r Request) (Answer, error) { return f(ctx, r) }
