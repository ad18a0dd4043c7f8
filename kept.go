package winnow

import (
	"errors"
	"slices"

	"github.com/winnowhq/winnow/edit"
	"github.com/winnowhq/winnow/pivot"
	"github.com/winnowhq/winnow/rule"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/view"
)

// What a summary stands for is shown again by a message behind it, a quotation (pivot.Kept). It is a message like any other: stored, sent, counted, and written to
// files. Nothing before it changes, so that a provider's cache holds. What was undone takes it out of the window.

func isKept(m *session.Message) bool {
	_, kept := m.Kept()
	return kept
}

// with is the session with a change, and the window that it has then.
func (l *live) with(c store.Change) (state store.State, log, window []session.Message) {
	state = after(l.state, c, l.state.Revision)
	log = append(append(make([]session.Message, 0, len(l.log)+len(c.Append)), l.log...), c.Append...)
	for _, m := range c.Update {
		if at := session.Index(log, m.ID); at >= 0 {
			log[at] = m
		}
	}
	return state, log, view.Window(log, state.Undone)
}

// unheld are the quotations that a session needs with a change, so that everything that is pinned, or was restored, is in
// the view. They go with the pivot of the marker named, which the change makes: before it they were not needed. It is ""
// for those that each go by themselves.
func (l *live) unheld(id pivot.Identity, c store.Change, marker string) []session.Message {
	restored := slices.ContainsFunc(l.state.Receipts, func(r pivot.Receipt) bool { return r.Kind == pivot.Restoring })
	if len(l.state.Pins)+len(c.Pin) == 0 && !restored {
		return nil
	}
	state, log, window := l.with(c)
	return edit.Needed(id, state, log, window, marker)
}

// roomFor refuses what a change adds where the view would not fit.
func (e *Engine) roomFor(l *live, c store.Change) *rule.Refusal {
	state, _, window := l.with(c)
	return edit.NoRoom(e.session(l), window, state.Ledger)
}

const tooLargeHint = "read pieces of it with the recall tool or winnow show, or make room first"

// refused is a refusal as an error.
func refusedTo(op, id, what string, r *rule.Refusal) error {
	err := &Error{Code: r.Code, Op: op, Session: id, Err: errors.New(what + ": " + r.Reason)}
	switch r.Code {
	case TooLarge:
		err.Hint = tooLargeHint
	case Undone:
		err.Hint = "winnow redo makes it count again"
	}
	return err
}

// restoring adds to a change what shows folded parts again, and the receipt of that and of the elisions that were taken back.
func (e *Engine) restoring(l *live, c store.Change, parts []string, replaced []rule.Elision) (store.Change, *pivot.Receipt) {
	id := e.identity()
	r := &pivot.Receipt{ID: e.ids.New("rcp", e.config.Now()), Kind: pivot.Restoring, Trigger: "restore", Replaced: replaced, Quoted: parts}
	if len(parts) > 0 {
		c.Append = append(c.Append, edit.Quotation(id, l.state, l.log, r.ID, parts))
	}
	e.measured(l, c, r, id.Now)
	c.Receipt = r
	return c, r
}

// measured fills a receipt in with what a change makes of the view.
func (e *Engine) measured(l *live, c store.Change, r *pivot.Receipt, now session.Millis) {
	state, _, window := l.with(c)
	r.SessionID, r.Time, r.Policy, r.Log = l.id, now, e.policy.Name, len(l.log)
	r.MessagesBefore, r.MessagesAfter = len(l.window()), len(window)
	r.TokensBefore, r.TokensAfter = l.look().Tokens(), l.tokens(window, state.Ledger)
	r.Saved = r.TokensBefore - r.TokensAfter
	if usable := e.policy.Budget.Usable(l.model); !usable.Unlimited {
		r.Usable = usable.Threshold
	}
	r.Undo = "winnow undo " + l.id + " " + r.ID
}

// samePin reports whether two pins keep the same.
func samePin(a, b rule.Pin) bool {
	return a.Part == b.Part && a.Message == b.Message && a.Text == b.Text
}

// keptTokens is what the quotations of a window take.
func (l *live) keptTokens(window []session.Message) (n int) {
	for i := range window {
		if isKept(&window[i]) {
			n += view.Message(&window[i], l.state.Ledger, l.facts)
		}
	}
	return n
}

// foundKept is a receipt for a quotation that came with a session of which the receipts are not known.
func (e *Engine) foundKept(l *live, what string) *pivot.Receipt {
	for i := range l.log {
		n, kept := l.log[i].Kept()
		if !kept || n.Kept != what && l.log[i].ID != what {
			continue
		}
		r := &pivot.Receipt{ID: n.Kept, SessionID: l.id, Kind: pivot.Restoring, Time: l.log[i].Time.Created, Trigger: "imported", Quoted: n.Quotes}
		if n.Pin {
			r.Kind = pivot.Pinning
			if at := slices.IndexFunc(l.state.Pins, func(p rule.Pin) bool { return p.ID == n.Kept }); at >= 0 {
				r.Pinned = &l.state.Pins[at]
			}
		}
		r.Undo = "winnow undo " + l.id + " " + n.Kept
		return r
	}
	return nil
}

// moot reports whether taking back what a receipt is for, or making it count again, would change nothing: its quotation is not in the window, or what it quotes is there
// already.
func (l *live) moot(r *pivot.Receipt, redo bool) bool {
	switch {
	case r.Kind == pivot.Pinning && r.Pinned != nil:
		return redo && slices.ContainsFunc(l.state.Pins, func(p rule.Pin) bool { return samePin(p, *r.Pinned) })
	case r.Kind != pivot.Restoring && r.Kind != pivot.Pinning:
		return false
	}
	if redo && len(l.own(r.Replaced)) > 0 || !redo && slices.ContainsFunc(r.Replaced, func(el rule.Elision) bool { return !l.state.Ledger.Has(el.Key()) }) {
		return false
	}
	if len(r.Quoted) == 0 && r.Kind == pivot.Restoring {
		return true
	}
	shown := edit.QuotedIn(l.window())
	if !redo {
		return !shown.By[r.ID]
	}
	return len(r.Quoted) > 0 && len(shown.Hidden(l.log, r.Quoted)) == 0
}
