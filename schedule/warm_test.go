package schedule_test

import (
	"testing"
	"time"

	"github.com/winnowhq/winnow/schedule"
)

// How many requests in a row pay, by the cache's lifetime, its prices and who is waited for.
func TestLull_paysUntilNobodyIsExpected(t *testing.T) {
	for _, c := range []struct {
		name string
		lull schedule.Lull
		want int
	}{
		{"an agent, five minutes", schedule.Lull{Round: true, Lifetime: 5 * time.Minute, Read: 0.1, Write: 1.25}, 8},
		{"a user, five minutes", schedule.Lull{Lifetime: 5 * time.Minute, Read: 0.1, Write: 1.25}, 3},
		{"a user, where reading is cheaper", schedule.Lull{Lifetime: 5 * time.Minute, Read: 0.05, Write: 1.25}, 9},
		{"an agent, an hour", schedule.Lull{Round: true, Lifetime: time.Hour, Read: 0.1, Write: 2}, 1},
		{"a user, an hour", schedule.Lull{Lifetime: time.Hour, Read: 0.1, Write: 2}, 2},
		{"where writing costs no more", schedule.Lull{Lifetime: 5 * time.Minute, Read: 0.5, Write: 0.5}, 0},
		{"without a cache", schedule.Lull{Read: 0.1, Write: 1.25}, 0},
		{"without a price", schedule.Lull{Lifetime: time.Hour}, 0},
	} {
		got := 0
		for ; got < 100 && c.lull.Pays(); got++ {
			c.lull.Kept++
		}
		if got != c.want {
			t.Errorf("%s: %d requests pay, want %d", c.name, got, c.want)
		}
	}
}
