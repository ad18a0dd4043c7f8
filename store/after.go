package store

import (
	"maps"
	"slices"

	"github.com/winnowhq/winnow/plan/rule"
)

// After returns the state once a change was applied, at a revision. The state itself is not
// changed.
func (s State) After(c Change, revision int64) State {
	s.Revision = revision
	s.Messages += len(c.Append)
	if c.Info != nil {
		s.Info = *c.Info
	}
	s.Ledger = s.Ledger.Without(c.Restore...).With(c.Commit...)
	s.Undone = changed(s.Undone, c.Undo, c.Redo)
	s.Dismissed = changed(s.Dismissed, c.Dismiss, c.Undismiss)
	if len(c.Pin)+len(c.Unpin) > 0 {
		gone := func(p rule.Pin) bool { return slices.Contains(c.Unpin, p.ID) }
		s.Pins = append(slices.DeleteFunc(slices.Clone(s.Pins), gone), c.Pin...)
	}
	s.Receipts = append(slices.Clip(s.Receipts), c.Receipts...)
	if c.Receipt != nil {
		s.Receipts = append(s.Receipts, *c.Receipt)
	}
	s.Spent = append(slices.Clip(Wasted(s.Spent, c.Vain)), c.Spend...)
	if c.Prepared != nil {
		s.Prepared = nil
		if *c.Prepared != (Prepared{}) {
			s.Prepared = c.Prepared
		}
	}
	return s
}

// Wasted are requests of which some, by their positions, turned out to be paid in vain.
func Wasted(spent []Spend, positions []int) []Spend {
	if len(positions) == 0 {
		return spent
	}
	spent = slices.Clone(spent)
	for _, at := range positions {
		spent[at].Failed = true
	}
	return spent
}

// changed is a set with some members more and some less. The set itself is not changed.
func changed(set map[string]bool, add, remove []string) map[string]bool {
	if len(add)+len(remove) == 0 {
		return set
	}
	set = maps.Clone(set)
	if set == nil {
		set = make(map[string]bool, len(add))
	}
	for _, member := range add {
		set[member] = true
	}
	for _, member := range remove {
		delete(set, member)
	}
	return set
}
