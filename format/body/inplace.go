package body

import (
	"cmp"
	"maps"
	"slices"

	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/text/span"
)

// inPlace remembers the edits with which a ledger was spliced into a body, so that a body that goes
// on with it costs what is new. The zero value knows of nothing.
type inPlace struct {
	ledger   rule.Ledger
	messages int         // that were looked at
	edits    []span.Edit // in their order
}

// upTo is what holds of a body up to the end of its first messages.
func (k inPlace) upTo(messages, end int) inPlace {
	if messages < k.messages {
		at, _ := slices.BinarySearchFunc(k.edits, end, func(e span.Edit, end int) int {
			return cmp.Compare(e.Start, end)
		})
		k.messages, k.edits = messages, k.edits[:at]
	}
	return k
}

// of is the body with the elisions of a change that folds nothing and adds nothing; ok is false
// where that has to be done another way.
func (k *inPlace) of(p *plan) (edited []byte, ok bool) {
	d := p.Decoded
	if span.Kind(d.List.Of(d.Text)) != '[' {
		return nil, false
	}
	if !k.ledger.Equal(p.change.Ledger) {
		*k = inPlace{ledger: p.change.Ledger}
	}
	p.elide(d.Messages[k.messages:])
	if p.gone[0] {
		*k = inPlace{}
		clear(p.edits)
		clear(p.blocks)
		clear(p.gone)
		return nil, false
	}
	elements := map[int]bool{}
	for i := range p.edits {
		elements[i] = true
	}
	for i := range p.blocks {
		elements[i] = true
	}
	for i := range p.gone {
		elements[i] = true
	}
	var edits []span.Edit
	for _, i := range slices.Sorted(maps.Keys(elements)) {
		if p.gone[i] {
			edits = append(edits, span.Edit{Span: span.Span{Start: d.Elements[i-1].End, End: d.Elements[i].End}})
			continue
		}
		edits = append(append(edits, p.edits[i]...), p.removeBlocks(i, p.blocks[i])...)
	}
	k.messages, k.edits = len(d.Messages), append(k.edits, edits...)
	return span.Splice(d.Text, k.edits...), true
}
