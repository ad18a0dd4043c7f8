package claudecode

import (
	"slices"
	"strings"

	"github.com/winnowhq/winnow/format/internal/jsonl"
	"github.com/winnowhq/winnow/format/internal/span"
	"github.com/winnowhq/winnow/rule"
)

// target is an elision and the block of an entry in which it shows.
type target struct {
	block   int
	elision rule.Elision
}

// targets sorts a ledger by the entries in which its elisions show. A tool part that is left out
// altogether shows in two.
func targets(ledger rule.Ledger, places map[string]place, skip func(rule.Elision) bool) map[int][]target {
	found := map[int][]target{}
	for _, e := range ledger.All() {
		p, known := places[e.Part]
		if !known || skip(e) {
			continue
		}
		call, result := jsonl.Shows(e.Field, p.result >= 0)
		if result {
			found[p.result] = append(found[p.result], target{p.answer, e})
		}
		if call {
			found[p.entry] = append(found[p.entry], target{p.block, e})
		}
	}
	return found
}

// stands reports whether the entry shows exactly what the ledger wants of it: everything that it
// should, and nothing that the ledger no longer has.
func stands(e *entry, wanted []target, ledger rule.Ledger) bool {
	var have []rule.Elision
	if e.marks != nil {
		have = e.marks.Elisions
	}
	for _, elision := range have {
		if !slices.Contains(ledger.Of(elision.Part), elision) {
			return false
		}
	}
	for _, t := range wanted {
		if !slices.Contains(have, t.elision) {
			return false
		}
	}
	return true
}

// show returns the entry's line with these elisions in place, and what it had instead beside them.
func (e *entry) show(wanted []target) ([]byte, error) {
	if len(wanted) == 0 {
		return e.raw, nil
	}
	m := &marks{}
	if e.marks != nil {
		m.Message = e.marks.Message
	}
	for _, t := range wanted {
		m.Elisions = append(m.Elisions, t.elision)
	}
	content := e.content()
	if len(content) == 0 {
		return m.on(e.raw) // what the product injects has a form of its own for each kind: it is only noted
	}
	m.Content = content
	var shown [][]byte
	for at, b := range blocks(content) {
		text := b.raw
		own := slices.DeleteFunc(slices.Clone(wanted), func(t target) bool { return t.block != at })
		if len(own) > 0 {
			text = b.elided(own)
		}
		if text != nil {
			shown = append(shown, text)
		}
	}
	value := span.Array(shown)
	if content[0] == '"' && len(shown) == 1 {
		value = shown[0]
	}
	return m.on(span.Replace(e.raw, e.Message.Content, value))
}

// elided is a block with elisions applied in their order, nil if nothing of it is left.
func (b *block) elided(wanted []target) []byte {
	switch b.Kind {
	case "tool_use":
		call := b.raw
		for _, t := range wanted {
			switch t.elision.Field {
			case rule.Input:
				call = span.Update(call, oneLine(jsonl.Argument(t.elision.Shown)), "input")
			case rule.Whole:
				call = span.Update(call, []byte("{}"), "input")
			}
		}
		return call
	case "tool_result":
		text, _ := result(b.Content.Of(b.raw))
		for _, t := range wanted {
			switch t.elision.Field {
			case rule.Attachments:
				text = strings.TrimPrefix(text+"\n"+t.elision.Shown, "\n")
			case rule.Output, rule.Error, rule.Whole:
				text = t.elision.Shown
			}
		}
		return span.Update(b.raw, span.Quote(text), "content")
	}
	// A text, a thought or a file: what is shown is text. A signature would not fit it.
	shown := wanted[len(wanted)-1].elision.Shown
	switch {
	case shown == "":
		return nil
	case b.raw[0] == '"':
		return span.Quote(shown)
	}
	return textBlock(shown)
}
