package lab

import (
	"github.com/winnowhq/winnow/plan/policy"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/plan/view"
	"github.com/winnowhq/winnow/session"
)

// before counts the tokens in front of an elision's field.
func (r *run) before(e rule.Elision) int {
	at, ok := r.layout.before(e.Message)
	if !ok {
		return r.layout.total() // it is not sent
	}
	m := &r.window[r.layout.index(e.Message)]
	for j := range m.Parts {
		p := &m.Parts[j]
		size := view.Part(p, r.ledger, r.facts)
		if p.ID != e.Part {
			at += size.Total()
			continue
		}
		switch e.Field {
		case rule.Output, rule.Error:
			at += size.Input
		case rule.Attachments:
			at += size.Input + size.Output
		}
		break
	}
	return at
}

// commit applies elisions before step k.
func (r *run) commit(k int, elisions []rule.Elision) {
	if len(elisions) == 0 {
		return
	}
	r.usage, r.found = session.Usage{}, policy.Found{}
	first := r.layout.total()
	for _, e := range elisions {
		if r.layout.index(e.Message) >= 0 { // messages before the pivot are no longer sent
			first = min(first, r.before(e))
		}
	}
	before := r.layout.total()
	had := r.kept
	r.kept = min(r.kept, r.trace.Base+first)
	for _, e := range r.ledger.Partial(elisions) {
		r.ledger = r.ledger.Without(e.Key())
		r.showInPlace(e, -1)
	}
	r.ledger = r.ledger.With(elisions...)
	event := Event{Step: k, Kind: Committed, N: len(elisions)}
	for _, e := range elisions {
		r.hide(e)
		if r.opts.Detail {
			event.Parts = append(event.Parts, e.Part)
		}
	}
	r.measure(elisions)
	event.Tokens = before - r.layout.total()
	event.Rewritten = max(0, had-r.kept-event.Tokens)
	if r.out.Commits++; r.out.First == 0 {
		r.out.First = k
	}
	r.out.Elided += event.Tokens
	r.out.Rewritten += event.Rewritten
	r.account.Committed()
	r.note(event)
}

// hide marks the items of an elision as hidden. Its placeholder is visible.
func (r *run) hide(e rule.Elision) {
	at, ok := r.trace.parts[e.Part]
	if !ok {
		r.forget(e.Part)
		at = partItems{text: -1, input: -1, output: -1}
	}
	left := r.facts.Count(e.Shown)
	set := func(i int32) {
		if i < 0 || r.hidden[i] {
			return
		}
		r.hidden[i] = true
		r.hides++
		left -= r.remove(i, left)
	}
	switch e.Field {
	case rule.Output, rule.Error:
		set(at.output)
	case rule.Input:
		set(at.input)
	case rule.Text:
		set(at.text)
	case rule.Whole:
		set(at.output)
		set(at.input)
		set(at.text)
	}
	r.showInPlace(e, 1)
}

// showInPlace is show for the placeholder of an elision. The letter elides in the whole log: what
// is before the pivot shows nothing.
func (r *run) showInPlace(e rule.Elision, times int) {
	if r.layout.index(e.Message) >= 0 {
		r.show(e.Shown, times)
	}
}

// remove counts what goes of an item, of which left tokens stay or are shown instead, if it goes
// for the first time. It returns how many of those are in its place.
func (r *run) remove(i int32, left int) int {
	if r.removed[i] {
		return 0
	}
	r.removed[i] = true
	size := r.trace.items[i].tokens
	left = min(left, size)
	r.out.Removed += size - left
	return left
}

// show counts the words of a summary or placeholder as visible; with -1 it removes them again.
func (r *run) show(text string, times int) {
	q := &r.trace.quotes
	rows(text, false, q.short, func(hash uint64, _ int32) {
		if gram, known := q.grams[hash]; known {
			r.visible[gram] += times
		}
	})
}

// measure updates the sizes of messages with new elisions.
func (r *run) measure(elisions []rule.Elision) {
	for _, e := range elisions {
		if i := r.layout.index(e.Message); i >= 0 {
			r.layout.set(i, view.Message(&r.window[i], r.ledger, r.facts))
		}
	}
}
