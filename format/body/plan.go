package body

import (
	"bytes"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/rule"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/view"
	"github.com/winnowhq/winnow/wire"
)

// plan turns a change into edits of a body. What concerns one element is collected first, so that no two edits overlap.
type plan struct {
	*Native
	change format.Change
	window window

	replace []wire.Edit
	blocks  map[int][]wire.Span // blocks that are taken out, by element
	gone    map[int]bool        // elements that are taken out
	around  map[int]*surround   // blocks that are put into an element
}

// surround is what stands before and behind the blocks of an element.
type surround struct{ front, back []byte }

func (p *plan) edits() ([]wire.Edit, error) {
	d := p.Decoded
	read := make(map[string]int, len(d.Messages))
	for i := range d.Messages {
		read[d.Messages[i].ID] = i
	}
	var added []session.Message
	first := 0 // the first message of the body that stays
	if p.window.summary != "" {
		first = len(d.Messages)
	}
	for i := range p.window.messages {
		if at, ok := read[p.window.messages[i].ID]; ok {
			first = min(first, at)
		} else {
			added = append(added, p.window.messages[i])
		}
	}
	added = view.Render(added, p.change.Ledger)
	p.elide(first)
	var err error
	if p.window.summary == "" {
		p.remove(0)
		err = p.append(added)
	} else {
		err = p.fold(first, added)
	}
	p.put()
	return p.replace, err
}

// options are those for what is written behind the body's own messages.
func (p *plan) options(continues bool) wire.Options {
	calls := make(map[string]bool, p.Decoded.ToolCalls)
	for i := range p.Decoded.Messages {
		for j := range p.Decoded.Messages[i].Parts {
			if part := &p.Decoded.Messages[i].Parts[j]; part.Type == session.ToolPart {
				calls[part.CallID] = true
			}
		}
	}
	return wire.Options{Model: p.Decoded.Model, Continues: continues, Calls: calls}
}

// leading is how many elements belong to the system prompt.
func (p *plan) leading() int {
	n := slices.IndexFunc(p.Decoded.Elements, func(e wire.Element) bool { return !e.Leading })
	if n < 0 {
		return len(p.Decoded.Elements)
	}
	return n
}

// fold puts the summary in place of everything before message first.
func (p *plan) fold(first int, added []session.Message) error {
	d := p.Decoded
	start, kept := p.leading(), len(d.Elements)
	if first < len(d.Messages) {
		kept = d.Starts[first]
	}
	p.orphans(first, kept)
	for p.gone[kept] {
		kept++
	}
	summary := summaryMessage(p.window.summary)
	if kept >= len(d.Elements) {
		// Nothing of the body stays but the system prompt: the rest is new.
		elements, _, err := p.Dialect.Encode(append([]session.Message{summary}, added...), p.options(true))
		p.replace, p.around = nil, map[int]*surround{}
		p.replaceFrom(start, elements)
		return err
	}
	p.remove(kept)
	elements, _, err := p.Dialect.Encode([]session.Message{summary}, wire.Options{Continues: true})
	if err != nil {
		return err
	}
	cut := wire.Edit{Span: wire.Span{Start: d.Elements[start].Start, End: d.Elements[kept].Start}}
	if p.joins(kept, "user") {
		p.surround(kept).front = inner(elements[0])
	} else {
		cut.With = slices.Concat(elements[0], []byte{','})
	}
	p.replace = append(p.replace, cut)
	return p.append(added)
}

// orphans takes out results that stand behind the cut while their calls stand before it.
func (p *plan) orphans(first, kept int) {
	d := p.Decoded
	for i := range d.Messages[:first] {
		for j := range d.Messages[i].Parts {
			part := &d.Messages[i].Parts[j]
			if place := d.Places[part.ID]; part.Type == session.ToolPart && place.ResultElement >= kept {
				if place.ResultBlock == d.Elements[place.ResultElement].Span {
					p.gone[place.ResultElement] = true
				} else {
					p.blocks[place.ResultElement] = append(p.blocks[place.ResultElement], place.ResultBlock)
				}
			}
		}
	}
}

