package memory

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
)

// Apply writes a change whole or not at all: it works on a copy, which replaces the session at the
// end.
func (s *Store) Apply(ctx context.Context, id string, c store.Change) (int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	k, err := s.target(ctx, id, c)
	if err != nil {
		return 0, err
	}
	if err := c.Check(id); err != nil {
		return 0, failed("apply", id, err)
	}
	if c.Base != 0 && c.Base != k.revision {
		return 0, failed("apply", id, fmt.Errorf("%w: it is at revision %d, the change was decided on %d",
			store.ErrConflict, k.revision, c.Base))
	}
	next := *k
	if c.Info != nil {
		next.info = clone(*c.Info)
	}
	for _, m := range c.Append {
		next.messages = append(next.messages, cloneMessage(m))
	}
	if len(c.Update) > 0 {
		next.messages = slices.Clone(next.messages) // a reader may be in the middle of it
		for _, m := range c.Update {
			at := next.index(m.ID)
			if at < 0 {
				return 0, failed("apply", id, fmt.Errorf("update %q: %w", m.ID, store.ErrNoMessage))
			}
			next.messages[at] = cloneMessage(m)
		}
	}
	if len(c.Restore) > 0 {
		next.ledger = next.ledger.Without(c.Restore...)
	}
	next.ledger = next.ledger.With(c.Commit...)
	next.pins = pinned(next.pins, c.Unpin, c.Pin)
	next.undone = marked(next.undone, c.Undo, c.Redo)
	next.dismissed = marked(next.dismissed, c.Dismiss, c.Undismiss)
	next.receipts = append(next.receipts, clone(c.Receipts)...)
	if c.Receipt != nil {
		next.receipts = append(next.receipts, clone(*c.Receipt))
	}
	if len(c.Vain) > 0 {
		next.spent = slices.Clone(next.spent) // a reader may be in the middle of it
		for _, at := range c.Vain {
			if at < 0 || at >= len(next.spent) {
				return 0, failed("apply", id, fmt.Errorf("there is no request %d of %d", at, len(next.spent)))
			}
			next.spent[at].Failed = true
		}
	}
	next.spent = append(next.spent, clone(c.Spend)...)
	if c.Prepared != nil {
		next.prepared = nil
		if *c.Prepared != (store.Prepared{}) {
			next.prepared = clone(c.Prepared)
		}
	}
	if c.Source != nil {
		next.source = clone(c.Source)
	}
	if c.Create != nil && c.Keep != "" {
		from := s.sessions[c.Keep]
		if from == nil {
			return 0, failed("apply", id, fmt.Errorf("kept texts of session %s: %w", c.Keep, store.ErrNotFound))
		}
		next.texts = from.textsOf(c.Append)
	}
	if c.File != nil {
		s.setFiles(*c.File)
	}
	if old := s.sessions[id]; c.Create != nil && old != nil {
		renamed := *old
		renamed.info.ID = c.Aside
		renamed.revision++
		s.sessions[c.Aside] = &renamed
	}
	s.changes++
	next.changed = s.changes
	next.revision++
	s.sessions[id] = &next
	return next.revision, nil
}

// target returns the session to change, or a new one if the change creates it. The caller holds the
// lock.
func (s *Store) target(ctx context.Context, id string, c store.Change) (*kept, error) {
	if c.Create == nil {
		return s.find(ctx, "apply", id)
	}
	if err := s.ready(ctx, "apply", id); err != nil {
		return nil, err
	}
	if err := c.Check(id); err != nil {
		return nil, failed("apply", id, err)
	}
	if s.sessions[id] != nil && (c.Aside == "" || s.sessions[c.Aside] != nil) {
		return nil, failed("apply", id, store.ErrExists)
	}
	return &kept{info: clone(*c.Create), revision: 1}, nil
}

// index is the position of the newest message with an id, or -1.
func (k *kept) index(id string) int {
	for i := len(k.messages) - 1; i >= 0 && id != ""; i-- {
		if k.messages[i].ID == id {
			return i
		}
	}
	return -1
}

// cloneMessage copies a message. A list of no parts is nil, as in every store.
func cloneMessage(m session.Message) *session.Message {
	if len(m.Parts) == 0 {
		m.Parts = nil
	}
	return clone(&m)
}

func pinned(pins []rule.Pin, unpin []string, pin []rule.Pin) []rule.Pin {
	pins = slices.Clone(pins)
	pins = slices.DeleteFunc(pins, func(p rule.Pin) bool { return slices.Contains(unpin, p.ID) })
	for _, p := range pin {
		if at := slices.IndexFunc(pins, func(q rule.Pin) bool { return q.ID == p.ID }); at >= 0 {
			pins[at] = p
		} else {
			pins = append(pins, p)
		}
	}
	return pins
}

// marked returns a set with keys added and then removed; an empty set is nil.
func marked(set map[string]bool, add, remove []string) map[string]bool {
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
