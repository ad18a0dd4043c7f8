package winnow

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/winnowhq/winnow/call"
	"github.com/winnowhq/winnow/pivot"
	"github.com/winnowhq/winnow/rule"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/token"
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
	// Receipt is that of the commit; Undo with its id takes it back as a whole. nil when nothing was committed; RestoreEach makes none.
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

// RestoreEach shows parts whole again, named as for Discard. With a part that shows the summary of several, the others come back too.
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
		if len(b.committed)+len(b.replaced) == 0 {
			return store.Change{}, errUnchanged
		}
		done.Changed = true
		c = store.Change{Restore: keysOf(b.replaced)}
		if op != "restore" {
			b.ownArguments()
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

// target is one part that was named.
type target struct {
	Targeted
	message *session.Message
	part    *session.Part
	settled bool // there is nothing more to decide
}

func (t *target) refuse(code Code, reason string) {
	t.settled, t.OK, t.Code, t.Reason = true, false, code, reason
}

func (t *target) already(reason string) {
	t.settled, t.OK, t.Code, t.Reason = true, true, Already, reason
}

// resolve finds the parts that are named.
func (b *batch) resolve(names []string) {
	l := b.live
	seen := map[string]string{}
	for _, name := range names {
		t := &target{Targeted: Targeted{Target: name}}
		b.targets = append(b.targets, t)
		t.message, t.part = l.find(strings.TrimSpace(name))
		if t.part == nil {
			reason := "no part has this handle; the list of handles says which there are"
			if near := l.handles.Near(name); near != "" {
				reason = "no part has this handle; the nearest is " + near
			}
			t.refuse(NotFound, reason)
			continue
		}
		t.Part, t.Handle = t.part.ID, l.handles.Of(t.part)
		if first, twice := seen[t.Part]; twice {
			t.already("the same as " + first)
			continue
		}
		seen[t.Part] = name
		if r := b.refuse(t.message, t.part); r != nil && (b.op != "restore" || r.Code == BeforePivot) {
			t.refuse(r.Code, r.Reason)
		}
	}
}

func (b *batch) results() []Targeted {
	all := make([]Targeted, len(b.targets))
	for i, t := range b.targets {
		all[i] = t.Targeted
	}
	return all
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

func (b *batch) distill(targets []*target, summary string) {
	var group []*target
	for _, t := range targets {
		if t.settled {
			continue
		}
		el, elided := b.main(t.part)
		switch {
		case summary == "":
			t.refuse(BadInput, "there is no summary")
		case elided && el.Rule != rule.Distill:
			t.refuse(Already, "it is left out ("+el.Rule+"); restore it first")
		case b.leaned(t, targets):
		default:
			group = append(group, t)
		}
	}
	// The largest part shows the summary.
	size := func(t *target) int { return b.live.facts.Size(t.part).Total() }
	group = b.worthLeaning(group, size)
	if len(group) == 0 {
		return
	}
	carrier := group[0]
	for _, t := range group {
		if size(t) > size(carrier) {
			carrier = t
		}
	}
	before, undecided := b.next, len(b.committed)
	replaced := len(b.replaced)
	saved, again := 0, false
	for _, t := range group {
		_, was := b.main(t.part)
		again = again || was
		elisions, less := b.less(t, b.free(t.part), "a summary stands for it", func(f rule.Field) string {
			if t == carrier {
				return b.marks.Distilled(t.part, f, summary)
			}
			return b.marks.DistilledWith(t.part, f, carrier.part)
		})
		b.take(t, elisions, less)
		saved += less
	}
	if saved > 0 || saved == 0 && again && len(b.committed) > undecided {
		return
	}
	b.next, b.committed = before, b.committed[:undecided]
	b.replaced = b.replaced[:replaced]
	for _, t := range group {
		t.OK, t.Saved = false, 0
		switch {
		case again && saved == 0:
			t.already("it is distilled in these words")
		case again:
			t.refuse(Unprofitable, fmt.Sprintf("the view would grow by %s; restore it first, or write less", tokens(-saved)))
		case saved == 0:
			t.refuse(Unprofitable, "the summary is as large as what it would replace")
		default:
			t.refuse(Unprofitable, fmt.Sprintf("the summary is %s larger than what it would replace", tokens(-saved)))
		}
	}
}

// worthLeaning sorts out the parts of a group that are no larger than the placeholder that would name another part. The largest always stays.
func (b *batch) worthLeaning(group []*target, size func(*target) int) []*target {
	if len(group) < 2 {
		return group
	}
	largest := group[0]
	for _, t := range group {
		if size(t) > size(largest) {
			largest = t
		}
	}
	var kept []*target
	for _, t := range group {
		if t == largest {
			kept = append(kept, t)
			continue
		}
		_, was := b.main(t.part)
		_, saved := b.less(t, b.free(t.part), "", func(f rule.Field) string { return b.marks.DistilledWith(t.part, f, largest.part) })
		if saved <= 0 && !was {
			t.refuse(Unprofitable, "what would stand in its place is as large")
			continue
		}
		kept = append(kept, t)
	}
	return kept
}

func (b *batch) restore() {
	gone := map[rule.Key]bool{}
	for _, t := range b.targets {
		if t.settled {
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

// main is the elision of what a part mainly is, in the ledger that is being made.
func (b *batch) main(p *session.Part) (rule.Elision, bool) {
	for _, el := range b.next.Of(p.ID) {
		if el.Field != rule.Input {
			return el, true
		}
	}
	return rule.Elision{}, false
}

// discarded reports whether anything of a part is discarded.
func (b *batch) discarded(p *session.Part) bool {
	return slices.ContainsFunc(b.next.Of(p.ID), func(el rule.Elision) bool { return el.Rule == rule.Discard })
}

// free is the ledger without what stands on a part that is to be decided anew.
func (b *batch) free(p *session.Part) rule.Ledger {
	var keys []rule.Key
	for _, el := range b.next.Of(p.ID) {
		if el.Rule == rule.Distill || el.Rule == rule.Discard {
			keys = append(keys, el.Key())
		}
	}
	return b.next.Without(keys...)
}

// leaned refuses a target whose summary stands for parts that are not named with it.
func (b *batch) leaned(t *target, with []*target) bool {
	for _, el := range b.next.All() {
		if el.Part == t.Part || !b.marks.LeansOn(el, t.part) {
			continue
		}
		named := false
		for _, other := range with {
			named = named || other.Part == el.Part && !other.settled
		}
		if !named {
			_, p := session.FindPart(b.live.log, el.Part)
			t.refuse(rule.Covers, "its summary stands for "+b.live.handles.Of(p)+" too; name that one with it")
			return true
		}
	}
	return false
}

// less is what would be left out of a target on a ledger without it, and by how much the view would be smaller than it is now.
func (b *batch) less(t *target, ledger rule.Ledger, because string, shown func(rule.Field) string) (elisions []rule.Elision, saved int) {
	l := b.live
	for i, field := range fields(t.part) {
		el := rule.Elision{Part: t.Part, Message: t.message.ID, Field: field, Rule: b.op, Because: because}
		if i == 0 {
			el.Shown = shown(field)
		} else if stripped, ok := b.marks.Stripped(t.part); ok && !ledger.Has(el.Key()) {
			el.Shown, el.Because = stripped, because+", and its long arguments with it"
		} else {
			continue
		}
		next := ledger.With(el)
		el.Saves = l.plainTokens(t.part, ledger) - l.plainTokens(t.part, next)
		if el.Saves <= 0 && (i > 0 || b.op == rule.Discard) {
			continue
		}
		elisions, ledger = append(elisions, el), ledger.With(el)
	}
	return elisions, l.partTokens(t.part, b.next) - l.partTokens(t.part, ledger)
}

// take notes that a target is done.
func (b *batch) take(t *target, elisions []rule.Elision, saved int) {
	// What would be put in the place of its like stays: it belongs to the commit that it came with.
	like := func(a rule.Elision) func(rule.Elision) bool {
		return func(b rule.Elision) bool { return a.Field == b.Field && a.Rule == b.Rule && a.Shown == b.Shown }
	}
	var gone []rule.Elision
	for _, el := range b.next.Of(t.Part) {
		if (el.Rule == rule.Distill || el.Rule == rule.Discard) && !slices.ContainsFunc(elisions, like(el)) {
			gone = append(gone, el)
		}
	}
	standing := b.next.Of(t.Part)
	elisions = slices.DeleteFunc(elisions, func(el rule.Elision) bool { return slices.ContainsFunc(standing, like(el)) })
	b.next = b.next.Without(keysOf(gone)...).With(elisions...)
	b.replaced = append(b.replaced, gone...)
	b.committed = append(b.committed, elisions...)
	t.OK, t.Saved = true, saved
	if n := b.stoodFor(t.Part); n > 0 {
		t.Reason = fmt.Sprintf("%d older parts were left out because it showed them", n)
	}
}

// stoodFor counts the elisions that a part is the reason for.
func (b *batch) stoodFor(part string) (n int) {
	for _, el := range b.next.All() {
		for _, by := range el.Covers() {
			if by == part {
				n++
			}
		}
	}
	return n
}

// ownArguments leaves out the summaries among the arguments of older calls that distilled: they are shown where they belong. Only calls behind the first part
// that goes anyway are taken, so that nothing more of the provider's cache is lost.
func (b *batch) ownArguments() {
	first, newest := len(b.window), lastStep(b.window)
	for _, el := range b.committed {
		first = min(first, b.at[el.Message])
	}
	calls := 0
	for i := first; i < newest; i++ {
		m := &b.window[i]
		for j := range m.Parts {
			p := &m.Parts[j]
			if p.Type != session.ToolPart || call.Name(p.Tool) != rule.ToolDistill || p.State == nil || p.State.Status != session.Completed ||
				b.next.Touches(p.ID) || b.refuse(m, p) != nil {
				continue
			}
			stripped, ok := b.marks.Stripped(p)
			el := rule.Elision{Part: p.ID, Message: m.ID, Field: rule.Input, Rule: rule.Distill, Because: "its summary is shown in the place of what it distilled", Shown: stripped}
			if el.Saves = b.live.plainTokens(p, b.next) - b.live.plainTokens(p, b.next.With(el)); !ok || el.Saves <= 0 {
				continue
			}
			b.next = b.next.With(el)
			b.committed = append(b.committed, el)
			calls++
		}
	}
	if calls > 0 {
		b.notes = append(b.notes, fmt.Sprintf("the arguments of %d older %s calls went with it", calls, rule.ToolDistill))
	}
}

func tokens(n int) string {
	if n == 1 {
		return "1 token"
	}
	return token.Grouped(n) + " tokens"
}
