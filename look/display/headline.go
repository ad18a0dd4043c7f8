package display

import (
	"slices"

	"github.com/winnowhq/winnow/lab"
	"github.com/winnowhq/winnow/text/quantity"
)

// preferred is the policy that a headline tells of where none is recommended or was asked about.
const preferred = "balanced"

// Headline says in one sentence what a replay showed: "balanced would have cost $22.48 instead of
// $26.88 with nothing left out (−16%); in 0.8 of 100 steps the agent missed something". It tells of
// the policy that is recommended, else of the one that was asked about, else of balanced; "" if
// none of them was replayed, or it is the baseline. What is recommended was chosen on these very
// sessions: the figures are those of the same choice on sessions that were left out of it.
func Headline(r *lab.Report) string {
	name := Advised(r)
	if name == "" {
		name = preferred
	}
	at := slices.IndexFunc(r.Policies, func(s lab.Standing) bool { return s.Name == name })
	base := Baseline(r)
	if at < 0 || at == base {
		return ""
	}
	told := &r.Policies[at]
	if a := r.Advice; a != nil && a.HeldOut.Standing.Name != "" && a.HeldOut.Standing.Bill != told.Bill {
		told, name = &a.HeldOut.Standing, "what is chosen on the other "+over(r)+" (on all of them "+name+")"
	}
	after, before := told.Bill.Total(), r.Policies[base].Bill.Total()
	if !Drawable(after) || !Drawable(before) || before == 0 {
		return ""
	}
	unit := ""
	if r.Relative {
		unit = " input tokens"
	}
	how := " under " + r.Baseline
	if r.Baseline == "nothing" {
		how = " with nothing left out"
	}
	return name + " would have cost " + quantity.Bill(after, r.Relative) + unit + " instead of " +
		quantity.Bill(before, r.Relative) + how + " (" + quantity.Change(int(1e6*before), int(1e6*after)) + "); in " +
		Rate(told.MissedStepsPer100) + " of 100 steps the agent missed something"
}
