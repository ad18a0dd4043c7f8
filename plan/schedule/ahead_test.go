package schedule_test

import (
	"testing"

	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/plan/schedule"
)

// Where the cache was cold often it will be soon, and the same goes for nothing then: a batch that
// pays by the session's end does not pay until there.
func TestEconomic_waitsForTheNextColdMoment(t *testing.T) {
	for _, test := range []struct {
		name  string
		colds int
		gap   float64
		want  int
	}{
		{"never cold", 0, schedule.DefaultGap, 2},
		{"cold once", 1, schedule.DefaultGap, 2},
		{"cold every ten steps", 10, schedule.DefaultGap, 0},
		{"where nothing is known of that", 10, 0, 2},
	} {
		found, before := candidates([]int{60_000, 80_000}, []int{6_000, 6_000})
		s := schedule.NewEconomic()
		s.Gap, s.Gain = test.gap, 0
		now := schedule.Moment{Paying: true, Read: 0.1, Write: 1.25, Age: func(rule.Elision) int { return 60 },
			Account: schedule.Account{Steps: 100, SinceCommit: 60, Sent: 100_000, Size: 100_000, Before: before, Colds: test.colds}}
		if got := s.Choose(found, now); len(got) != test.want {
			t.Errorf("%s: %d go, want %d", test.name, len(got), test.want)
		}
		now.Cold = true
		if got := s.Choose(found, now); len(got) != 2 {
			t.Errorf("%s: when it is cold %d go, want both", test.name, len(got))
		}
	}
}
