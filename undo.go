package winnow

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/winnowhq/winnow/plan/pivot"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/plan/view"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/store/edit"
	"github.com/winnowhq/winnow/store/report"
)

// receiptOfQuotation is a receipt for a quotation that came with a session of which the receipts
// are not known.
func (e *Engine) receiptOfQuotation(l *live, what string) *pivot.Receipt {
	for i := range l.log {
		n, kept := l.log[i].Kept()
		if !kept || n.Kept != what && l.log[i].ID != what {
			continue
		}
		r := &pivot.Receipt{ID: n.Kept, SessionID: l.id, Kind: pivot.Restoring, Time: l.log[i].Time.Created,
			Trigger: "imported", Quoted: n.Quotes}
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

// reversesNothing reports whether taking back what a receipt is for, or making it count again,
// would change nothing: its quotation is not in the window, or what it quotes is there already.
func (l *live) reversesNothing(r *pivot.Receipt, redo bool) bool {
	switch {
	case r.Kind == pivot.Pinning && r.Pinned != nil:
		return redo && slices.ContainsFunc(l.state.Pins, func(p rule.Pin) bool { return samePin(p, *r.Pinned) })
	case r.Kind != pivot.Restoring && r.Kind != pivot.Pinning:
		return false
	}
	if redo && len(l.unreplaced(r.Replaced)) > 0 || !redo &&
		slices.ContainsFunc(r.Replaced, func(el rule.Elision) bool { return !l.state.Ledger.Has(el.Key()) }) {
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

// Undo takes back what a receipt is for: the pivot of a compaction with the elisions that were
// committed with it, the elisions of a pruning, what a restore or a pin shows again. what is the id
// of a receipt or of a marker, "" for the newest that still stands. The view is then to the byte
// what it was before, plus what was appended since; what is pinned stays in it. Reasoning that was
// made since is left out where its model takes it only behind the exact prompt that it was made
// for: Receipt.Unbound counts the parts. Nothing is deleted: Redo makes all of it count again.
func (e *Engine) Undo(ctx context.Context, id, what string) (*pivot.Receipt, error) {
	return e.reverse(ctx, "undo", id, what, false)
}

// Redo makes what was undone count again: a compaction, a pruning, a restore or a pin. what as for
// Undo, "" for what was undone last, whatever its kind and however old it is.
func (e *Engine) Redo(ctx context.Context, id, what string) (*pivot.Receipt, error) {
	return e.reverse(ctx, "redo", id, what, true)
}

func (e *Engine) reverse(ctx context.Context, op, id, what string, redo bool) (*pivot.Receipt, error) {
	var receipt *pivot.Receipt
	var keys []rule.Key
	asked := what
	err := e.change(ctx, op, id, func(l *live) (c store.Change, err error) {
		receipt, keys, what = nil, nil, asked
		if redo && what == "" {
			what = l.undoneLast()
		}
		for i := range slices.Backward(l.state.Receipts) {
			r := &l.state.Receipts[i]
			if what == r.ID || what != "" && (what == r.Marker || r.Pinned != nil && what == r.Pinned.ID) ||
				what == "" && !redo && l.counts(r) && !l.reversesNothing(r, false) { // the newest one that stands
				receipt = r
				break
			}
		}
		if receipt == nil {
			if receipt, err = e.importedReceipt(l, op, what); err != nil {
				return c, err
			}
			if what != "" {
				c.Receipt = receipt
			}
		}
		if l.counts(receipt) == redo || l.reversesNothing(receipt, redo) {
			return c, fail(Already, op, id, "", "%s is %sne already", cmp.Or(receipt.ID, receipt.Marker), op)
		}
		c, keys = l.reversal(c, receipt, redo)
		c.Info = l.infoUndone(redo, cmp.Or(receipt.ID, receipt.Marker))
		turned := *receipt
		receipt = &turned
		c, receipt.Unbound = l.rebound(c, cmp.Or(receipt.Marker, receipt.ID), l.since(receipt), e.identity().Now)
		pins := rule.Window{Pins: l.state.Clip().After(&c).Pins} // parts pinned since stay whole
		c.Commit = slices.DeleteFunc(slices.Clone(c.Commit),
			func(el rule.Elision) bool { return pins.Pinned(el.Part, el.Message) })
		c.Append = edit.Missing(e.current(l), e.identity(), c, "")
		return c, nil
	}, func(l *live) {
		l.forgetReport()
		l.turn.folds = 0
		event := Event{Type: ElisionUndone, Elisions: keys, Message: receipt.Marker}
		if redo {
			event.Type = ElisionCommitted
		}
		e.emit(id, event)
	})
	return receipt, err
}

// undoneLast is what was undone last and can count again, "" if nothing is known of.
func (l *live) undoneLast() string {
	for _, id := range slices.Backward(l.state.Info.Undone) {
		at := slices.IndexFunc(l.state.Receipts, func(r pivot.Receipt) bool { return r.ID == id })
		if at < 0 && l.state.Undone[id] { // a pivot that came with the session
			return id
		}
		if at >= 0 && !l.counts(&l.state.Receipts[at]) && !l.reversesNothing(&l.state.Receipts[at], true) {
			return id
		}
	}
	return ""
}

// since tells the messages that were appended since what a receipt is for.
func (l *live) since(r *pivot.Receipt) func(*session.Message) bool {
	from := r.Log
	if at := session.Index(l.log, r.Marker); r.Marker != "" && at >= 0 {
		from = at + 1
	}
	if from == 0 { // it came with a file
		return func(m *session.Message) bool { return m.Time.Created >= r.Time }
	}
	newer := map[string]bool{}
	for i := min(from, len(l.log)); i < len(l.log); i++ {
		newer[l.log[i].ID] = true
	}
	return func(m *session.Message) bool { return newer[m.ID] }
}

// importedReceipt is a receipt for what came with a session: the pivot that the window begins with,
// or what is named.
func (e *Engine) importedReceipt(l *live, op, what string) (*pivot.Receipt, error) {
	if what == "" {
		if op == "undo" && view.Pivot(l.window()) != nil {
			// another program made it
			return &pivot.Receipt{SessionID: l.id, Kind: pivot.Compaction, Marker: l.window()[0].ID}, nil
		}
		return nil, fail(NotFound, op, l.id, "", "there is nothing to %s", op)
	}
	if at := session.Index(l.log, what); at >= 0 && l.log[at].Marker() != nil {
		return e.receiptOfPivot(l, &l.log[at]), nil
	}
	if r := e.receiptOfQuotation(l, what); r != nil {
		return r, nil
	}
	return nil, notFound(op, l.id, "receipt or marker "+what)
}

// reversal is a change that takes back what a receipt is for, or makes it count again, and the
// elisions that it is about.
func (l *live) reversal(c store.Change, r *pivot.Receipt, redo bool) (store.Change, []rule.Key) {
	var ids []string // of markers, pins and restores
	switch {
	case r.Kind == pivot.Pinning && r.Pinned != nil:
		ids = []string{r.Pinned.ID}
		if c.Unpin = ids; redo {
			c.Unpin, c.Pin = nil, []rule.Pin{*r.Pinned}
		}
	case r.Kind == pivot.Restoring || r.Kind == pivot.Pinning:
		ids = []string{r.ID}
	case r.Marker != "":
		ids = []string{r.Marker}
	}
	if redo {
		c.Commit, c.Restore, c.Redo, c.Undo = r.Committed, keysOf(l.unreplaced(r.Replaced)), ids, r.LetGo
		return c, keysOf(r.Committed)
	}
	keys := keysOf(l.unreplaced(r.Committed))
	c.Restore, c.Commit, c.Undo, c.Redo = keys, r.Replaced, ids, r.LetGo
	return c, keys
}

// receiptOfPivot is a receipt for a pivot that came with a session: another program made it, or
// this one did and the session was written to a file and read again. What was committed with a
// pivot has its time.
func (e *Engine) receiptOfPivot(l *live, marker *session.Message) *pivot.Receipt {
	r := &pivot.Receipt{
		ID: e.ids.New("rcp", e.config.Now()), SessionID: l.id, Kind: pivot.Compaction, Time: marker.Time.Created,
		Trigger: "imported", Marker: marker.ID,
		Undo: "winnow undo " + l.id + " " + marker.ID,
	}
	for _, el := range l.state.Ledger.All() {
		if el.Time != 0 && el.Time == marker.Time.Created && el.Rule != rule.Rebound {
			r.Committed = append(r.Committed, el)
			r.Saved += el.Saves
		}
	}
	undone := maps.Clone(l.state.Undone)
	if undone == nil {
		undone = map[string]bool{}
	}
	undone[marker.ID] = true
	before, after := view.Window(l.log, undone), l.window()
	r.MessagesBefore, r.MessagesAfter = len(before), len(after)
	r.TokensBefore = l.tokens(before, l.state.Ledger.Without(keysOf(r.Committed)...))
	r.TokensAfter = l.tokens(after, l.state.Ledger)
	return r
}

// counts reports whether what a receipt is for counts now.
func (l *live) counts(r *pivot.Receipt) bool { return report.Stands(l.state, r) }

// unreplaced are those of some elisions that stand as they are, and have not been replaced by
// others.
func (l *live) unreplaced(elisions []rule.Elision) []rule.Elision {
	return report.Standing(l.state.Ledger, elisions)
}
