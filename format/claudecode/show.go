package claudecode

import (
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/format/internal/entries"
	"github.com/winnowhq/winnow/format/internal/jsonl"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/text/span"
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
// silent says that nothing of its message is shown, in any entry.
func (e *entry) show(wanted []target, silent bool) ([]byte, error) {
	if len(wanted) == 0 {
		return e.raw, nil
	}
	m := &marks{}
	if e.marks != nil {
		m.Message, m.Copy = e.marks.Message, e.marks.Copy
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
	if len(shown) == 0 && silent {
		shown = [][]byte{blank}
	}
	value := span.Array(shown)
	if content[0] == '"' && len(shown) == 1 {
		value = shown[0]
	}
	return m.on(span.Replace(e.raw, e.Message.Content, value))
}

// blank is shown in the place of an answer of which nothing is left. The product sends none of it,
// as it sends none of an answer that is reasoning alone; in the place of an empty list it would
// send that there is no content.
var blank = textBlock("\n")

// silent reports whether nothing of an answer is shown.
func silent(m *session.Message, ledger rule.Ledger) bool {
	for i := range m.Parts {
		p := &m.Parts[i]
		gone := slices.ContainsFunc(ledger.Of(p.ID), func(e rule.Elision) bool {
			return e.Shown == "" && (e.Field == rule.Text || e.Field == rule.Whole)
		})
		if p.Type == session.ToolPart || !gone {
			return false
		}
	}
	return m.Role == session.Assistant && len(m.Parts) > 0
}

// elided is a block with elisions applied in their order, nil if nothing of it is left.
func (b *block) elided(wanted []target) []byte {
	switch b.Kind {
	case "tool_use":
		call := b.raw
		for _, t := range wanted {
			switch t.elision.Field {
			case rule.Input:
				call = span.Update(call, jsonl.OneLine(jsonl.Argument(t.elision.Shown)), "input")
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

// marks is the member "winnow" of an entry, which the product carries along and does not look at.
type marks struct {
	// Elisions that are in the entry's content.
	Elisions []rule.Elision `json:"elisions,omitempty"`
	// Content is message.content as it was before them, to the byte.
	Content jsontext.Value `json:"content,omitzero"`
	// Message is the message that the engine made and the entry stands for, if the product's own
	// form cannot hold all of it.
	Message *session.Message `json:"message,omitzero"`
	// Copy is the uuid of the entry that this one repeats: a plugin of the product's handed it back
	// in a compaction, and the product gave it a new uuid.
	Copy string `json:"copy,omitzero"`
	// Mirror is on a boundary behind which everything is repeated and nothing was folded.
	Mirror bool `json:"mirror,omitzero"`
}

// readMarks reads the member; anything in it that is not understood is as if it were not there.
func readMarks(value []byte) *marks {
	m := entries.ReadMark[marks](value)
	if m == nil {
		m = readEach(value)
	}
	if m.Message != nil && m.Message.ID == "" {
		m.Message = nil
	}
	if m.Elisions == nil && m.Content == nil && m.Message == nil && m.Copy == "" && !m.Mirror {
		return nil
	}
	return m
}

// readEach reads what is understood of marks of which something is not.
func readEach(value jsontext.Value) *marks {
	var m marks
	for member := range span.Members(value, span.Span{End: len(value)}) {
		alone, text := m, fmt.Appendf(nil, "{%s:%s}", member.Key.Of(value), member.Value.Of(value))
		if json.Unmarshal(text, &alone, session.ReadOptions()) == nil {
			m = alone
		}
	}
	return &m
}

// on returns a line with these marks as its member "winnow".
func (m *marks) on(line []byte) ([]byte, error) {
	rest := *m
	if m.Content != nil {
		rest.Content = jsontext.Value("0") // an encoder would write its strings anew
	}
	value, err := json.Marshal(rest, session.ReadOptions())
	if err != nil {
		return nil, err
	}
	if m.Content != nil {
		value = span.Update(value, m.Content, "content")
	}
	return span.Set(line, "", value, "winnow"), nil
}

// unmark takes our own marks off an entry: it becomes what it was without our elisions.
func (e *entry) unmark() {
	if e.Winnow.Empty() {
		return
	}
	if e.marks = readMarks(e.of(e.Winnow)); e.marks == nil || e.marks.Elisions == nil {
		return
	}
	line := e.raw
	if e.marks.Content != nil {
		line = span.Update(line, e.marks.Content, "message", "content")
	}
	line = span.Remove(line, false, "winnow")
	var err error
	if e.marks.Message != nil || e.marks.Copy != "" {
		line, err = (&marks{Message: e.marks.Message, Copy: e.marks.Copy}).on(line)
	}
	// If the original is damaged, what is shown counts.
	if before, failed := parse(line); err == nil && failed == nil {
		before.line, before.whole, before.at, before.marks = e.line, e.whole, e.at, e.marks
		*e = before
	}
}
