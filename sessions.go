package winnow

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/plan/pivot"
	"github.com/winnowhq/winnow/plan/recall"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/store/report"
	"github.com/winnowhq/winnow/text/span"
)

// Amendment is what is told about a session beside its messages.
type Amendment struct {
	// Title is another title for people: white space becomes single blanks. "" leaves the title as
	// it is.
	Title string
	// Instead are the titles that Title may take the place of; nil is any. Under another one the
	// session stays.
	Instead []string
	// Spent is what requests took that left no message: attempts that failed and were paid for.
	Spent []store.Spend
	// Kept are whole outputs, by part id, call id or handle, of parts whose text in the log is only
	// the beginning and the end because all of it is too long to be sent. Nothing of them is
	// counted or sent, but a search finds them; they go with the session. store.Kept returns them.
	// Disabled if the store keeps no texts.
	Kept map[string]string
	// Recall says that the agent can get back what is left out: placeholders written from now on
	// name "winnow recall".
	Recall bool
	// Missed are parts, by part id, call id or handle, that the agent got back after they had been
	// left out. A missing time is filled in. From now on less is left out; see schedule.Account.
	Missed []session.Missed
	// Own are members of the session's info that belong to the program, by name, with JSON values:
	// names that session.Info does not have.
	Own map[string]jsontext.Value
}

// Amend records what is told about a session. The view stays what it is.
func (e *Engine) Amend(ctx context.Context, id string, a Amendment) error {
	if a.Title != "" {
		if err := e.rename(ctx, id, a.Title, a.Instead); err != nil {
			return err
		}
	}
	if len(a.Own) > 0 {
		if err := e.setOwn(ctx, id, a.Own); err != nil {
			return err
		}
	}
	if len(a.Spent) > 0 {
		if err := e.addSpent(ctx, id, a.Spent); err != nil {
			return err
		}
	}
	for part, text := range a.Kept {
		if err := e.keep(ctx, id, part, text); err != nil {
			return err
		}
	}
	if a.Recall || len(a.Missed) > 0 {
		return e.recall(ctx, id, a)
	}
	return nil
}

func (e *Engine) recall(ctx context.Context, id string, a Amendment) error {
	return e.changeInfo(ctx, "recall", id, func(l *live, info *session.Info) error {
		info.Recall = info.Recall || a.Recall
		info.Missed = slices.Clone(info.Missed)
		for _, missed := range a.Missed {
			_, p := l.find(missed.Part)
			if p == nil {
				return notFound("recall", id, "part "+missed.Part)
			}
			missed.Part, missed.Time = p.ID, cmp.Or(missed.Time, millis(e.config.Now()))
			info.Missed = append(info.Missed, missed)
		}
		return nil
	})
}

// changeInfo makes another info of a session's.
func (e *Engine) changeInfo(ctx context.Context, op, id string, decide func(*live, *session.Info) error) error {
	return e.change(ctx, op, id, func(l *live) (store.Change, error) {
		info := l.state.Info
		err := decide(l, &info)
		return store.Change{Base: l.state.Revision, Info: &info}, err
	}, nil)
}

func (e *Engine) rename(ctx context.Context, id, title string, instead []string) error {
	title = strings.Join(strings.Fields(title), " ")
	if title == "" {
		return fail(BadInput, "rename", id, "give a few words", "the title is empty")
	}
	another := errors.New("the session has another title")
	err := e.changeInfo(ctx, "rename", id, func(_ *live, info *session.Info) error {
		if instead != nil && !slices.Contains(instead, info.Title) {
			return another
		}
		info.Title = title
		return nil
	})
	if err == another {
		return nil
	}
	return err
}

func (e *Engine) setOwn(ctx context.Context, id string, members map[string]jsontext.Value) error {
	return e.changeInfo(ctx, "amend", id, func(_ *live, info *session.Info) error {
		object := cmp.Or(string(info.Unknown), "{}")
		for _, name := range slices.Sorted(maps.Keys(members)) {
			object = string(span.Set([]byte(object), "", members[name], name))
		}
		info.Unknown = jsontext.Value(object)
		return nil
	})
}

func (e *Engine) addSpent(ctx context.Context, id string, spent []store.Spend) error {
	for i := range spent {
		if spent[i].Time == 0 {
			spent[i].Time = millis(e.config.Now())
		}
	}
	charged := func(*live) (store.Change, error) { return store.Change{Spend: spent}, nil }
	return e.change(ctx, "charge", id, charged, func(*live) { e.emitSpent(id, spent) })
}

func (e *Engine) keep(ctx context.Context, id, part, text string) error {
	keeper, ok := e.config.Store.(store.Keeper)
	if !ok {
		return fail(Disabled, "keep", id, "use a store that is a store.Keeper",
			"the store keeps no texts beside the log")
	}
	var p *session.Part
	if err := e.locked(ctx, "keep", id, func(l *live) { _, p = l.find(part) }); err != nil {
		return err
	}
	if p == nil {
		return notFound("keep", id, "part "+part)
	}
	if err := keeper.Keep(ctx, id, p.ID, text); err != nil {
		return e.failed("keep", id, err)
	}
	return nil
}

