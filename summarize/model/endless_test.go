package model

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/winnowhq/winnow/llm"
	"github.com/winnowhq/winnow/plan/pivot"
)

// slow is a client that is never done: it says a word now and then until its context ends.
type slow struct {
	word  string
	every time.Duration
}

func (c slow) Ask(ctx context.Context, r llm.Request) (llm.Answer, error) {
	for {
		select {
		case <-ctx.Done():
			return llm.Answer{}, &llm.Error{Kind: llm.Cancelled, Err: context.Cause(ctx)}
		case <-time.After(c.every):
			r.Delta(c.word)
		}
	}
}

func TestSummarize_endsWhenTheModelDoesNot(t *testing.T) {
	for name, c := range map[string]struct {
		client  slow
		options Options
		words   string
		after   time.Duration
	}{
		"a drip": {slow{"a", 30 * time.Second}, Options{}, "not complete after 10m0s", DefaultLongest},
		"a drip, set": {slow{"a", 30 * time.Second}, Options{Longest: time.Hour}, "not complete after 1h0m0s",
			time.Hour},
		"a flood": {slow{strings.Repeat("word ", 1000), time.Second}, Options{Reserve: 1000},
			"more than 1048576 bytes", 210 * time.Second},
		"attempts that go on": {slow{"", 30 * time.Second}, Options{}, "not complete after 10m0s", DefaultLongest},
		"what would be enough": {slow{"a", 30 * time.Second}, Options{Longest: 30 * time.Minute, Reserve: 16},
			"not complete after 30m0s", 30 * time.Minute},
	} {
		synctest.Test(t, func(t *testing.T) {
			begun := time.Now()
			answer, err := New(llm.Retry(c.client, llm.RetryOptions{}), large, c.options).Summarize(t.Context(),
				pivot.Request{Instruction: "WRITE"})
			var e *llm.Error
			if !errors.As(err, &e) || e.Kind != llm.Endless || !strings.Contains(err.Error(), c.words) ||
				time.Since(begun) != c.after || len(answer.Calls) != 1 {
				t.Errorf("%s: after %s: %v, %d calls", name, time.Since(begun), err, len(answer.Calls))
			}
		})
	}
	// A user who interrupts it is told that, and nothing else.
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if _, err := New(slow{"a", time.Second}, large, Options{}).Summarize(ctx,
			pivot.Request{}); llm.KindOf(err) != llm.Cancelled {
			t.Errorf("interrupted: %v", err)
		}
	})
}
