package pi

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/format/internal/jsonl"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/text/span"
)

// wanted is an elision that an entry is to show, with the position of its block in the entry, -1 if
// it has none there.
type wanted struct {
	elided
	block int
}

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
	entries := f.place(doc.Session.Messages, ledger)
	var edits []span.Edit
	for i := range f.entries {
		e := &f.entries[i]
		if len(entries[i]) == 0 && e.Winnow.Empty() {
			continue
		}
		text, err := e.show(entries[i])
		if err != nil {
			return nil, fmt.Errorf("%s: line %d: %w", Name, e.line, err)
		}
		edits = append(edits, span.Edit{Span: e.json, With: text})
	}
	return span.Splice(src, edits...), nil
}

// place finds the entries that the elisions of a ledger change.
func (f *file) place(log []session.Message, ledger rule.Ledger) map[int][]wanted {
	parts := map[string]place{}
	for i := range log {
		for j := range log[i].Parts {
			parts[log[i].Parts[j].ID] = place{i, j}
		}
	}
	entries := map[int][]wanted{}
	for order, e := range ledger.All() {
		at, ok := parts[e.Part]
		if !ok {
			continue
		}
		want := wanted{elided{Elision: e, Index: at.part, Order: order}, at.part}
		want.Answer = log[at.message].IsSummary() && f.entries[f.owner[log[at.message].ID]].Kind == compactionEntry
		if from, ok := f.from[at.message]; ok {
			want.block = -1
			if at.part < len(from) {
				want.block = from[at.part]
			}
		}
		native := place{at.message, want.block}
		holder, block := f.holder(&log[at.message], native)
		want.block = block
		result, ended := f.results[native]
		inCall, inResult := jsonl.Shows(e.Field, ended)
		if inCall {
			entries[holder] = append(entries[holder], want)
		}
		if inResult {
			entries[result] = append(entries[result], want)
		}
	}
	return entries
}

// holder finds the entry that holds a part as a block, and the position of the block there.
func (f *file) holder(m *session.Message, p place) (entry, block int) {
	at := f.owner[m.ID]
	block = p.part
	for _, next := range f.more[p.message] {
		n := 0
		if f.entries[at].Message != nil {
			n = len(f.entries[at].Message.Content)
		}
		if block < n {
			break
		}
		block -= n
		at = next
	}
	return at, block
}

// show returns the entry's JSON with exactly these elisions.
func (e *entry) show(want []wanted) ([]byte, error) {
	m := &mark{}
	if !e.Winnow.Empty() {
		if m = readMark(e.Winnow.Of(e.text)); m == nil {
			if len(want) == 0 {
				return e.text, nil // not a mark of ours
			}
			m = &mark{}
		}
	}
	if e.shows(m.Elisions, want) {
		return e.text, nil
	}
	member := e.replaceable()
	original := jsontext.Value(span.Find(e.text, span.All(e.text), member).Of(e.text))
	if len(m.Original) > 0 {
		original = m.Original
	}
	value := original
	m.Elisions, m.Original = nil, nil
	for _, w := range want {
		m.Elisions = append(m.Elisions, w.elided)
	}
	if len(want) > 0 {
		var err error
		if value, err = e.shown(original, want); err != nil {
			return nil, err
		}
		if !bytes.Equal(value, original) {
			m.Original = original
		}
	}
	text := span.Update(e.text, value, member)
	if m.empty() {
		return span.Remove(text, false, "winnow"), nil
	}
	kept := m.Original
	m.Original = nil
	winnow, err := json.Marshal(m, session.ReadOptions())
	if err != nil {
		return nil, err
	}
	if len(kept) > 0 { // byte for byte: an encoder would write its strings anew
		winnow = span.Set(winnow, "", kept, "original")
	}
	return span.Set(text, "", winnow, "winnow"), nil
}

// shows reports whether a mark has exactly the elisions that are wanted.
func (e *entry) shows(has []elided, want []wanted) bool {
	if len(has) != len(want) {
		return false
	}
	for i, h := range has {
		h.Part, h.Message = want[i].Part, want[i].Message // ids may have changed with the product's rewriting
		if e.Message != nil && e.Message.Role == resultRole {
			h.Index = want[i].Index
		}
		if h != want[i].elided {
			return false
		}
	}
	return true
}

// shown is the value of the entry's member with elisions applied.
func (e *entry) shown(original jsontext.Value, want []wanted) (jsontext.Value, error) {
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
func shownResult(content []byte, want []wanted) ([]byte, error) {
	blocks := elements(content)
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
func shownContent(content []byte, want []wanted) ([]byte, error) {
	blocks := elements(content)
	for _, w := range want {
		if w.block < 0 || w.block >= len(blocks) || blocks[w.block] == nil {
			continue
		}
		b := &blocks[w.block]
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

// elements are the blocks of a content; a text is one block. What is not an object the reader drops
// as well.
func elements(content []byte) (blocks [][]byte) {
	if span.Kind(content) == '"' {
		return [][]byte{slices.Concat([]byte(`{"type":"text","text":`), content, []byte{'}'})}
	}
	for at := range span.Values(content, span.All(content)) {
		if v := at.Of(content); v[0] == '{' {
			blocks = append(blocks, v)
		}
	}
	return blocks
}

func kindOf(block []byte) string {
	return span.String(span.Find(block, span.All(block), "type").Of(block))
}