// remove takes blocks and elements out, from element kept on.
func (p *plan) remove(kept int) {
	d := p.Decoded
	for at, blocks := range p.blocks {
		if at >= kept && !p.gone[at] {
			p.replace = append(p.replace, p.removeBlocks(at, blocks)...)
		}
	}
	var gone []wire.Span
	for at := range p.gone {
		if at >= kept {
			gone = append(gone, d.Elements[at].Span)
		}
	}
	p.replace = append(p.replace, removeFrom(d.Text, d.List, gone)...)
}

// removeBlocks takes blocks out of an element. Where nothing would be left, a line says that something was there.
func (p *plan) removeBlocks(element int, blocks []wire.Span) []wire.Edit {
	d := p.Decoded
	e := d.Elements[element]
	var edits []wire.Edit
	var inside []wire.Span
	for _, block := range blocks {
		switch {
		case block.Start == block.End: // nothing stands there that could go
		case block == e.Content: // a text that is the whole content
			edits = append(edits, wire.Edit{Span: block, With: wire.Quote(rule.Cleared)})
		case within(block, e.Content):
			inside = append(inside, block)
		default: // a member beside the content, which holds reasoning
			edits = append(edits, wire.Edit{Span: block, With: []byte(`""`)})
		}
	}
	for v := range wire.Values(d.Text, e.Content) {
		if !slices.Contains(inside, v) {
			return append(edits, removeFrom(d.Text, e.Content, inside)...)
		}
	}
	if len(inside) > 0 {
		edits = append(edits, wire.Edit{Span: e.Content, With: slices.Concat([]byte{'['}, p.Dialect.Block(e.Role, rule.Cleared), []byte{']'})})
	}
	return edits
}

func within(inner, outer wire.Span) bool { return inner.Start >= outer.Start && inner.End <= outer.End }

// removeFrom takes values out of a list with the commas that go with them.
func removeFrom(text []byte, list wire.Span, values []wire.Span) []wire.Edit {
	if len(values) == 0 {
		return nil
	}
	gone := make(map[wire.Span]bool, len(values))
	for _, v := range values {
		gone[v] = true
	}
	all := slices.Collect(wire.Values(text, list))
	var edits []wire.Edit
	kept := false
	for i, v := range all {
		switch {
		case !gone[v]:
			kept = true
		case kept:
			edits = append(edits, wire.Edit{Span: wire.Span{Start: all[i-1].End, End: v.End}})
		case i+1 < len(all):
			edits = append(edits, wire.Edit{Span: wire.Span{Start: v.Start, End: all[i+1].Start}})
		default:
			edits = append(edits, wire.Edit{Span: v})
		}
	}
	return edits
}

// replaceFrom puts elements in place of all from start on.
func (p *plan) replaceFrom(start int, elements []jsontext.Value) {
	d := p.Decoded
	array := wire.Array(elements)
	joined := array[1 : len(array)-1]
	var edit wire.Edit
	switch {
	case wire.Kind(d.Text, d.List) == '"': // an input that is one text
		edit = wire.Edit{Span: d.List, With: array}
	case start < len(d.Elements):
		edit = wire.Edit{Span: wire.Span{Start: d.Elements[start].Start, End: d.Elements[len(d.Elements)-1].End}, With: joined}
	case start > 0:
		end := d.Elements[start-1].End
		edit = wire.Edit{Span: wire.Span{Start: end, End: end}, With: slices.Concat([]byte{','}, joined)}
	default:
		edit = wire.Edit{Span: wire.Span{Start: d.List.Start + 1, End: d.List.Start + 1}, With: joined}
	}
	p.replace = append(p.replace, edit)
}

