package policy

import (
	"github.com/winnowhq/winnow/plan/budget"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/plan/view"
	"github.com/winnowhq/winnow/session"
)

// A summary is prepared while a share of the usable window is still free, in which the work goes on
// while it is written: a summary takes a model some ten to sixty seconds, and that is a few steps.
// Where two steps like the largest of the newest ones take more than that share, as they do in
// small windows, it is prepared as much earlier: one may have gone beyond the mark already, and one
// more must not overflow first. Never before half of the window is in use: such a fold would gain
// little.
const (
	aheadShare = 0.15 // of the usable window; the rest is where a warning is published, too
	aheadSteps = 8    // newest steps that are looked at
	aheadLeast = 0.5  // of the usable window that must be in use
)

// ahead is the number of tokens from which on a summary is prepared, in a window of usable tokens.
func (s State) ahead(usable int) int {
	free := int(aheadShare * float64(usable))
	steps := 0
	for i := len(s.Window) - 1; i >= 0 && steps < aheadSteps; i-- {
		if m := &s.Window[i]; m.Role == session.Assistant && !m.IsSummary() {
			free = max(free, 2*view.Message(m, s.Ledger, s.Facts))
			steps++
		}
	}
	return max(usable-free, int(aheadLeast*float64(usable)))
}

// prepares reports whether the window is so full that a fold is near, and what pruning can do about
// it would not keep it off.
func (p Policy) prepares(s State, o Occasion, v budget.Verdict) bool {
	if !p.Auto || !p.Background || v.Code != budget.CodeFits || v.Usable <= 0 {
		return false
	}
	limit := s.ahead(v.Usable)
	if v.Total < limit {
		return false
	}
	if !p.Prune || p.Pivot.SummaryAlone { // the letter folds first
		return true
	}
	pressed := p.moment(s, o, true)
	return v.Total-rule.Saves(p.Schedule.Choose(s.leave(p.Find(s)).Elisions, pressed)) >= limit
}
