package policy

import (
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/session"
)

// Unbound leaves out the reasoning behind the first place that elisions change: a model that binds
// its reasoning to the exact prompt before it refuses, or drops, what it thought behind another
// one. What stands before that place is as it was made.
func (s State) Unbound(commit []rule.Elision) []rule.Elision {
	if !s.Model.BoundReasoning || len(commit) == 0 {
		return nil
	}
	changed := make(map[string]bool, len(commit))
	for _, e := range commit {
		changed[e.Part] = true
	}
	var gone []rule.Elision
	behind := false
	for i := range s.Window {
		m := &s.Window[i]
		for j := range m.Parts {
			p := &m.Parts[j]
			if behind && !changed[p.ID] {
				if e, ok := rule.Unbound(m, p, s.Ledger, s.Facts); ok {
					gone = append(gone, e)
				}
			}
			behind = behind || changed[p.ID]
		}
	}
	return gone
}

// Turned says what becomes of the reasoning in the window that was made since a pivot or a pruning,
// by its id, when that is undone or counts again. s is the state in which it is so already. back
// are elisions to be taken back before commit is committed.
func (s State) Turned(id string, since func(*session.Message) bool) (back []rule.Key, commit []rule.Elision) {
	if !s.Model.BoundReasoning {
		return nil, nil
	}
	for i := range s.Window {
		m := &s.Window[i]
		if !since(m) {
			continue
		}
		for j := range m.Parts {
			before, after := rule.Turned(m, &m.Parts[j], s.Ledger, s.Facts, id)
			if before != (rule.Elision{}) {
				back = append(back, before.Key())
			}
			if after != (rule.Elision{}) {
				commit = append(commit, after)
			}
		}
	}
	return back, commit
}