// append writes messages behind those of the body.
func (p *plan) append(added []session.Message) error {
	d := p.Decoded
	last := len(d.Elements) - 1
	for last >= 0 && p.gone[last] {
		last--
	}
	elements, _, err := p.Dialect.Encode(added, p.options(last >= 0))
	if err != nil || len(elements) == 0 {
		return err
	}
	switch {
	case last < 0:
		p.replace = nil
		p.replaceFrom(0, elements)
		return nil
	case wire.Kind(d.Text, d.List) == '"':
		said, _, err := p.Dialect.Encode(view.Render(d.Messages, p.change.Ledger), wire.Options{})
		p.replace = nil
		p.replaceFrom(0, append(said, elements...))
		return err
	}
	if p.joins(last, role(elements[0])) {
		p.surround(last).back = inner(elements[0])
		elements = elements[1:]
	}
	if len(elements) > 0 {
		array := wire.Array(elements)
		end := d.Elements[len(d.Elements)-1].End
		p.replace = append(p.replace, wire.Edit{Span: wire.Span{Start: end, End: end}, With: slices.Concat([]byte{','}, array[1:len(array)-1])})
	}
	return nil
}

// joins reports whether blocks of this role have to go into an element instead of beside it.
func (p *plan) joins(element int, role string) bool {
	e := p.Decoded.Elements[element]
	kind := wire.Kind(p.Decoded.Text, e.Content)
	return p.Dialect.Merges && e.Role == role && (kind == '"' || kind == '[')
}

func role(element jsontext.Value) string {
	return wire.String(element, wire.Member(element, wire.Root(element), "role"))
}

// inner is what stands between the brackets of an element's content.
func inner(element jsontext.Value) []byte {
	content := wire.Member(element, wire.Root(element), "content").Of(element)
	return content[1 : len(content)-1]
}

func (p *plan) surround(element int) *surround {
	if p.around[element] == nil {
		p.around[element] = &surround{}
	}
	return p.around[element]
}

// put writes the blocks that go into elements that are there. A content that is one text, or that another edit replaced,
// is written anew with them.
func (p *plan) put() {
	d := p.Decoded
	for at, s := range p.around {
		e := d.Elements[at]
		content := e.Content.Of(d.Text)
		replaced := slices.IndexFunc(p.replace, func(edit wire.Edit) bool { return edit.Span == e.Content })
		if replaced >= 0 {
			content = p.replace[replaced].With
			p.replace = slices.Delete(p.replace, replaced, replaced+1)
		}
		if content[0] == '"' {
			content = p.Dialect.Block(e.Role, wire.String(content, wire.Span{End: len(content)}))
		} else if replaced >= 0 {
			content = content[1 : len(content)-1]
		} else {
			p.insert(e, s)
			continue
		}
		blocks := slices.DeleteFunc([][]byte{s.front, content, s.back}, func(b []byte) bool { return len(b) == 0 })
		p.replace = append(p.replace, wire.Edit{Span: e.Content, With: slices.Concat([]byte{'['}, bytes.Join(blocks, []byte{','}), []byte{']'})})
	}
}

func (p *plan) insert(e wire.Element, s *surround) {
	put := func(at int, blocks ...[]byte) {
		p.replace = append(p.replace, wire.Edit{Span: wire.Span{Start: at, End: at}, With: slices.Concat(blocks...)})
	}
	values := slices.Collect(wire.Values(p.Decoded.Text, e.Content))
	first, comma := e.Content.Start+1, []byte{','}
	if len(values) == 0 {
		blocks := slices.DeleteFunc([][]byte{s.front, s.back}, func(b []byte) bool { return len(b) == 0 })
		put(first, bytes.Join(blocks, comma))
		return
	}
	if len(s.front) > 0 {
		put(first, s.front, comma)
	}
	if len(s.back) > 0 {
		put(values[len(values)-1].End, comma, s.back)
	}
}
