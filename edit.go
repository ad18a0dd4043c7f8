package winnow

import (
	"context"
	"errors"

	"github.com/winnowhq/winnow/edit"
	"github.com/winnowhq/winnow/pivot"
	"github.com/winnowhq/winnow/rule"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
)

// Edited is what became of the parts that an edit names: one commit for all targets that could be done.
type Edited struct {
	Targets []edit.Target `json:"targets"` // in the order in which they were named
	// Receipt is that of the commit; Undo with its id takes it back as a whole. nil when nothing was done.
	Receipt *pivot.Receipt `json:"receipt,omitzero"`
	// Changed says that the view is another one now.
	Changed bool `json:"changed"`
	// Replaced are the elisions that were taken back.
	Replaced []rule.Elision `json:"-"`
}

var errUnchanged = errors.New("nothing is to be written")

// Edit discards, distills or restores parts that are named by id, call id or handle: see edit.Request. A target that
// cannot be done says so in its result and holds up no other, unless all must be done; else the error is of the session
// or the store.
func (e *Engine) Edit(ctx context.Context, id string, r edit.Request) (Edited, error) {
	op := r.Op()
	if op == "" && len(r.Discard)+len(r.Distill)+len(r.Restore)+len(r.Fields) > 0 {
		return Edited{}, &Error{Code: BadInput, Op: "edit", Session: id, Err: errors.New("several things are asked for"),
			Hint: "discard, distill and restore one after another"}
	}
	var done Edited
	var c store.Change
	err := e.change(ctx, op, id, func(l *live) (store.Change, error) {
		d := edit.Decide(e.session(l), r)
		if t := d.Failed; t != nil && r.All {
			if t.Code == NotFound {
				return store.Change{}, notFound(op, id, "part "+t.Target)
			}
			return store.Change{}, refusedTo(op, id, "part "+t.Target, &rule.Refusal{Code: t.Code, Reason: t.Reason})
		}
		done = Edited{Targets: d.Targets, Changed: d.Changes(), Replaced: d.Replaced}
		switch {
		case done.Changed:
		case len(r.Fields) > 0:
			return store.Change{}, refusedTo(op, id, "nothing is done", &rule.Refusal{Code: Already, Reason: "all of it is shown whole"})
		default:
			return store.Change{}, errUnchanged
		}
		c = store.Change{Restore: keysOf(d.Replaced)}
		switch {
		case len(r.Fields) > 0:
		case op == edit.Restore:
			c, done.Receipt = e.restoring(l, c, d.Quote, d.Replaced)
		default:
			now := millis(e.config.Now())
			for i := range d.Commit {
				d.Commit[i].Time = now
			}
			done.Receipt = e.pruningReceipt(l, d.Commit, now, op, d.Replaced...)
			done.Receipt.Notes = d.Notes
			c.Commit, c.Receipt = d.Commit, done.Receipt
		}
		return c, nil
	}, func(l *live) {
		l.reported, l.estimated = session.Usage{}, -1 // no report speaks of the new view
		event := e.event(id, ElisionCommitted)
		event.Receipt = done.Receipt
		if op == edit.Restore {
			event.Type, event.Elisions = ElisionUndone, c.Restore
		}
		e.bus.publish(event)
	})
	if err == errUnchanged {
		err = nil
	}
	return done, err
}
