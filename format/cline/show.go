package cline

import (
	"bytes"
	"slices"
	"strconv"
	"strings"

	"github.com/winnowhq/winnow/format/internal/jsonl"
	"github.com/winnowhq/winnow/rule"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/span"
	"github.com/winnowhq/winnow/view"
)

// show writes a file so that the product sends what counts: without the messages that the newest
// summary stands for, which people are still shown, and with the elisions of a ledger, and no
// others.
func show(src []byte, ledger rule.Ledger) ([]byte, error) {
	doc, err := document(src, nil)
	if err != nil {
		return nil, err
	}
	r := doc.Native.(*reader)
	wants := r.wants(ledger)
	newest := r.newest()
	var edits []span.Edit
	for i := range r.records {
		rec := &r.records[i]
		if rec.damaged {
			continue
		}
		folded := i < newest || rec.pivot() && i != newest
		if rec.hidden && (rec.mark == nil || !rec.mark.Folded) {
			folded = false // it is not sent anyway
		}
		old := rec.at.Of(src)
		if rec.shows(folded, wants[i]) {
			continue
		}
		text, err := rec.show(old, folded, wants[i])
		if err != nil {
			return nil, err
		}
		edits = append(edits, span.Edit{Span: rec.at, With: text})
	}
	return span.Splice(src, edits...), nil
}

func (m *record) pivot() bool { return m.mark != nil && m.mark.Answer != nil }

// newest is the record of the newest pivot, -1 if there is none.
func (r *reader) newest() int {
	newest, order := -1, -1
	for i := range r.records {
		if m := &r.records[i]; m.pivot() && len(m.messages) > 0 && m.messages[0] > order {
			newest, order = i, m.messages[0]
		}
	}
	return newest
}

// want is an elision that a record is to show.
type want struct {
	elided
	part   *session.Part
	block  int  // that the part is in, -1 for none
	result bool // the block is the result of a call
}

// wants finds the records that the elisions of a ledger change.
func (r *reader) wants(ledger rule.Ledger) map[int][]want {
	wants := map[int][]want{}
	for order, e := range ledger.All() {
		at, ok := r.parts[e.Part]
		if !ok || at.part.record < 0 {
			continue
		}
		_, p := session.FindPart(r.Session.Messages[at.message:at.message+1], e.Part)
		one := want{elided: elided{e, order}, part: p, block: at.part.block}
		call, result := jsonl.Shows(e.Field, at.result.record >= 0)
		if call {
			wants[at.part.record] = append(wants[at.part.record], one)
		}
		if result {
			one.block, one.result = at.result.block, true
			wants[at.result.record] = append(wants[at.result.record], one)
		}
	}
	return wants
}

// shows reports whether a record is as it is to be.
func (m *record) shows(folded bool, wants []want) bool {
	if m.mark == nil {
		return !folded && len(wants) == 0
	}
	return m.mark.Folded == folded && slices.EqualFunc(m.mark.Elisions, wants, func(e elided, w want) bool {
		e.Message = w.Message // its id may have changed with the product's rewriting
		return e == w.elided
	})
}

// show is the text of a record, folded or not, with exactly these elisions.
func (m *record) show(text []byte, folded bool, wants []want) ([]byte, error) {
	now := mark{}
	if m.mark != nil {
		now = *m.mark
	}
	if m.mark != nil && !m.mark.ours() { // as the product wrote it
		if len(now.Was) > 0 {
			text = span.Update(text, now.Was, "metadata")
		} else {
			text = span.Remove(text, false, "metadata")
		}
	}
	now.Folded, now.Elisions, now.Original = folded, nil, nil
	if len(m.Content) > 0 {
		text = span.Update(text, m.Content, "content")
		if content := shownContent(m.Content, wants); !bytes.Equal(content, m.Content) {
			now.Original = m.Content
			text = span.Update(text, content, "content")
		}
	}
	for _, w := range wants {
		now.Elisions = append(now.Elisions, w.elided)
	}
	if !now.ours() {
		if !folded && len(wants) == 0 {
			return text, nil
		}
		now.Was = slices.Clone(span.Get(text, "metadata"))
	}
	return m.note(text, now)
}

// note writes what is noted of a record into its metadata.
func (m *record) note(text []byte, now mark) ([]byte, error) {
	set := func(name, value string) { text = span.Set(text, "", []byte(value), "metadata", name) }
	kept := m.hidden && (m.mark == nil || !m.mark.Folded)
	switch {
	case now.Folded || kept:
		set("displayOnly", "true")
	case now.ours():
		text = span.Remove(text, false, "metadata", "displayOnly")
	}
	runs := 0 // the summary stands for the prompts that it replaced
	if !now.Folded {
		runs = now.Runs
	}
	if m.Role == "user" && (now.Folded || now.ours()) {
		set("userRunSpan", strconv.Itoa(runs))
	}
	winnow, err := now.json()
	if err != nil {
		return nil, err
	}
	set("winnow", "0")
	return span.Update(text, winnow, "metadata", "winnow"), nil
}

// shownContent is a content with elisions applied. A block that shows nothing any more is left out.
func shownContent(content []byte, wants []want) []byte {
	if len(wants) == 0 {
		return content
	}
	blocks := elements(content)
	shown := map[string]session.Part{} // parts as far as elisions were applied to them
	for _, w := range wants {
		if w.block < 0 || w.block >= len(blocks) || blocks[w.block] == nil || w.part == nil {
			continue
		}
		before, ok := shown[w.part.ID]
		if !ok {
			before = *w.part
		}
		after, stays := view.Apply(before, w.Elision)
		shown[w.part.ID] = after
		blocks[w.block] = shownBlock(blocks[w.block], before, after, stays, w.result)
	}
	return span.Array(slices.DeleteFunc(blocks, func(b []byte) bool { return b == nil }))
}

// shownBlock is a block with another part in it.
func shownBlock(b []byte, before, after session.Part, stays, result bool) []byte {
	switch {
	case result:
		return span.Update(b, span.Quote(after.State.Result()), "content")
	case after.Type == session.ToolPart:
		return span.Update(b, jsonl.Input(after.State), "input")
	case !stays:
		after.Text = ""
	}
	whole := span.String(span.Get(b, "text"))
	if before.Type == session.TextPart && before.Text != "" && strings.Contains(whole, before.Text) {
		after.Text = strings.Replace(whole, before.Text, after.Text, 1) // in the product's tags
	}
	if strings.TrimSpace(after.Text) == "" {
		return nil
	}
	return textBlock(after.Text)
}
