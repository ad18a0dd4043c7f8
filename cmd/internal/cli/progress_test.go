package cli

import (
	"testing"
	"time"
)

func TestPace_isTheRateAndTheTimeLeft(t *testing.T) {
	for _, c := range []struct {
		done, all int
		passed    time.Duration
		want      string
	}{
		{0, 100, time.Second, "…"},
		{50, 100, 2 * time.Second, ", 25/s, 2 s left"},
		{1, 4, 2 * time.Second, ", 0.5/s, 6 s left"},
		{3000, 0, 2 * time.Second, ", 1,500/s"},
		{100, 100, 4 * time.Second, ", 25/s, 0 s left"},
		{10, 10000, 10 * time.Second, ", 1.0/s, 2 h 47 min left"},
	} {
		if got := pace(c.done, c.all, c.passed); got != c.want {
			t.Errorf("%d of %d in %s: got %q, want %q", c.done, c.all, c.passed, got, c.want)
		}
	}
}
