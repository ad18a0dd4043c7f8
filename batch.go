package winnow

import (
	"fmt"
	"slices"
	"strings"

	"github.com/winnowhq/winnow/rule"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/view"
)

// batch is what deciding about parts by their names needs.
type batch struct {
	engine  *Engine
	live    *live
	window  []session.Message
	at      map[string]int // position in the window of each message
	marks   rule.Window
	asked   int // position in the window of the newest message that the user wrote, -1 without one
	summary bool

	op        string
	targets   []*target
	next      rule.Ledger    // as it will be
	committed []rule.Elision // that make it so
	replaced  []rule.Elision // that stand and will not
	quoted    []string       // parts before the window that will be shown again
	shown     kept           // what is shown so already
	notes     []string
}

func (e *Engine) newBatch(l *live) *batch {
	l.handles.Name(l.log)
	b := &batch{engine: e, live: l, window: l.window(), at: map[string]int{}, asked: -1}
	for i := range b.window {
		b.at[b.window[i].ID] = i
		if b.window[i].Written() {
			b.asked = i
		}
	}
	b.summary, b.shown = view.Pivot(b.window) != nil, keptIn(b.window)
	b.marks = rule.Window{Messages: b.window, Ledger: l.state.Ledger, Pins: l.state.Pins, Facts: l.facts, Guard: e.policy.Guard, Handles: &l.handles}
	return b
}

// target is one part that was named.
type target struct {
	Targeted
	message *session.Message
	part    *session.Part
	settled bool // there is nothing more to decide
}

// refuse says why an agent may not leave out a part, nil when it may.
func (b *batch) refuse(m *session.Message, p *session.Part) *rule.Refusal {
	no := func(code Code, reason string) *rule.Refusal {
		return &rule.Refusal{Code: code, Part: p.ID, Reason: reason}
	}
	at, in := b.at[m.ID]
	switch {
	case !in:
		return no(BeforePivot, "it lies before the last compaction: the summary stands for it")
	case m.IsSummary() || b.summary && at == 0:
		return no(Protected, "it belongs to the summary")
	case b.marks.Pinned(p.ID, m.ID):
		return no(Protected, "it is pinned")
	case isKept(m):
		return no(Protected, "it was restored or pinned; undo that instead")
	case m.Role == session.User && p.Type != session.FilePart:
		return no(Protected, "it is what the user wrote")
	}
	switch p.Type {
	case session.ToolPart:
		if p.State == nil || !p.State.Final() {
			return no(NotFinal, "the call has not ended")
		}
		if why := b.marks.Guard.Stays(p, b.live.facts.Call(p, b.directory(at))); why != "" {
			return no(Protected, why)
		}
	case session.ReasoningPart:
		if at > b.asked {
			return no(Recent, "reasoning stays until the user has written again")
		}
	case session.FilePart:
		if !p.IsMedia() {
			return no(Unprofitable, "it takes no tokens of its own")
		}
	case session.TextPart:
		if p.Ignored {
			return no(Unprofitable, "the model does not see it")
		}
	default:
		return no(BadInput, "it has no content to leave out")
	}
	return nil
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
		if r := b.refuse(t.message, t.part); r != nil && b.op != "restore" {
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

// elision is the one that decides what is shown of a part: of its arguments only when that is all that is elided.
func (b *batch) elision(p *session.Part) (rule.Elision, bool) {
	all := b.live.state.Ledger.Of(p.ID)
	for _, el := range all {
		if el.Field != rule.Input {
			return el, true
		}
	}
	if len(all) > 0 {
		return all[0], true
	}
	return rule.Elision{}, false
}

// directory is the folder in which the calls of a message ran, as the log says it last.
func (b *batch) directory(at int) string {
	for i := at; i >= 0; i-- {
		if p := b.window[i].Path; p != nil && p.Cwd != "" {
			return p.Cwd
		}
	}
	return ""
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

// standing are the elisions of a part, and those of the parts whose summary it shows.
func (l *live) standing(p *session.Part) []rule.Elision {
	l.handles.Name(l.log)
	w := rule.Window{Facts: l.facts, Handles: &l.handles}
	all := l.state.Ledger.Of(p.ID)
	if len(all) == 0 {
		return nil
	}
	for _, el := range l.state.Ledger.All() {
		if el.Part != p.ID && w.LeansOn(el, p) {
			all = append(all, l.state.Ledger.Of(el.Part)...)
		}
	}
	return all
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
