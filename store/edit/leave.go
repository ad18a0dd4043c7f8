package edit

import (
	"fmt"
	"slices"

	"github.com/winnowhq/winnow/plan/call"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/text/quantity"
)

func (b *batch) discard() {
	for _, t := range b.targets {
		if t.settled {
			continue
		}
		el, elided := mainly(b.next, t.part)
		switch {
		case elided && el.Rule == rule.Discard:
			t.already("it is discarded")
			continue
		case elided && el.Rule != rule.Distill && !el.Partial():
			t.already("it is left out (" + el.Rule + ")")
			continue
		case b.leaned(t, b.targets):
			continue
		}
		elisions, saved := b.less(t, b.free(t.part), "it was discarded by its handle",
			func(f rule.Field) string { return b.marks.Discarded(t.part, f) })
		switch {
		case saved <= 0 && b.discarded(t.part): // its arguments alone were worth it
			t.already("it is discarded")
		case saved <= 0 && !b.leavesText(t.part):
			t.refuse(rule.Unprofitable, "its placeholder would be as large")
		default:
			b.take(t, elisions, saved)
		}
	}
}

// leavesText reports whether a text goes for its content, however short it is.
func (b *batch) leavesText(p *session.Part) bool { return b.words && p.Type == session.TextPart }

func (b *batch) distill(targets []*target, summary string) {
	var group []*target
	for _, t := range targets {
		if t.settled {
			continue
		}
		el, elided := mainly(b.next, t.part)
		switch {
		case summary == "":
			t.refuse(rule.BadInput, "there is no summary")
		case elided && el.Rule != rule.Distill && !el.Partial():
			t.refuse(rule.Already, "it is left out ("+el.Rule+"); restore it first")
		case b.leaned(t, targets):
		default:
			group = append(group, t)
		}
	}
	// The largest part shows the summary.
	size := func(t *target) int { return b.s.Facts.Size(t.part).Total() }
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
	before, undecided := b.next, len(b.Commit)
	replaced := len(b.Replaced)
	saved, again := 0, false
	for _, t := range group {
		el, was := mainly(b.next, t.part)
		again = again || was && !el.Partial()
		elisions, less := b.less(t, b.free(t.part), "a summary stands for it", func(f rule.Field) string {
			if t == carrier {
				return b.marks.Distilled(t.part, f, summary)
			}
			return b.marks.DistilledWith(t.part, f, carrier.part)
		})
		b.take(t, elisions, less)
		saved += less
	}
	if saved > 0 || saved == 0 && again && len(b.Commit) > undecided {
		return
	}
	b.next, b.Commit = before, b.Commit[:undecided]
	b.Replaced = b.Replaced[:replaced]
	for _, t := range group {
		t.OK, t.Saved = false, 0
		switch {
		case again && saved == 0:
			t.already("it is distilled in these words")
		case again:
			t.refuse(rule.Unprofitable, fmt.Sprintf("the view would grow by %s; restore it first, or write less",
				tokens(-saved)))
		case saved == 0:
			t.refuse(rule.Unprofitable, "the summary is as large as what it would replace")
		default:
			t.refuse(rule.Unprofitable, fmt.Sprintf("the summary is %s larger than what it would replace",
				tokens(-saved)))
		}
	}
}

// worthLeaning sorts out the parts of a group that are no larger than the placeholder that would
// name another part. The largest always stays.
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
		_, was := mainly(b.next, t.part)
		_, saved := b.less(t, b.free(t.part), "", func(f rule.Field) string {
			return b.marks.DistilledWith(t.part, f,
				largest.part)
		})
		if saved <= 0 && !was {
			t.refuse(rule.Unprofitable, "its placeholder would be as large")
			continue
		}
		kept = append(kept, t)
	}
	return kept
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
			_, p := session.FindPart(b.s.Log, el.Part)
			t.refuse(rule.Covers, "its summary stands for "+b.s.Handles.Of(p)+" too; name that one with it")
			return true
		}
	}
	return false
}

