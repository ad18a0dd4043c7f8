package store

import (
	"maps"
	"reflect"
	"slices"

	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/session"
)

// Clip returns the same state for a change that only might follow it, beside the one that does.
func (s State) Clip() State {
	s.Receipts, s.Spent = slices.Clip(s.Receipts), slices.Clip(s.Spent)
	return s
}

// After returns the state once a change was applied, at the next revision. The receipts and requests
// of the two states share memory: only one change may follow a state, and a [State.Clip] of it.
func (s State) After(c *Change) State {
	s.Revision++
	s.Messages += len(c.Append)
	if c.Info != nil {
		s.Info = *c.Info
	}
	s.Ledger = s.Ledger.Without(c.Restore...).With(c.Commit...)
	s.Undone = with(s.Undone, c.Undo, c.Redo)
	s.Dismissed = with(s.Dismissed, c.Dismiss, c.Undismiss)
	if len(c.Pin)+len(c.Unpin) > 0 {
		s.Pins = slices.DeleteFunc(slices.Clone(s.Pins), func(p rule.Pin) bool { return slices.Contains(c.Unpin, p.ID) })
	}
	for _, p := range c.Pin {
		if at := slices.IndexFunc(s.Pins, func(q rule.Pin) bool { return q.ID == p.ID }); at >= 0 {
			s.Pins[at] = p
		} else {
			s.Pins = append(s.Pins, p)
		}
	}
	s.Receipts = append(s.Receipts, c.AllReceipts()...)
	if len(c.Vain) > 0 {
		s.Spent = slices.Clone(s.Spent)
		for _, at := range c.Vain {
			s.Spent[at].Failed = true
		}
	}
	s.Spent = append(s.Spent, c.Spend...)
	if c.Prepared != nil {
		s.Prepared = nil
		if *c.Prepared != (Prepared{}) {
			s.Prepared = c.Prepared
		}
	}
	return s
}

// Grows reports whether a change only appends and updates messages, and notes what was spent.
func (c Change) Grows() bool {
	some := len(c.Append)+len(c.Update)+len(c.Spend) > 0
	c.Base, c.Append, c.Update, c.Spend = 0, nil, nil, nil
	return some && reflect.DeepEqual(c, Change{})
}

// Then joins a change that Grows with the next one. That one has no Vain: its positions would shift.
func (c Change) Then(next Change) Change {
	next.Base = c.Base
	next.Spend = slices.Concat(c.Spend, next.Spend)
	next.Append = slices.Concat(c.Append, next.Append)
	updated := slices.Clone(c.Update)
	for _, m := range next.Update {
		same := func(other session.Message) bool { return other.ID == m.ID }
		if at := slices.IndexFunc(next.Append, same); at >= 0 {
			next.Append[at] = m
		} else if at := slices.IndexFunc(updated, same); at >= 0 {
			updated[at] = m
		} else {
			updated = append(updated, m)
		}
	}
	next.Update = updated
	return next
}

// Rebase is a change that Grows, for a session that somebody else has changed since: all of it, or
// only its requests if that one has appended to the log.
func (c Change) Rebase(revision int64, appended bool) Change {
	if c.Base = revision; !appended {
		return c
	}
	c.Append, c.Update, c.Spend = nil, nil, slices.Clone(c.Spend)
	for i := range c.Spend {
		c.Spend[i].Message = ""
	}
	return c
}

// with returns a set with keys added and then removed; an empty set is nil.
func with(set map[string]bool, add, remove []string) map[string]bool {
	if len(add)+len(remove) == 0 {
		return set
	}
	set = maps.Clone(set)
	for _, key := range add {
		if set == nil {
			set = map[string]bool{}
		}
		set[key] = true
	}
	for _, key := range remove {
		delete(set, key)
	}
	if len(set) == 0 {
		return nil
	}
	return set
}
