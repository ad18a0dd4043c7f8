package policy

import "github.com/winnowhq/winnow/plan/rule"

// firstSend is what is left out of a request that is about to be sent, of what no request has had
// yet: see rule.FirstSend. The policies by the letter know nothing of it, and compaction.prune
// switches it off with the rest. taken is what goes with the same request for another reason, and
// what that stands for stays.
func (p Policy) firstSend(s State, o Occasion, taken []rule.Elision) []rule.Elision {
	if !o.Starting || p.off() || p.Pivot.SummaryAlone || p.First == (rule.FirstSend{}) {
		return nil
	}
	involved := map[string]bool{}
	for i := range taken {
		involved[taken[i].Part] = true
		for _, part := range taken[i].Covers() {
			involved[part] = true
		}
	}
	w := p.window(s)
	w.Ledger = w.Ledger.With(taken...)
	var first []rule.Elision
	for _, e := range s.leave(rule.Found{Elisions: w.FirstSend(p.First)}).Elisions {
		if !involved[e.Part] {
			first = append(first, e)
		}
	}
	return first
}
