package body

import (
	"bytes"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/plan/view"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/text/span"
	"github.com/winnowhq/winnow/wire"
)

// plan turns a change into a new body. What concerns one element is collected first, so that its
// bytes are written once.
type plan struct {
	*Native
	change format.Change
	window window

	edits  map[int][]span.Edit // by element
	blocks map[int][]span.Span // blocks that are taken out, by element
	gone   map[int]bool        // elements that are taken out
}

// body is the body with the change in it.
func (p *plan) body() ([]byte, error) {
	d := p.Decoded
	if p.window.summary == "" && len(p.window.messages) == len(d.Messages) {
		if edited, ok := p.inPlace.of(p); ok {
			return edited, nil
		}
	}
	var added []session.Message
	first := 0 // the first message of the body that stays
	if p.window.summary != "" {
		first = len(d.Messages)
	}
	at := -1
	for i := range p.window.messages {
		id := p.window.messages[i].ID
		if at++; at >= len(d.Messages) || d.Messages[at].ID != id {
			at = session.Index(d.Messages, id)
		}
		if at >= 0 {
			first = min(first, at)
		} else {
			added = append(added, p.window.messages[i])
		}
	}
	added = view.Render(added, p.change.Ledger)
	p.elide(d.Messages[first:])
	start, kept := 0, 0 // the elements between them are folded
	var summary []session.Message
	if p.window.summary != "" {
		start, kept = leading(d), len(d.Elements)
		if first < len(d.Messages) {
			kept = d.Starts[first]
		}
		p.orphans(first, kept)
		summary = []session.Message{summaryMessage(p.window.summary)}
	}
	if span.Kind(d.List.Of(d.Text)) == '"' { // an input that is one text
		with := p.element(0)
		if len(summary)+len(added) > 0 {
			all := slices.Concat(summary, view.Render(d.Messages[first:], p.change.Ledger), added)
			body, err := p.Dialect.Encode(all, wire.Options{Continues: len(summary) > 0})
			if err != nil {
				return nil, err
			}
			with = span.Array(body.Elements)
		}
		return span.Replace(d.Text, d.List, with), nil
	}
	return p.list(start, kept, summary, added)
}

// list is the body with another list of messages: its elements except for the ones from start up to
// kept, of which the frame stays, a summary behind it, and what was added.
func (p *plan) list(start, kept int, summary, added []session.Message) ([]byte, error) {
	d := p.Decoded
	for p.gone[kept] && summary != nil {
		kept++
	}
	last := len(d.Elements) - 1
	for last >= 0 && p.gone[last] {
		last--
	}
	alone := summary != nil && kept > last // nothing of the body stays but the system prompt
	if alone {
		summary, added = nil, append(summary, added...)
	}
	front, err := p.Dialect.Encode(summary, wire.Options{Continues: true})
	if err != nil {
		return nil, err
	}
	var back wire.Body
	if len(added) > 0 {
		if back, err = p.Dialect.Encode(added, p.options(alone || last >= 0)); err != nil {
			return nil, err
		}
	}
	texts := make([][]byte, len(d.Elements))
	at := start // where the summary goes: behind the frame
	for i := range d.Elements {
		switch {
		case p.gone[i]:
		case i < start || i >= kept:
			texts[i] = p.element(i)
		case p.framed[i] != nil:
			texts[i], at = p.framing(i), i+1
		}
	}
	if into := p.framedUser(start, at); into >= 0 && summary == nil && len(back.Elements) > 0 { // alone
		texts[into] = p.surround(into, texts[into], nil, p.inner(back.Elements[0]))
		back.Elements = back.Elements[1:]
	} else if into >= 0 && len(front.Elements) > 0 {
		texts[into] = p.surround(into, texts[into], nil, p.inner(front.Elements[0]))
		if front.Elements = nil; p.joins(kept, "user") {
			texts[into], texts[kept] = p.surround(into, texts[into], nil, p.content(kept, texts[kept])), nil
		}
	}
	if len(front.Elements) > 0 && p.joins(kept, "user") {
		texts[kept], front.Elements = p.surround(kept, texts[kept], p.inner(front.Elements[0]), nil), nil
	}
	if len(back.Elements) > 0 && !alone && last >= 0 && p.joins(last, role(back.Elements[0])) {
		texts[last], back.Elements = p.surround(last, texts[last], nil, p.inner(back.Elements[0])), back.Elements[1:]
	}

	before := d.List.Start + 1 // where the element before ends
	end := d.List.End - 1
	pieces := append(make([][]byte, 0, 2*len(texts)+4), d.Text[:before])
	begun := false
	put := func(gap, text []byte) {
		switch {
		case !begun && len(d.Elements) > 0:
			gap = d.Text[before:d.Elements[0].Start]
		case !begun:
			gap = nil
		}
		begun = true
		pieces = append(pieces, gap, text)
	}
	gap := func(i int) []byte { // what is before an element
		if i == 0 || i >= len(d.Elements) {
			return comma
		}
		return d.Text[d.Elements[i-1].End:d.Elements[i].Start]
	}
	for i, text := range texts {
		if i == at && len(front.Elements) > 0 {
			put(gap(i), front.Elements[0])
		}
		switch {
		case text == nil:
		case i == kept && len(front.Elements) > 0:
			put(comma, text)
		case i == kept && kept > start:
			put(gap(start), text)
		default:
			put(gap(i), text)
		}
	}
	for i, text := range back.Elements {
		if i == 0 && alone {
			put(gap(start), text)
		} else {
			put(comma, text)
		}
	}
	if n := len(d.Elements); n > 0 {
		if !begun {
			pieces = append(pieces, d.Text[before:d.Elements[0].Start])
		}
		end = d.Elements[n-1].End
	}
	return bytes.Join(append(pieces, d.Text[end:]), nil), nil
}

