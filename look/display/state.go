package display

import (
	"github.com/winnowhq/winnow/plan/pivot"
	"github.com/winnowhq/winnow/store/report"
	"github.com/winnowhq/winnow/text/quantity"
)

// State are the figures of a session as it is now. Every screen takes them from here, so that the
// same state has the same figures everywhere. The one denominator of tokens is the window.
type State struct {
	// Used is how many tokens the next request takes: messages, system prompt and tools. Usable is
	// how many it may take, 0 where no limit is known.
	Used, Usable int
	// Elided parts are left out of the window, which saves LeftOut tokens.
	Elided, LeftOut int
	// Cost of all requests: "$2.41", "at least $2.41"; "" where it is unknown. Dearest is what of
	// the session cost most, with its share of it: "65% of it tool output".
	Cost, Dearest string
	// Verdict says whether it fits, and Fit the same.
	Verdict string
	Fit     Fit
}

// StateOf are the figures of a session.
func StateOf(r *report.Report) State {
	w := &r.Window
	s := State{Used: max(0, w.Tokens) + max(0, w.Overhead), Usable: max(0, w.Usable), Elided: w.Elided,
		LeftOut: max(0, w.ElidedTokens)}
	s.Verdict, s.Fit = Verdict(*w, r.Model)
	all := r.Bill.Total()
	if all.Cost <= 0 {
		return s
	}
	if s.Cost = quantity.Dollars(all.Cost); all.Unknown() > 0 {
		s.Cost = "at least " + s.Cost
	}
	if c := r.Costs; c != nil && c.Total > 0 {
		if first := CostRanking("", nil, 0, c.ByKind, c.Total, 1).Rows; len(first) > 0 {
			s.Dearest = first[0].Share + " of it " + first[0].Name
		}
	}
	return s
}

// Part is how much of the used window some tokens are: "59% of the window".
func (s State) Part(tokens int) string { return quantity.Percent(tokens, s.Used) + " of the window" }

// Full says how full the window is: "118% full", and without a limit "175,323 tokens".
func (s State) Full() string {
	if s.Usable == 0 {
		return quantity.Count(s.Used, "token")
	}
	return quantity.Percent(s.Used, s.Usable) + " full"
}

// Size says it with the tokens: "175,323 of 148,000, 118% full".
func (s State) Size() string {
	if s.Usable == 0 {
		return s.Full()
	}
	return quantity.Number(s.Used) + " of " + quantity.Number(s.Usable) + ", " + s.Full()
}

// First is what is said of a session first, beside [State.Full]: whether the window fits where its
// share does not say it, what the session cost, and when compacting it pays back. compact is what a
// compaction would bring, nil for none.
func (s State) First(compact *pivot.Money) (facts []string) {
	if s.Usable == 0 || s.Fit == Over && s.Used < s.Usable {
		facts = append(facts, s.Verdict)
	}
	if s.Cost != "" {
		cost := s.Cost
		if s.Dearest != "" {
			cost += ", " + s.Dearest
		}
		facts = append(facts, cost)
	}
	if text := PaysBack(compact); text != "" {
		facts = append(facts, "compacting "+text)
	}
	return facts
}

// Small reports whether a part of a whole is small change: below 1 %. Lists show such parts
// together.
func Small(part, whole float64) bool { return part < whole/100 }

// PaysBack says when a change has paid for itself: "pays back after 2 steps"; "" where that is
// unknown.
func PaysBack(m *pivot.Money) string {
	switch {
	case m == nil || m.Step == nil:
		return ""
	case *m.Step <= 0:
		return "saves no money"
	case m.Steps == nil:
		return ""
	case *m.Steps == 0:
		return "pays back at once"
	}
	return "pays back after " + quantity.Count(*m.Steps, "step")
}

// Shrunk writes how the window changed: "175,323 → 21,346 tokens (−88%)". A receipt counts messages
// alone; overhead is what system prompt and tools take beside them.
func Shrunk(before, after, overhead int) string {
	before, after = before+max(0, overhead), after+max(0, overhead)
	return quantity.Number(before) + " → " + quantity.Number(after) +
		" tokens (" + quantity.Change(before, after) + ")"
}
