package winnow

import (
	"context"
	"slices"
	"strings"

	"github.com/winnowhq/winnow/pivot"
	"github.com/winnowhq/winnow/recall"
	"github.com/winnowhq/winnow/rule"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
)

// Fork begins a new session with the log of another one before a message, "" for all of it, as it stood when that message came: the elisions that had been
// committed by then and whose reasons lie in the new log, the pivots, the receipts, the pins and the dismissals that concern it, the whole texts of outputs that
// were cut, and what its requests took, marked as inherited: the old session paid for them, and the new one begins with nothing spent.
// Messages and parts keep their ids, so that handles hold and a provider's cache is still warm. Nothing of the old session is changed.
func (e *Engine) Fork(ctx context.Context, id, beforeMessage string) (newID string, err error) {
	l, err := e.lock(ctx, "fork", id)
	if err != nil {
		return "", err
	}
	at, until := len(l.log), session.Millis(0)
	if beforeMessage != "" {
		if at = session.Index(l.log, beforeMessage); at < 0 {
			l.mu.Unlock()
			return "", notFound("fork", id, "message "+beforeMessage)
		}
		until = l.log[at].Time.Created
	}
	log, state := slices.Clone(l.log[:at]), l.state
	l.mu.Unlock() // what was read is not changed by anybody

	now := millis(e.config.Now())
	info := state.Info
	info.ID, info.ParentID = e.ids.New(session.SessionID, e.config.Now()), id
	info.Time.Created, info.Time.Updated = now, now
	f := fork{messages: map[string]bool{}, parts: map[string]bool{}, kept: map[string]bool{}, until: until}
	for i := range log {
		f.take(&log[i], info.ID)
	}
	c := store.Change{Create: &info, Append: log, Commit: f.ledger(state.Ledger), Pin: f.pins(state.Pins), Spend: f.spent(state.Spent),
		Receipts: f.receipts(state.Receipts, info.ID), Keep: id}
	for marker := range state.Undone {
		if f.messages[marker] || f.kept[marker] {
			c.Undo = append(c.Undo, marker)
		}
	}
	for _, found := range recall.Constraints(log) {
		if key := recall.Key(found.Text); state.Dismissed[key] && !slices.Contains(c.Dismiss, key) {
			c.Dismiss = append(c.Dismiss, key)
		}
	}
	if _, err := e.config.Store.Apply(ctx, info.ID, c); err != nil {
		return "", e.failed("fork", id, err)
	}
	return info.ID, nil
}

// fork is what a new session has of an old one.
type fork struct {
	messages, parts map[string]bool
	kept            map[string]bool // pins and restores of which there are quotations
	until           session.Millis  // 0: whenever
}

func (f *fork) take(m *session.Message, id string) {
	f.messages[m.ID] = true
	if n, quotes := m.Kept(); quotes {
		f.kept[n.Kept] = true
	}
	m.SessionID = id
	m.Parts = slices.Clone(m.Parts)
	for j := range m.Parts {
		m.Parts[j].SessionID = id
		f.parts[m.Parts[j].ID] = true
	}
}

// in reports whether something had happened by then.
func (f *fork) in(t session.Millis) bool { return f.until == 0 || t <= f.until }

func (f *fork) has(el rule.Elision) bool {
	if !f.parts[el.Part] || !f.in(el.Time) {
		return false
	}
	for _, by := range el.Covers() {
		if !f.parts[by] {
			return false // what shows it again is not there
		}
	}
	return true
}

func (f *fork) ledger(l rule.Ledger) []rule.Elision {
	return slices.DeleteFunc(slices.Clone(l.All()), func(el rule.Elision) bool { return !f.has(el) })
}

func (f *fork) pins(all []rule.Pin) []rule.Pin {
	return slices.DeleteFunc(slices.Clone(all), func(p rule.Pin) bool {
		return p.Part != "" && !f.parts[p.Part] || p.Message != "" && !f.messages[p.Message]
	})
}

// spent is what the new session's log took, all of it paid for already.
func (f *fork) spent(all []store.Spend) []store.Spend {
	kept := slices.DeleteFunc(slices.Clone(all), func(s store.Spend) bool {
		return s.Message != "" && !f.messages[s.Message] || s.Message == "" && !f.in(s.Time)
	})
	for i := range kept {
		kept[i].Inherited = true
	}
	return kept
}

// receipts are those of which the new session has something.
func (f *fork) receipts(all []pivot.Receipt, id string) []pivot.Receipt {
	var kept []pivot.Receipt
	for _, r := range all {
		r.Committed = slices.DeleteFunc(slices.Clone(r.Committed), func(el rule.Elision) bool { return !f.has(el) })
		r.Replaced = slices.DeleteFunc(slices.Clone(r.Replaced), func(el rule.Elision) bool { return !f.has(el) })
		if r.Marker != "" && !f.messages[r.Marker] || r.Marker == "" && len(r.Committed) == 0 && !f.quotes(&r) || !f.in(r.Time) {
			continue
		}
		r.Undo = strings.ReplaceAll(r.Undo, r.SessionID, id)
		r.SessionID = id
		kept = append(kept, r)
	}
	return kept
}

// quotes reports whether the new session has the quotation that a receipt is for.
func (f *fork) quotes(r *pivot.Receipt) bool {
	return f.kept[r.ID] || r.Pinned != nil && f.kept[r.Pinned.ID]
}
