package claudecode

import (
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/rule"
)

// target is an elision and the block of an entry in which it shows.
type target struct {
	block   int
	elision rule.Elision
}

// targets sorts a ledger by the entries in which its elisions show. A tool part that is left out altogether shows in two.
func targets(ledger rule.Ledger, places map[string]place, skip func(rule.Elision) bool) map[int][]target {
	found := map[int][]target{}
	for _, e := range ledger.All() {
		p, known := places[e.Part]
		if !known || skip(e) {
			continue
		}
		inResult := p.result >= 0 && (e.Field == rule.Output || e.Field == rule.Error || e.Field == rule.Attachments || e.Field == rule.Whole)
		if inResult {
			found[p.result] = append(found[p.result], target{p.answer, e})
		}
		if !inResult || e.Field == rule.Whole {
			found[p.entry] = append(found[p.entry], target{p.block, e})
		}
	}
	return found
}

// stands reports whether exactly these elisions are in the entry already.
func stands(e *entry, wanted []target) bool {
	var have []rule.Elision
	if e.marks != nil {
		have = e.marks.Elisions
	}
	return slices.EqualFunc(have, wanted, func(a rule.Elision, b target) bool { return a == b.elision })
}

// show returns the entry's line with these elisions in place, and what it had instead beside them.
func (s *scanner) show(e *entry, wanted []target) ([]byte, error) {
	m := &marks{}
	if e.marks != nil {
		m.Message = e.marks.Message
	}
	blocks := s.blocks(e.content)
	var shown [][]byte
	for at := range blocks {
		b := &blocks[at]
		text := b.raw
		if own := slices.DeleteFunc(slices.Clone(wanted), func(t target) bool { return t.block != at }); len(own) > 0 {
			text = s.elided(b, own)
		}
		if text != nil {
			shown = append(shown, text)
		}
	}
	for _, t := range wanted {
		m.Elisions = append(m.Elisions, t.elision)
	}
	if len(m.Elisions) == 0 || len(e.content) == 0 {
		return e.raw, nil
	}
	m.Content = e.content
	content := list(shown)
	if e.content[0] == '"' && len(shown) == 1 {
		content = shown[0]
	}
	return marked(e.raw, e, content, m)
}

// elided is a block with elisions applied in their order, nil when nothing of it is left.
func (s *scanner) elided(b *block, wanted []target) []byte {
	switch b.kind {
	case "tool_use":
		input := []byte(nil)
		for _, t := range wanted {
			switch t.elision.Field {
			case rule.Input:
				input = argument(t.elision.Shown)
			case rule.Whole:
				input = []byte("{}")
			}
		}
		return replace(b.raw, b.input, input)
	case "tool_result":
		text, _ := s.result(b.content)
		for _, t := range wanted {
			switch t.elision.Field {
			case rule.Attachments:
				text = strings.TrimPrefix(text+"\n"+t.elision.Shown, "\n")
			case rule.Output, rule.Error, rule.Whole:
				text = t.elision.Shown
			}
		}
		return replace(b.raw, b.content, quoted(text))
	}
	// A text, a thought or a file: what is shown is text. A signature would not fit it.
	shown := wanted[len(wanted)-1].elision.Shown
	switch {
	case shown == "":
		return nil
	case b.raw[0] == '"':
		return quoted(shown)
	}
	return textBlock(shown)
}

// argument is the text itself where it is a JSON object, else an object that holds it.
func argument(text string) []byte {
	if v := jsontext.Value(text); v.Kind() == '{' && v.IsValid() {
		return oneLine(v)
	}
	o := &object{}
	o.add("elided", text)
	return o.close()
}

// replace puts another value in the place of a piece of the whole; without either it stays as it is.
func replace(whole, piece, value []byte) []byte {
	if len(piece) == 0 || value == nil {
		return whole
	}
	from := at(whole, piece)
	text := make([]byte, 0, len(whole)+len(value)-len(piece))
	text = append(text, whole[:from]...)
	text = append(text, value...)
	return append(text, whole[from+len(piece):]...)
}