// Dismiss says of sentences that were taken for instructions that they are not, or, with dismiss
// false, that they are after all. Each is named by its number or by its words; a piece of the
// sentence is enough if no other has it. From the next compaction on what is dismissed is not
// carried over; the message that it stands in stays as it is. Dismiss returns them as they are now.
// NotFound names what there is; Already if nothing changes.
func (e *Engine) Dismiss(ctx context.Context, id string, dismiss bool, which ...string) ([]report.Instruction, error) {
	op := "dismiss"
	if !dismiss {
		op = "undismiss"
	}
	var changed []report.Instruction
	err := e.change(ctx, op, id, func(l *live) (store.Change, error) {
		changed = nil
		var c store.Change
		all := report.InstructionsOf(l.log, l.state.Dismissed)
		for _, name := range which {
			found, err := report.InstructionNamed(all, name)
			if err != nil {
				return c, &Error{Code: NotFound, Op: op, Session: id, Err: err, Hint: report.InstructionList(all)}
			}
			was := found.Dismissed
			if found.Dismissed = dismiss; slices.Contains(changed, found) {
				continue
			}
			changed = append(changed, found)
			switch key := recall.Key(found.Text); {
			case was == dismiss:
			case dismiss:
				c.Dismiss = append(c.Dismiss, key)
			default:
				c.Undismiss = append(c.Undismiss, key)
			}
		}
		switch {
		case len(which) == 0:
			return c, fail(BadInput, op, id, "give its number or its words", "no instruction is named")
		case len(c.Dismiss)+len(c.Undismiss) > 0:
			return c, nil
		case dismiss:
			return c, fail(Already, op, id, "", "it is dismissed already")
		}
		return c, fail(Already, op, id, "", "it is not dismissed")
	}, nil)
	if err != nil {
		return nil, err
	}
	return changed, nil
}

// Create adds an empty session and returns its id; a missing id and missing times are filled in.
func (e *Engine) Create(ctx context.Context, info session.Info) (string, error) {
	info = e.complement(info)
	if err := e.config.Store.Create(ctx, info); err != nil {
		return "", e.failed("create", info.ID, err)
	}
	return info.ID, nil
}

// complement fills in what a new session must have.
func (e *Engine) complement(info session.Info) session.Info {
	now := e.config.Now()
	if info.ID == "" {
		info.ID = e.ids.New(session.SessionID, now)
	}
	if info.Time.Created == 0 {
		info.Time.Created, info.Time.Updated = millis(now), millis(now)
	}
	return info
}

// Import adds a whole session with what was decided about it before. source may be nil; with it the
// session can be exported to the product that it came from. spent is what was paid for beside the
// log: see Beside.
func (e *Engine) Import(ctx context.Context, s session.Session, ledger rule.Ledger, source *store.Source,
	spent ...store.Spend) error {
	s.Info = e.complement(s.Info)
	// One change, so that nobody ever sees half of it.
	_, err := e.config.Store.Apply(ctx, s.Info.ID,
		store.Change{Create: &s.Info, Append: s.Messages, Commit: ledger.All(), Source: source, Spend: spent})
	if err != nil {
		return e.failed("import", s.Info.ID, err)
	}
	return nil
}

// Session returns the log as it stands, and what was decided about it.
func (e *Engine) Session(ctx context.Context, id string) (session.Session, store.State, error) {
	var s session.Session
	var state store.State
	err := e.locked(ctx, "read", id, func(l *live) {
		s, state = session.Session{Info: l.state.Info, Messages: slices.Clone(l.log)}, l.state
	})
	return s, state, err
}

// Fork begins a new session with the log of another one before a message, "" for all of it, as it
// stood when that message came: the elisions that had been committed by then and whose reasons lie
// in the new log, the pivots, the receipts, the pins and the dismissals that concern it, the whole
// texts of outputs that were cut, and what its requests took, marked as inherited: the old session
// paid for them, and the new one begins with nothing spent. Messages and parts keep their ids, so
// that handles hold and a provider's cache is still warm. Nothing of the old session is changed.
//
// The first of as is the id of the new session, if the caller has one. Of two programs on one store
// that fork a session at once under one id, the second one gets the error Already, and nothing is
// stored. With a second one the new session takes the place of the old one: it has the old one's id,
// and whatever was committed, and the old one is renamed to that second id.
func (e *Engine) Fork(ctx context.Context, id, beforeMessage string, as ...string) (newID string, err error) {
	aside := ""
	switch len(as) {
	case 0:
		newID = e.ids.New(session.SessionID, e.config.Now())
	case 1:
		newID = as[0]
	default:
		newID, aside = id, as[1]
	}
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

	now, info, keep := millis(e.config.Now()), state.Info, id
	info.Time.Updated, info.Missed = now, nil // the old one missed it
	if aside != "" {
		until, keep = 0, aside
	} else {
		info.ID, info.ParentID, info.Time.Created = newID, id, now
	}
	f := fork{messages: map[string]bool{}, parts: map[string]bool{}, kept: map[string]bool{}, until: until}
	for i := range log {
		f.take(&log[i], info.ID)
	}
	c := store.Change{Create: &info, Aside: aside, Append: log, Commit: f.ledger(state.Ledger), Pin: f.pins(state.Pins),
		Spend:    f.spent(state.Spent),
		Receipts: f.receipts(state.Receipts, info.ID), Keep: keep}
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
	if aside != "" {
		e.forget(id) // the old one
	}
	return newID, nil
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
		r.Keep(f.has)
		if r.Marker != "" && !f.messages[r.Marker] || r.Marker == "" && len(r.Committed) == 0 && !f.quotes(&r) ||
			!f.in(r.Time) {
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
