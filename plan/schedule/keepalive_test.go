package schedule_test

import (
	"testing"
	"time"

	"github.com/winnowhq/winnow/plan/schedule"
)

// How many requests in a row pay, by the cache's lifetime and its prices.
func TestCacheKeepAlive_paysUntilNobodyIsExpected(t *testing.T) {
	for _, c := range []struct {
		name string
		lull schedule.CacheKeepAlive
		want int
	}{
		{"five minutes", schedule.CacheKeepAlive{Lifetime: 5 * time.Minute, Read: 0.1, Write: 1.25}, 8},
		{"where reading is hardly cheaper", schedule.CacheKeepAlive{Lifetime: 5 * time.Minute, Read: 0.35, Write: 1.25}, 2},
		{"an hour", schedule.CacheKeepAlive{Lifetime: time.Hour, Read: 0.1, Write: 2}, 1},
		{"where writing costs no more", schedule.CacheKeepAlive{Lifetime: 5 * time.Minute, Read: 0.5, Write: 0.5}, 0},
		{"without a cache", schedule.CacheKeepAlive{Read: 0.1, Write: 1.25}, 0},
		{"without a price", schedule.CacheKeepAlive{Lifetime: time.Hour}, 0},
	} {
		got := 0
		for ; got < 100 && c.lull.Pays(); got++ {
			c.lull.Repeats++
		}
		if got != c.want {
			t.Errorf("%s: %d requests pay, want %d", c.name, got, c.want)
		}
	}
}