var comma = []byte{','}

// element is an element with what is shown of it.
func (p *plan) element(i int) []byte {
	e := p.Decoded.Elements[i]
	edits := p.edits[i]
	if len(p.blocks[i]) > 0 {
		edits = append(edits, p.removeBlocks(i, p.blocks[i])...)
	}
	if len(edits) == 0 {
		return e.Of(p.Decoded.Text)
	}
	for j := range edits {
		edits[j].Start, edits[j].End = edits[j].Start-e.Start, edits[j].End-e.Start
	}
	return span.Splice(e.Of(p.Decoded.Text), edits...)
}

// options are for what is written after the body's own messages.
func (p *plan) options(continues bool) wire.Options {
	calls := make(map[string]bool, p.Decoded.ToolCalls)
	for _, m := range p.Decoded.Messages {
		for i := range m.Parts {
			if m.Parts[i].Type == session.ToolPart {
				calls[m.Parts[i].CallID] = true
			}
		}
	}
	return wire.Options{Model: p.Decoded.Model, Continues: continues, Calls: calls}
}

// leading is how many elements belong to the system prompt.
func leading(d *wire.Decoded) int {
	for i, e := range d.Elements {
		if !e.Leading {
			return i
		}
	}
	return len(d.Elements)
}

// orphans takes out results after the cut whose calls are before it.
func (p *plan) orphans(first, kept int) {
	d := p.Decoded
	for i := range d.Messages[:first] {
		for j := range d.Messages[i].Parts {
			part := &d.Messages[i].Parts[j]
			if part.Type != session.ToolPart {
				continue
			}
			if place := d.Places[part.ID]; place.ResultElement >= kept {
				p.remove(place.ResultElement, place.ResultBlock)
			}
		}
	}
}

// remove takes out a block, or the element that is one.
func (p *plan) remove(element int, block span.Span) {
	if block == p.Decoded.Elements[element].Span {
		p.gone[element] = true
	} else {
		p.blocks[element] = append(p.blocks[element], block)
	}
}

