package memory

import (
	"context"
	"fmt"
	"slices"

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
	if c.Base != 0 && c.Base != k.Revision {
		return 0, failed("apply", id, fmt.Errorf("%w: it is at revision %d, the change was decided on %d",
			store.ErrConflict, k.Revision, c.Base))
	}
	c = clone(c)
	next := *k
	for i := range c.Append {
		next.messages = append(next.messages, ofStore(&c.Append[i]))
	}
	if len(c.Update) > 0 {
		next.messages = slices.Clone(next.messages) // a reader may be in the middle of it
		for i := range c.Update {
			at := next.index(c.Update[i].ID)
			if at < 0 {
				return 0, failed("apply", id, fmt.Errorf("update %q: %w", c.Update[i].ID, store.ErrNoMessage))
			}
			next.messages[at] = ofStore(&c.Update[i])
		}
	}
	for _, at := range c.Vain {
		if at < 0 || at >= len(k.Spent) {
			return 0, failed("apply", id, fmt.Errorf("there is no request %d of %d", at, len(k.Spent)))
		}
	}
	next.State = next.After(&c)
	if c.Source != nil {
		next.source = c.Source
	}
	if c.Create != nil && c.Keep != "" {
		from := s.sessions[c.Keep]
		if c.Keep == c.Aside {
			from = s.sessions[id]
		}
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
		renamed.Info.ID = c.Aside
		renamed.Revision++
		s.sessions[c.Aside] = &renamed
	}
	s.changes++
	next.changed = s.changes
	s.sessions[id] = &next
	return next.Revision, nil
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
	return newKept(*c.Create), nil
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

// ofStore is a message as stores have it: a list of no parts is nil.
func ofStore(m *session.Message) *session.Message {
	if len(m.Parts) == 0 {
		m.Parts = nil
	}
	return m
}
