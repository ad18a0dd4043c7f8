package schedule_test

import (
	"testing"

	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/plan/schedule"
)

// What was missed before makes the next batch dearer: the same one goes, or waits, by how often.
func TestEconomic_learnsFromWhatWasMissed(t *testing.T) {
	for _, test := range []struct {
		name               string
		left, missed, back int
		want               int
	}{
		{"nothing was missed", 40, 0, 0, 2},
		{"one of forty", 40, 1, 2_000, 2},
		{"most of them", 40, 30, 60_000, 0},
		{"more often than parts were left out", 1, 5, 10_000, 0},
	} {
		found, before := candidates([]int{80_000, 90_000}, []int{3_000, 3_000})
		now := schedule.Moment{Paying: true, Read: 0.1, Write: 1.25, Age: func(e rule.Elision) int { return 60 },
			Account: schedule.Account{Steps: 100, SinceCommit: 60, Sent: 100_000, Size: 100_000, Before: before,
				Left: test.left, Missed: test.missed, Back: test.back}}
		if got := schedule.NewEconomic().Choose(found, now); len(got) != test.want {
			t.Errorf("%s: %d go, want %d", test.name, len(got), test.want)
		}
	}
}