// removeBlocks takes blocks out of an element. Where nothing would be left, a line says that
// something was there.
func (p *plan) removeBlocks(element int, blocks []span.Span) []span.Edit {
	d := p.Decoded
	e := d.Elements[element]
	var edits []span.Edit
	var inside []span.Span
	for _, block := range blocks {
		switch {
		case block.Start == block.End: // there is nothing to take out
		case block == e.Content: // a text that is the whole content
			edits = append(edits, span.Edit{Span: block, With: span.Quote(rule.Cleared)})
		case within(block, e.Content):
			inside = append(inside, block)
		default: // a member beside the content, which holds reasoning
			edits = append(edits, span.Edit{Span: block, With: []byte(`""`)})
		}
	}
	for v := range span.Values(d.Text, e.Content) {
		if !slices.Contains(inside, v) {
			return append(edits, removeFrom(d.Text, e.Content, inside)...)
		}
	}
	if len(inside) > 0 {
		cleared := span.Array([]jsontext.Value{p.Dialect.Block(e.Role, rule.Cleared)})
		edits = append(edits, span.Edit{Span: e.Content, With: cleared})
	}
	return edits
}

func within(inner, outer span.Span) bool { return inner.Start >= outer.Start && inner.End <= outer.End }

// removeFrom takes values out of a list with the commas that go with them.
func removeFrom(text []byte, list span.Span, values []span.Span) []span.Edit {
	if len(values) == 0 {
		return nil
	}
	gone := make(map[span.Span]bool, len(values))
	for _, v := range values {
		gone[v] = true
	}
	all := slices.Collect(span.Values(text, list))
	var edits []span.Edit
	kept := false
	for i, v := range all {
		switch {
		case !gone[v]:
			kept = true
		case kept:
			edits = append(edits, span.Edit{Span: span.Span{Start: all[i-1].End, End: v.End}})
		case i+1 < len(all):
			edits = append(edits, span.Edit{Span: span.Span{Start: v.Start, End: all[i+1].Start}})
		default:
			edits = append(edits, span.Edit{Span: v})
		}
	}
	return edits
}

// joins reports whether blocks of this role have to go into an element instead of beside it.
func (p *plan) joins(element int, role string) bool {
	e := p.Decoded.Elements[element]
	kind := span.Kind(e.Content.Of(p.Decoded.Text))
	return p.Dialect.Merges && e.Role == role && (kind == '"' || kind == '[')
}

func role(element jsontext.Value) string { return wire.ValueOf(element).Get("role").String() }

// framedUser is the last element of the frame, from start up to end, that the user's next words
// must go into, -1 if they may stand beside it.
func (p *plan) framedUser(start, end int) int {
	for i := end - 1; i >= start; i-- {
		if p.framed[i] != nil && p.joins(i, "user") {
			return i
		}
	}
	return -1
}

// content is the content of an element as blocks. A text becomes a block.
func (p *plan) content(element int, text []byte) []byte {
	if content := p.Dialect.of(text); content.Kind() == '"' {
		return p.Dialect.Block(p.Decoded.Elements[element].Role, content.String())
	}
	return p.inner(text)
}

// inner is what is between the brackets of an element's content.
func (p *plan) inner(element jsontext.Value) []byte {
	content := p.Dialect.of(element).Bytes()
	return content[1 : len(content)-1]
}

// surround puts blocks before and after the blocks of an element. A content that is a text becomes
// a block.
func (p *plan) surround(element int, text, front, back []byte) []byte {
	content := p.Dialect.of(text)
	if content.Kind() == '"' {
		block := p.Dialect.Block(p.Decoded.Elements[element].Role, content.String())
		with := slices.Concat([]byte{'['}, join(front, block, back), []byte{']'})
		return span.Replace(text, content.Span, with)
	}
	first, last := content.Start+1, content.Start+1
	for v := range content.Values() {
		last = v.End
	}
	return slices.Concat(text[:first], join(front, text[first:last], back), text[last:])
}

// join joins blocks that are there.
func join(blocks ...[]byte) []byte {
	blocks = slices.DeleteFunc(blocks, func(b []byte) bool { return len(b) == 0 })
	return bytes.Join(blocks, comma)
}
