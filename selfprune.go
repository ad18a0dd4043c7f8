package winnow

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/winnowhq/winnow/pivot"
	"github.com/winnowhq/winnow/rule"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
)

// Targeted is what became of one target. OK says that it is now as it was asked to be, also when it was so already.
type Targeted struct {
	Target string `json:"target"` // as it was given
	Handle string `json:"handle,omitzero"`
	Part   string `json:"part,omitzero"`
	OK     bool   `json:"ok"`
	Code   Code   `json:"code,omitzero"`   // why not; Already where there was nothing to do
	Reason string `json:"reason,omitzero"` // the same as a sentence, or what else is to be known
	Saved  int    `json:"saved"`           // tokens that the view has less; negative where something is shown again
}

// SelfPruned is what Discard, Distill and RestoreEach did: one commit for all targets that could be done.
type SelfPruned struct {
	Targets []Targeted `json:"targets"` // in the order in which they were given
	// Receipt is that of the commit; Undo with its id takes it back as a whole. nil when nothing was done.
	Receipt *pivot.Receipt `json:"receipt,omitzero"`
	// Changed says that the view is another one now.
	Changed bool `json:"changed"`
}

// Distillation is a summary with the parts that it stands for.
type Distillation struct {
	Targets []string `json:"targets"` // part ids, call ids or handles
	Summary string   `json:"summary"`
}

// Discard leaves out parts that are named by id, call id or handle, and shows a placeholder in the place of each (S002 "hash injection"). What a call gave back
// goes, and long texts among its arguments. A target that cannot be done says so in its result and holds up no other; the error is of the session
// or the store. A part that a rule left out already is done; a summary that Distill put in its place goes.
func (e *Engine) Discard(ctx context.Context, id string, targets ...string) (SelfPruned, error) {
	return e.selfPrune(ctx, rule.Discard, id, targets, func(b *batch) { b.discard() })
}

// Distill shows a summary in the place of the parts that it was made from. It is kept in the ledger, so that it is shown in every later view until it is
// taken back. Of several parts with one summary the largest shows it, the others name that part. A summary that is larger than what it would
// replace is refused. One for a part that was distilled before replaces the older summary, unless the view would grow; a part that a rule
// left out is to be restored first. As with Discard, every target has its own result.
func (e *Engine) Distill(ctx context.Context, id string, distillations ...Distillation) (SelfPruned, error) {
	var targets []string
	for _, d := range distillations {
		targets = append(targets, d.Targets...)
	}
	return e.selfPrune(ctx, rule.Distill, id, targets, func(b *batch) {
		from := 0
		for _, d := range distillations {
			b.distill(b.targets[from:from+len(d.Targets)], strings.TrimSpace(d.Summary))
			from += len(d.Targets)
		}
	})
}

// RestoreEach shows parts whole again, named as for Discard. With a part that shows the summary of several, the others come back too. What a compaction
// folded is quoted behind the summary, as by Restore.
func (e *Engine) RestoreEach(ctx context.Context, id string, targets ...string) (SelfPruned, error) {
	return e.selfPrune(ctx, "restore", id, targets, func(b *batch) { b.restore() })
}

var errUnchanged = errors.New("nothing is to be written")

