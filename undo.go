package winnow

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/winnowhq/winnow/pivot"
	"github.com/winnowhq/winnow/rule"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/view"
)

// Undo takes back what a receipt is for: the pivot of a compaction with the elisions that were committed with it, or the elisions of
// a pruning. what is the id of a receipt or of a marker, "" for the newest that still stands. The view is then to the byte
// what it was before, plus what was appended since. Nothing is deleted: Redo makes it count again.
func (e *Engine) Undo(ctx context.Context, id, what string) (*pivot.Receipt, error) {
	return e.turnBack(ctx, "undo", id, what, false)
}

// Redo makes an undone pivot or pruning count again. what as for Undo, "" for the one that was undone last in the order of the receipts.
func (e *Engine) Redo(ctx context.Context, id, what string) (*pivot.Receipt, error) {
	return e.turnBack(ctx, "redo", id, what, true)
}

func (e *Engine) turnBack(ctx context.Context, op, id, what string, redo bool) (*pivot.Receipt, error) {
	var receipt *pivot.Receipt
	var keys []rule.Key
	err := e.change(ctx, op, id, func(l *live) (store.Change, error) {
		receipt, keys = nil, nil
		for i := range l.state.Receipts {
			// The newest one that stands, or the oldest one that does not, when none is named.
			r := &l.state.Receipts[len(l.state.Receipts)-1-i]
			if redo {
				r = &l.state.Receipts[i]
			}
			if what == r.ID || what != "" && what == r.Marker || what == "" && l.stands(r) != redo {
				receipt = r
				break
			}
		}
		var c store.Change
		switch {
		case receipt == nil && what == "" && !redo && view.Pivot(l.window()) != nil:
			receipt = &pivot.Receipt{SessionID: id, Kind: pivot.Compaction, Marker: l.window()[0].ID} // another program made it
		case receipt == nil && what != "":
			marker := session.Index(l.log, what)
			if marker < 0 || l.log[marker].Marker() == nil {
				return c, notFound(op, id, "receipt or marker "+what)
			}
			receipt = e.foundReceipt(l, &l.log[marker])
			c.Receipt = receipt
		case receipt == nil:
			return c, &Error{Code: NotFound, Op: op, Session: id, Err: fmt.Errorf("there is nothing to %s", op)}
		}
		if l.stands(receipt) == redo {
			return c, &Error{Code: Already, Op: op, Session: id, Err: fmt.Errorf("%s is %sne already", cmp.Or(receipt.ID, receipt.Marker), op)}
		}
		switch {
		case redo:
			keys = keysOf(receipt.Committed)
			c.Commit, c.Restore = receipt.Committed, keysOf(l.own(receipt.Replaced))
			if receipt.Marker != "" {
				c.Redo = []string{receipt.Marker}
			}
		default:
			keys = keysOf(l.own(receipt.Committed))
			c.Restore, c.Commit = keys, receipt.Replaced
			if receipt.Marker != "" {
				c.Undo = []string{receipt.Marker}
			}
		}
		return c, nil
	}, func(l *live) {
		l.reported, l.estimated, l.tries = session.Usage{}, -1, 0
		event := e.event(id, ElisionUndone)
		if redo {
			event.Type = ElisionCommitted
		}
		event.Elisions, event.Message = keys, receipt.Marker
		e.bus.publish(event)
	})
	return receipt, err
}

// foundReceipt is a receipt for a pivot that came with a session: another program made it, or this one did and the session was written to a file and read
// again. What was committed with a pivot has its time.
func (e *Engine) foundReceipt(l *live, marker *session.Message) *pivot.Receipt {
	r := &pivot.Receipt{
		ID: e.ids.New("rcp", e.config.Now()), SessionID: l.id, Kind: pivot.Compaction, Time: marker.Time.Created, Trigger: "imported", Marker: marker.ID,
		Undo: "winnow undo " + l.id + " " + marker.ID,
	}
	for _, el := range l.state.Ledger.All() {
		if el.Time != 0 && el.Time == marker.Time.Created {
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

func keysOf(elisions []rule.Elision) []rule.Key {
	keys := make([]rule.Key, len(elisions))
	for i, el := range elisions {
		keys[i] = el.Key()
	}
	return keys
}

// stands reports whether what a receipt is for counts now.
func (l *live) stands(r *pivot.Receipt) bool { return Stands(l.state, r) }

// Stands reports whether what a receipt of a session is for counts now, or was taken back: all of it, of the elisions of a pruning.
func Stands(state store.State, r *pivot.Receipt) bool {
	if r.Marker != "" {
		return !state.Undone[r.Marker]
	}
	return len(own(state.Ledger, r.Committed)) > 0
}

// own are those of some elisions that stand as they are, not in the place of which another one stands now.
func (l *live) own(elisions []rule.Elision) []rule.Elision { return own(l.state.Ledger, elisions) }

func own(ledger rule.Ledger, elisions []rule.Elision) []rule.Elision {
	var own []rule.Elision
	for _, el := range elisions {
		for _, standing := range ledger.Of(el.Part) {
			if standing.Field == el.Field && standing.Rule == el.Rule && standing.Shown == el.Shown {
				own = append(own, el)
			}
		}
	}
	return own
}

// Restore takes single elisions back: every one of the parts named, by id, call id or handle. It restores all of them or none; RestoreEach does
// what it can. With a part that shows a summary of several, the others come back too.
func (e *Engine) Restore(ctx context.Context, id string, parts ...string) ([]rule.Elision, error) {
	var restored []rule.Elision
	err := e.change(ctx, "restore", id, func(l *live) (store.Change, error) {
		restored = nil
		var c store.Change
		for _, name := range parts {
			_, p := l.find(name)
			if p == nil {
				return c, notFound("restore", id, "part "+name)
			}
			standing := l.standing(p)
			if len(standing) == 0 {
				return c, &Error{Code: Already, Op: "restore", Session: id, Err: fmt.Errorf("part %s is shown whole", name)}
			}
			for _, el := range standing {
				if slices.Contains(c.Restore, el.Key()) {
					continue
				}
				restored = append(restored, el)
				c.Restore = append(c.Restore, el.Key())
			}
		}
		return c, nil
	}, func(*live) {
		event := e.event(id, ElisionUndone)
		for _, el := range restored {
			event.Elisions = append(event.Elisions, el.Key())
		}
		e.bus.publish(event)
	})
	return restored, err
}

// RestoreFields takes single elisions back, by part and field, and leaves others of the same parts: what an older commit did to the arguments of a call
// stands when a newer one about its output is taken back. A key that is not in the ledger is no error.
func (e *Engine) RestoreFields(ctx context.Context, id string, keys ...rule.Key) ([]rule.Elision, error) {
	var restored []rule.Elision
	err := e.change(ctx, "restore", id, func(l *live) (store.Change, error) {
		restored = nil
		var c store.Change
		for _, el := range l.state.Ledger.All() {
			if slices.Contains(keys, el.Key()) {
				restored, c.Restore = append(restored, el), append(c.Restore, el.Key())
			}
		}
		if len(restored) == 0 {
			return c, &Error{Code: Already, Op: "restore", Session: id, Err: errors.New("all of it is shown whole")}
		}
		return c, nil
	}, func(*live) {
		event := e.event(id, ElisionUndone)
		event.Elisions = keysOf(restored)
		e.bus.publish(event)
	})
	return restored, err
}
