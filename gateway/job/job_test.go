package job

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestBackoff(t *testing.T) {
	for number, want := range map[int]time.Duration{-1: time.Second, 0: time.Second, 1: time.Second, 2: 16 * time.Second,
		3: 81 * time.Second, 7: 2401 * time.Second, 8: time.Hour, 1 << 40: time.Hour} {
		if got := Backoff(number); got != want {
			t.Errorf("after attempt %d it waits %s, want %s", number, got, want)
		}
	}
}

// An attempt ends at its limit, and a panic is an error that says where.
func TestTry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		err := Try(t.Context(), func(ctx context.Context, _ Attempt) error { <-ctx.Done(); return ctx.Err() },
			Attempt{Job: Job{Limit: time.Minute}})
		if took := time.Since(began); !errors.Is(err, context.DeadlineExceeded) || took != time.Minute {
			t.Errorf("it ended with %v after %s", err, took)
		}
		err = Try(t.Context(), func(context.Context, Attempt) error { panic("why") }, Attempt{Job: Job{Kind: "a", Limit: time.Minute}})
		if err == nil || !strings.Contains(err.Error(), "a panicked: why") || !strings.Contains(err.Error(), "job_test.go") {
			t.Errorf("after a panic: %v", err)
		}
	})
}