func (e *Engine) selfPrune(ctx context.Context, op, id string, targets []string, decide func(*batch)) (SelfPruned, error) {
	var done SelfPruned
	var c store.Change
	err := e.change(ctx, op, id, func(l *live) (store.Change, error) {
		b := e.newBatch(l)
		b.op, b.next = op, l.state.Ledger
		b.resolve(targets)
		decide(b)
		done = SelfPruned{Targets: b.results()}
		if len(b.committed)+len(b.replaced)+len(b.quoted) == 0 {
			return store.Change{}, errUnchanged
		}
		done.Changed = true
		c = store.Change{Restore: keysOf(b.replaced)}
		if op == "restore" {
			c, done.Receipt = e.restoring(l, c, b.quoted, b.replaced)
		} else {
			b.ownArguments()
			if l.model.BoundReasoning {
				state := l.plannerState()
				b.committed = append(b.committed, state.Unbound(append(b.committed[:len(b.committed):len(b.committed)], b.replaced...))...)
			}
			now := millis(e.config.Now())
			for i := range b.committed {
				b.committed[i].Time = now
			}
			done.Receipt = e.pruningReceipt(l, b.committed, now, op, b.replaced...)
			done.Receipt.Notes = b.notes
			c.Commit, c.Receipt = b.committed, done.Receipt
		}
		return c, nil
	}, func(l *live) {
		l.reported, l.estimated = session.Usage{}, -1 // no report speaks of the new view
		event := e.event(id, ElisionCommitted)
		event.Receipt = done.Receipt
		if op == "restore" {
			event.Type, event.Elisions = ElisionUndone, c.Restore
		}
		e.bus.publish(event)
	})
	if err == errUnchanged {
		err = nil
	}
	return done, err
}

func (b *batch) discard() {
	for _, t := range b.targets {
		if t.settled {
			continue
		}
		el, elided := b.main(t.part)
		switch {
		case elided && el.Rule == rule.Discard:
			t.already("it is discarded")
			continue
		case elided && el.Rule != rule.Distill:
			t.already("it is left out (" + el.Rule + ")")
			continue
		case b.leaned(t, b.targets):
			continue
		}
		elisions, saved := b.less(t, b.free(t.part), "it was discarded by its handle", func(f rule.Field) string { return b.marks.Discarded(t.part, f) })
		switch {
		case saved <= 0 && b.discarded(t.part): // its arguments alone were worth it
			t.already("it is discarded")
		case saved <= 0:
			t.refuse(Unprofitable, "what would stand in its place is as large")
		default:
			b.take(t, elisions, saved)
		}
	}
}

func (b *batch) restore() {
	gone := map[rule.Key]bool{}
	for _, t := range b.targets {
		if t.settled {
			continue
		}
		if _, in := b.at[t.message.ID]; !in {
			b.quote(t)
			continue
		}
		standing := b.live.standing(t.part)
		if len(standing) == 0 {
			t.already("it is shown whole")
			continue
		}
		before := b.live.partTokens(t.part, b.next)
		others := map[string]bool{}
		for _, el := range standing {
			if el.Part != t.Part && !others[el.Part] && !gone[el.Key()] {
				others[el.Part] = true
				_, p := session.FindPart(b.live.log, el.Part)
				before += b.live.partTokens(p, b.next)
			}
			if !gone[el.Key()] {
				gone[el.Key()] = true
				b.replaced = append(b.replaced, el)
			}
		}
		b.next = b.next.Without(keysOf(standing)...)
		t.OK, t.settled = true, true
		t.Saved = before - b.live.partTokens(t.part, b.next)
		for part := range others {
			_, p := session.FindPart(b.live.log, part)
			t.Saved -= b.live.partTokens(p, b.next)
		}
		if n := len(others); n > 0 {
			t.Reason = fmt.Sprintf("with %d more that its summary stood for", n)
		}
	}
}

// quote shows again what a compaction folded, where there is room for it.
func (b *batch) quote(t *target) {
	l := b.live
	if why := l.again(b.shown, t.message, t.part); why != nil {
		if t.refuse(why.Code, why.Reason); why.Code == Already {
			t.already(why.Reason)
		}
		return
	}
	size := func(parts []string) int { return b.engine.quotedTokens(l, parts...) }
	parts := append(b.quoted[:len(b.quoted):len(b.quoted)], t.Part)
	c, _ := b.engine.restoring(l, store.Change{Restore: keysOf(b.replaced)}, parts, b.replaced)
	if why := b.engine.roomFor(l, c); why != nil {
		t.refuse(why.Code, why.Reason)
		return
	}
	t.OK, t.settled, t.Saved = true, true, size(b.quoted)-size(parts)
	t.Reason = "quoted behind the summary, with its place in the session"
	b.quoted = parts
}
