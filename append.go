package winnow

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
)

// Append adds messages at the end of the log. Missing ids and times are filled in, in the slice that was handed in, so that the
// caller knows them.
func (e *Engine) Append(ctx context.Context, id string, messages ...session.Message) error {
	if len(messages) == 0 {
		return nil
	}
	if err := e.complete(id, messages); err != nil {
		return err
	}
	kept := make([]session.Message, len(messages))
	for i, m := range messages {
		m.Parts = slices.Clone(m.Parts)
		kept[i] = m
	}
	return e.change(ctx, "append", id, func(l *live) (store.Change, error) {
		return store.Change{Append: kept}, nil
	}, func(l *live) {
		for i := range kept {
			l.appended(&kept[i])
			event := e.event(id, MessageAppended)
			event.Message = kept[i].ID
			e.bus.publish(event)
		}
		if ref := kept[len(kept)-1].Answers(); ref != nil && ref.String() != "" && !e.config.ForceModel {
			l.model = e.config.Models.Lookup(ref.String())
		}
	})
}

// Update replaces messages that have the same ids, parts included: an answer that was streamed, a call that ended. Nothing is lost by it that was
// final: the log of what was said only grows, and a program that updates says the same thing more completely.
func (e *Engine) Update(ctx context.Context, id string, messages ...session.Message) error {
	if err := e.complete(id, messages); err != nil {
		return err
	}
	kept := make([]session.Message, len(messages))
	for i, m := range messages {
		m.Parts = slices.Clone(m.Parts)
		kept[i] = m
	}
	return e.change(ctx, "update", id, func(l *live) (store.Change, error) {
		for i := range kept {
			if session.Index(l.log, kept[i].ID) < 0 {
				return store.Change{}, notFound("update", id, "message "+kept[i].ID)
			}
		}
		return store.Change{Update: kept}, nil
	}, func(*live) {
		for i := range kept {
			for j := range kept[i].Parts {
				event := e.event(id, PartUpdated)
				event.Message, event.Part = kept[i].ID, kept[i].Parts[j].ID
				e.bus.publish(event)
			}
		}
	})
}

// complete fills in what a message must have, and refuses what no log can hold.
func (e *Engine) complete(id string, messages []session.Message) error {
	now := e.config.Now()
	for i := range messages {
		m := &messages[i]
		if m.Role != session.User && m.Role != session.Assistant {
			return &Error{Code: BadInput, Op: "append", Session: id, Err: fmt.Errorf("message %d has the role %q", i, m.Role), Hint: `use "user" or "assistant"`}
		}
		if m.ID == "" {
			m.ID = e.ids.New(session.MessageID, now)
		}
		if m.SessionID != id {
			m.SessionID = id
		}
		if m.Time.Created == 0 {
			m.Time.Created = millis(now)
		}
		for j := range m.Parts {
			p := &m.Parts[j]
			if p.Type == session.ToolPart && p.State == nil {
				return &Error{Code: BadInput, Op: "append", Session: id, Err: fmt.Errorf("tool part %d of message %s has no state", j, m.ID), Hint: "a call begins with the status pending"}
			}
			if p.ID == "" {
				p.ID = e.ids.New(session.PartID, now)
			}
			// A message that was read from the log has them, and shares its parts with whoever reads them now.
			if p.SessionID != id || p.MessageID != m.ID {
				p.SessionID, p.MessageID = id, m.ID
			}
		}
	}
	return nil
}

// change makes a decision on the session as it is and writes it, again when somebody else was quicker. done runs with
// the lock held after it was written.
func (e *Engine) change(ctx context.Context, op, id string, decide func(*live) (store.Change, error), done func(*live)) error {
	l, err := e.lock(ctx, op, id)
	if err != nil {
		return err
	}
	defer l.mu.Unlock()
	for range retries {
		c, err := decide(l)
		if err != nil {
			return err
		}
		switch err := e.apply(ctx, l, op, c); {
		case err == nil:
			if done != nil {
				done(l)
			}
			return nil
		case !errors.Is(err, store.ErrConflict):
			return err
		}
	}
	return busy(op, id)
}

// appended gives a new turn its attempts.
func (l *live) appended(m *session.Message) {
	if m.Written() {
		l.tries, l.prepared = 0, false
	}
}
