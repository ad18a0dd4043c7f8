package winnow

import (
	"fmt"

	"github.com/winnowhq/winnow/call"
	"github.com/winnowhq/winnow/quantity"
	"github.com/winnowhq/winnow/rule"
	"github.com/winnowhq/winnow/session"
)

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
			t.refuse(Unprofitable, fmt.Sprintf("the view would grow by %s; restore it first, or write less", quantity.Count(-saved, "token")))
		case saved == 0:
			t.refuse(Unprofitable, "the summary is as large as what it would replace")
		default:
			t.refuse(Unprofitable, fmt.Sprintf("the summary is %s larger than what it would replace", quantity.Count(-saved, "token")))
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
