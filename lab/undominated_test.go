package lab

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestUndominated_areThoseThatNoOtherBeats(t *testing.T) {
	at := func(ratio, rate float64) Standing {
		return Standing{Ratios: Ratios{Ratio: ratio}, MissRates: MissRates{MissedStepsPer100: rate}}
	}
	for name, c := range map[string]struct {
		policies []Standing
		want     []bool
	}{
		"one alone":               {[]Standing{at(1, 0)}, []bool{true}},
		"cheaper or fewer":        {[]Standing{at(1, 0), at(0.5, 4), at(0.6, 4), at(0.5, 5), at(0.8, 1)}, []bool{true, true, false, false, true}},
		"equal ones stand beside": {[]Standing{at(0.5, 1), at(0.5, 1)}, []bool{true, true}},
		"no bill is no bargain":   {[]Standing{at(0, 0), at(math.NaN(), 0), at(1, math.Inf(1)), at(1, 3)}, []bool{false, false, false, true}},
	} {
		if diff := cmp.Diff(c.want, Undominated(c.policies)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestLeast_isTheBoundRelativeToTheBaseline(t *testing.T) {
	for name, c := range map[string]struct {
		report Report
		want   float64
	}{
		"by the baseline":    {Report{Baseline: "b", Policies: []Standing{{Name: "a", Ratios: Ratios{Ratio: 0.75, Bound: 1.4}}, {Name: "b", Ratios: Ratios{Ratio: 1, Bound: 2}}}}, 0.5},
		"by another":         {Report{Baseline: "b", Policies: []Standing{{Name: "a", Ratios: Ratios{Ratio: 0.75, Bound: 1.5}}}}, 0.5},
		"it was not reached": {Report{Policies: []Standing{{Name: "a", Ratios: Ratios{Ratio: 0.75}}}}, 0},
	} {
		if got := c.report.Least(); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}
