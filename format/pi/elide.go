package pi

import (
	"bytes"
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/rule"
	"github.com/winnowhq/winnow/session"
)

// wanted is an elision that an entry is to show, with the position of its block in the entry, -1 where it has none there.
type wanted struct {
	elided
	block int
}

// elide writes a file with the elisions of a ledger, and no others: what an entry shows is changed, and its original kept beside it.
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
	out := make([]byte, 0, len(src)+len(src)/8)
	for i := range f.entries {
		e := &f.entries[i]
		line := src[e.start:e.end]
		if len(entries[i]) > 0 || len(e.winnow) > 0 {
			if line, err = e.show(line, entries[i]); err != nil {
				return nil, fmt.Errorf("%s: line %d: %w", Name, e.line, err)
			}
		}
		out = append(out, line...)
	}
	return out, nil
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
		ofResult := e.Field == rule.Output || e.Field == rule.Error || e.Field == rule.Attachments
		if !ended || !ofResult {
			entries[holder] = append(entries[holder], want)
		}
		if ended && (ofResult || e.Field == rule.Whole) {
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
		if f.entries[at].message != nil {
			n = len(f.entries[at].message.content)
		}
		if block < n {
			break
		}
		block -= n
		at = next
	}
	return at, block
}

// show writes a line so that it shows these elisions and no others.
func (e *entry) show(line []byte, want []wanted) ([]byte, error) {
	m := readMark(e.winnow)
	if m == nil {
		if len(e.winnow) > 0 && len(want) == 0 {
			return line, nil // not a mark of ours
		}
		m = &mark{}
	}
	if e.shows(m.Elisions, want) {
		return line, nil
	}
	at := e.at.message
	switch e.replaceable() {
	case "content":
		at = e.at.content
	case "summary":
		at = e.at.summary
	}
	original := jsontext.Value(line[at.start:at.end])
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
	var edits []edit
	if at.len() > 0 {
		edits = append(edits, edit{at, value})
	}
	switch winnow := e.at.winnow; {
	case m.empty():
		if winnow.len() > 0 { // with its name and the comma before it
			start := bytes.LastIndexByte(line[:winnow.start], ':')
			start = bytes.LastIndexByte(line[:start], ',')
			edits = append(edits, edit{span{start, winnow.end}, nil})
		}
	default:
		text, err := json.Marshal(m, session.ReadOptions())
		if err != nil {
			return nil, err
		}
		if winnow.len() == 0 {
			end := bytes.LastIndexByte(line, '}')
			winnow, text = span{end, end}, append([]byte(`,"winnow":`), text...)
		}
		edits = append(edits, edit{winnow, text})
	}
	return splice(line, edits), nil
}

// shows reports whether the elisions of a mark are those that are wanted.
func (e *entry) shows(has []elided, want []wanted) bool {
	if len(has) != len(want) {
		return false
	}
	for i, h := range has {
		h.Part, h.Message = want[i].Part, want[i].Message // ids may have changed with the product's rewriting
		if e.message != nil && e.message.role == resultRole {
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
	switch e.kind {
	case branchEntry:
		return quoted(want[len(want)-1].Shown), nil
	case customMessageEntry:
		return shownContent(original, want)
	case messageEntry:
	default:
		return original, nil
	}
	full, ok := e.restored(original)
	if !ok || full.message == nil {
		return original, nil
	}
	switch m := full.message; m.role {
	case shellRole:
		return json.Marshal(newMessage{Role: userRole, Content: []newBlock{text(want[len(want)-1].Shown)}, Timestamp: m.timestamp}, session.ReadOptions())
	case resultRole:
		return changeMember(original, "content", func(v jsontext.Value) (jsontext.Value, error) { return shownResult(v, want) })
	}
	return changeMember(original, "content", func(v jsontext.Value) (jsontext.Value, error) { return shownContent(v, want) })
}

// shownResult is the content of a tool result with elisions applied.
func shownResult(content jsontext.Value, want []wanted) (jsontext.Value, error) {
	blocks := elements(content)
	add := func(shown string) error {
		b, err := json.Marshal(text(shown), session.ReadOptions())
		blocks = append(blocks, b)
		return err
	}
	for _, w := range want {
		if w.Field == rule.Attachments {
			kept := blocks[:0]
			for _, b := range blocks {
				if kindOf(b) != imageBlock {
					kept = append(kept, b)
				}
			}
			if blocks = kept; w.Shown == "" {
				continue
			}
		} else {
			blocks = nil
		}
		if err := add(w.Shown); err != nil {
			return nil, err
		}
	}
	return array(blocks), nil
}

// shownContent is the content of any other message with elisions applied: a block that shows nothing any more is left out.
func shownContent(content jsontext.Value, want []wanted) (jsontext.Value, error) {
	blocks := elements(content)
	for _, w := range want {
		if w.block < 0 || w.block >= len(blocks) || blocks[w.block] == nil {
			continue
		}
		b := &blocks[w.block]
		kind := kindOf(*b)
		switch {
		case kind == callBlock && (w.Field == rule.Input || w.Field == rule.Whole):
			arguments := jsontext.Value("{}")
			if w.Field == rule.Input {
				arguments = object(w.Shown)
			}
			changed, err := changeMember(*b, "arguments", func(jsontext.Value) (jsontext.Value, error) { return arguments, nil })
			if err != nil {
				return nil, err
			}
			*b = changed
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
	return array(blocks), nil
}

// object is the text itself where it is a JSON object, else an object that holds it.
func object(text string) jsontext.Value {
	if v := jsontext.Value(text); v.IsValid() && v.Kind() == '{' {
		return v
	}
	return jsontext.Value(`{"elided":` + string(quoted(text)) + `}`)
}

// elements are the blocks of a content; a text is one block.
func elements(content jsontext.Value) []jsontext.Value {
	if content.Kind() == '"' {
		return []jsontext.Value{jsontext.Value(`{"type":"text","text":` + string(content) + `}`)}
	}
	var all, blocks []jsontext.Value
	if json.Unmarshal(content, &all, session.ReadOptions()) != nil {
		return nil
	}
	for _, v := range all {
		if v.Kind() == '{' { // the reader drops the rest as well
			blocks = append(blocks, v)
		}
	}
	return blocks
}

func array(blocks []jsontext.Value) jsontext.Value {
	out := []byte{'['}
	for _, b := range blocks {
		if b == nil {
			continue
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(out, b...)
	}
	return append(out, ']')
}

func kindOf(block jsontext.Value) string {
	var b struct {
		Type string `json:"type"`
	}
	if json.Unmarshal(block, &b, session.ReadOptions()) != nil {
		return ""
	}
	return b.Type
}

// changeMember changes the value of one member of an object, the last of that name; everything else keeps its bytes.
func changeMember(raw jsontext.Value, member string, change func(jsontext.Value) (jsontext.Value, error)) (jsontext.Value, error) {
	dec := jsontext.NewDecoder(bytes.NewReader(raw), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if _, err := dec.ReadToken(); err != nil {
		return nil, err
	}
	var at span
	for dec.PeekKind() == '"' {
		name, err := dec.ReadToken()
		if err != nil {
			return nil, err
		}
		found := name.String() == member
		v, err := dec.ReadValue()
		if err != nil {
			return nil, err
		}
		if end := int(dec.InputOffset()); found {
			at = span{end - len(v), end}
		}
	}
	if at.len() == 0 {
		return raw, nil
	}
	value, err := change(raw[at.start:at.end:at.end])
	if err != nil {
		return nil, err
	}
	return splice(raw, []edit{{at, value}}), nil
}