// ownArguments leaves out the summaries among the arguments of older calls that distilled: they are
// shown where they belong. Only calls behind the first part that goes anyway are taken, so that
// nothing more of the provider's cache is lost.
func (b *batch) ownArguments() {
	first, newest := len(b.window), lastStep(b.window)
	for _, el := range b.Commit {
		first = min(first, b.at[el.Message])
	}
	calls := 0
	for i := first; i < newest; i++ {
		m := &b.window[i]
		for j := range m.Parts {
			p := &m.Parts[j]
			if p.Type != session.ToolPart || call.Name(p.Tool) != rule.ToolDistill || p.State == nil ||
				p.State.Status != session.Completed ||
				b.next.Touches(p.ID) || b.refuse(m, p) != nil {
				continue
			}
			stripped, ok := b.marks.Stripped(p)
			el := rule.Elision{Part: p.ID, Message: m.ID, Field: rule.Input, Rule: rule.Distill,
				Because: "its summary is shown in the place of what it distilled", Shown: stripped}
			if el.Saves = b.plainTokens(p, b.next) - b.plainTokens(p, b.next.With(el)); !ok || el.Saves <= 0 {
				continue
			}
			b.next = b.next.With(el)
			b.Commit = append(b.Commit, el)
			calls++
		}
	}
	if calls > 0 {
		b.Notes = append(b.Notes, fmt.Sprintf("the arguments of %d older %s calls went with it", calls,
			rule.ToolDistill))
	}
}

// fields of a part that go when it is left out.
func fields(p *session.Part) []rule.Field {
	switch p.Type {
	case session.ToolPart:
		if p.State.Status == session.Failed {
			return []rule.Field{rule.Error, rule.Input}
		}
		return []rule.Field{rule.Output, rule.Input}
	case session.ReasoningPart:
		return []rule.Field{rule.Whole}
	case session.FilePart:
		return []rule.Field{rule.Attachments}
	}
	return []rule.Field{rule.Text}
}

// discarded reports whether anything of a part is discarded.
func (b *batch) discarded(p *session.Part) bool {
	return slices.ContainsFunc(b.next.Of(p.ID), func(el rule.Elision) bool { return el.Rule == rule.Discard })
}

// makesRoom reports whether a decision about a part may be replaced.
func makesRoom(el rule.Elision) bool {
	return el.Rule == rule.Distill || el.Rule == rule.Discard || el.Partial()
}

// free is the ledger without the elisions of a part whose decision is replaced.
func (b *batch) free(p *session.Part) rule.Ledger {
	var keys []rule.Key
	for _, el := range b.next.Of(p.ID) {
		if makesRoom(el) {
			keys = append(keys, el.Key())
		}
	}
	return b.next.Without(keys...)
}

// less is what would be left out of a target on a ledger without it, and by how much the view would
// be smaller than it is now.
func (b *batch) less(t *target, ledger rule.Ledger, because string,
	shown func(rule.Field) string) (elisions []rule.Elision, saved int) {
	for i, field := range fields(t.part) {
		el := rule.Elision{Part: t.Part, Message: t.message.ID, Field: field, Rule: b.Op, Because: because}
		if i == 0 {
			el.Shown = shown(field)
		} else if stripped, ok := b.marks.Stripped(t.part); ok && !ledger.Has(el.Key()) {
			el.Shown, el.Because = stripped, because+", and its long arguments with it"
		} else {
			continue
		}
		next := ledger.With(el)
		el.Saves = b.plainTokens(t.part, ledger) - b.plainTokens(t.part, next)
		if el.Saves <= 0 && (i > 0 || b.Op == rule.Discard) && !b.leavesText(t.part) {
			continue
		}
		elisions, ledger = append(elisions, el), ledger.With(el)
	}
	return elisions, b.shownTokens(t.part, b.next) - b.shownTokens(t.part, ledger)
}

// take notes that a target is done.
func (b *batch) take(t *target, elisions []rule.Elision, saved int) {
	// What would be put in the place of its like stays: it belongs to the commit that it came with.
	like := func(a rule.Elision) func(rule.Elision) bool {
		return func(b rule.Elision) bool { return a.Field == b.Field && a.Rule == b.Rule && a.Shown == b.Shown }
	}
	var gone []rule.Elision
	for _, el := range b.next.Of(t.Part) {
		if makesRoom(el) && !slices.ContainsFunc(elisions, like(el)) {
			gone = append(gone, el)
		}
	}
	standing := b.next.Of(t.Part)
	elisions = slices.DeleteFunc(elisions, func(el rule.Elision) bool {
		return slices.ContainsFunc(standing,
			like(el))
	})
	b.next = b.next.Without(keysOf(gone)...).With(elisions...)
	b.Replaced = append(b.Replaced, gone...)
	b.Commit = append(b.Commit, elisions...)
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

func tokens(n int) string {
	if n == 1 {
		return "1 token"
	}
	return quantity.Number(n) + " tokens"
}

// lastStep is the position of the newest message of the assistant, -1 without one.
func lastStep(log []session.Message) int {
	for i := len(log) - 1; i >= 0; i-- {
		if log[i].Role == session.Assistant {
			return i
		}
	}
	return -1
}
