package pi

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/format/internal/entries"
	"github.com/winnowhq/winnow/format/internal/jsonl"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/text/span"
)

// elide writes a file with the elisions of a ledger, and no others: what an entry shows is changed,
// and its original kept beside it.
func elide(src []byte, ledger rule.Ledger) ([]byte, error) {
	if ledger.Len() == 0 && !bytes.Contains(src, []byte(`"elisions"`)) {
		return src, nil
	}
	doc, err := Format{}.Read(src)
	if err != nil {
		return nil, err
	}
	f := doc.Native.(*file)
	wants := f.Wants(ledger)
	var edits []span.Edit
	for i := range f.lines {
		e := &f.lines[i]
		if len(wants[i]) == 0 && e.Winnow.Empty() {
			continue
		}
		text, err := e.show(f.indexed(wants[i]))
		if err != nil {
			return nil, fmt.Errorf("%s: line %d: %w", Name, e.line, err)
		}
		edits = append(edits, span.Edit{Span: e.json, With: text})
	}
	return span.Splice(src, edits...), nil
}

// indexed notes where the parts are: ids of parts change when the product rewrites an old file.
func (f *file) indexed(wants []entries.Want) []entries.Want {
	for i := range wants {
		w := &wants[i]
		at := f.Parts[w.Part.ID]
		m := &f.Session.Messages[at.Message]
		index := slices.IndexFunc(m.Parts, func(p session.Part) bool { return p.ID == w.Part.ID })
		w.Index, w.Answer = &index, m.IsSummary() && f.lines[at.Part.Entry].Kind == compactionEntry
	}
	return wants
}

// show returns the entry's JSON with exactly these elisions.
func (e *entry) show(wants []entries.Want) ([]byte, error) {
	m := e.mark()
	if m == nil && len(wants) == 0 || m.Shows(wants) {
		return e.text, nil
	}
	member := e.replaceable()
	original := jsontext.Value(span.Find(e.text, span.All(e.text), member).Of(e.text))
	text := e.text
	if m == nil {
		text = span.Remove(text, false, "winnow") // not ours
	} else if len(m.Original) > 0 {
		original = m.Original
	}
	value := original
	if len(wants) > 0 {
		var err error
		if value, err = e.shown(original, wants); err != nil {
			return nil, err
		}
	}
	text = span.Update(text, value, member)
	if bytes.Equal(value, original) {
		original = nil
	}
	text = entries.WithElisions(text, wants, original, "winnow")
	if span.Bare(span.Get(text, "winnow")) {
		text = span.Remove(text, false, "winnow")
	}
	return text, nil
}

// shown is the value of the entry's member with elisions applied.
func (e *entry) shown(original jsontext.Value, want []entries.Want) (jsontext.Value, error) {
	switch e.Kind {
	case branchEntry:
		return span.Quote(want[len(want)-1].Shown), nil
	case customMessageEntry:
		return shownContent(original, want)
	case messageEntry:
	default:
		return original, nil
	}
	full, ok := e.restored(original)
	if !ok || full.Message == nil {
		return original, nil
	}
	content, err := span.Find(original, span.All(original), "content").Of(original), error(nil)
	switch m := full.Message; {
	case m.Role == shellRole:
		shown := []newBlock{text(want[len(want)-1].Shown)}
		return jsonl.Marshal(newMessage{Role: userRole, Content: shown, Timestamp: m.Timestamp.orZero()}), nil
	case len(content) == 0:
		return original, nil
	case m.Role == resultRole:
		content, err = shownResult(content, want)
	default:
		content, err = shownContent(content, want)
	}
	return span.Update(original, content, "content"), err
}

// shownResult is the content of a tool result with elisions applied.
func shownResult(content []byte, want []entries.Want) ([]byte, error) {
	blocks := entries.Blocks(content)
	for _, w := range want {
		if w.Field == rule.Attachments {
			blocks = slices.DeleteFunc(blocks, func(b []byte) bool { return kindOf(b) == imageBlock })
			if w.Shown == "" {
				continue
			}
		} else {
			blocks = nil
		}
		b, err := json.Marshal(text(w.Shown), session.ReadOptions())
		if err != nil {
			return nil, err
		}
		blocks = append(blocks, b)
	}
	return span.Array(blocks), nil
}

// shownContent is the content of any other message with elisions applied. A block that shows
// nothing any more is left out.
func shownContent(content []byte, want []entries.Want) ([]byte, error) {
	blocks := entries.Blocks(content)
	for _, w := range want {
		if w.Block < 0 || w.Block >= len(blocks) || blocks[w.Block] == nil {
			continue
		}
		b := &blocks[w.Block]
		kind := kindOf(*b)
		switch {
		case kind == callBlock && w.Field == rule.Input:
			*b = span.Update(*b, jsonl.Argument(w.Shown), "arguments")
		case kind == callBlock && w.Field == rule.Whole:
			*b = span.Update(*b, []byte("{}"), "arguments")
		case kind == callBlock:
		case w.Shown == "":
			*b = nil
		default:
			block := text(w.Shown)
			if kind == thinkingBlock && w.Field == rule.Text { // a signature would not be true of it any more
				block = newBlock{Type: thinkingBlock, Thinking: &w.Shown}
			}
			changed, err := json.Marshal(block, session.ReadOptions())
			if err != nil {
				return nil, err
			}
			*b = changed
		}
	}
	return span.Array(slices.DeleteFunc(blocks, func(b []byte) bool { return b == nil })), nil
}

func kindOf(block []byte) string {
	return span.String(span.Find(block, span.All(block), "type").Of(block))
}
