package cline

import (
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/format/internal/jsonl"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/plan/view"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/text/span"
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
		if folded != rec.folded() || !rec.elides(wants[i]) {
			edits = append(edits, span.Edit{Span: rec.at, With: rec.show(rec.at.Of(src), folded, wants[i])})
		}
	}
	return span.Splice(src, edits...), nil
}

func (m *record) pivot() bool { return m.mark != nil && m.mark.Answer != nil }

// newest is the record of the newest pivot, or -1.
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

// elides reports whether a record shows exactly these elisions.
func (m *record) elides(wants []want) bool {
	var has []elided
	if m.mark != nil {
		has = m.mark.Elisions
	}
	return slices.EqualFunc(has, wants, func(e elided, w want) bool {
		e.Message = w.Message // its id may have changed with the product's rewriting
		return e == w.elided
	})
}

func (m *record) folded() bool { return m.mark != nil && m.mark.Folded }

// show is the text of a record, folded or not, with exactly these elisions. Only what changes is
// written anew, so that taking it back gives the same bytes.
func (m *record) show(text []byte, folded bool, wants []want) []byte {
	had := mark{}
	if m.mark != nil {
		had = *m.mark
	}
	elides := m.elides(wants)
	if !elides && len(m.Content) > 0 {
		text = span.Update(text, shownContent(m.Content, wants), "content")
	}
	if !had.ours() && !folded && len(wants) == 0 && !had.Detached { // as the product wrote it
		if len(had.Was) > 0 {
			return span.Update(text, had.Was, "metadata")
		}
		return span.Remove(text, false, "metadata")
	}
	if m.mark == nil {
		text = note(text, span.Get(text, "metadata"), "metadata", "winnow", "was")
	}
	if !elides {
		var elisions, original jsontext.Value
		if len(wants) > 0 {
			elisions, original = jsonl.Marshal(elidedOf(wants)), m.Content
		}
		text = note(text, elisions, "metadata", "winnow", "elisions")
		text = note(text, original, "metadata", "winnow", "original")
	}
	if folded == had.Folded {
		return text
	}
	// The summary stands for the prompts that it replaced, as the product counts them.
	runs := span.Get(had.Was, "userRunSpan")
	if had.ours() && had.Message != nil && m.Role == "user" {
		runs = strconv.AppendInt(nil, int64(had.Runs), 10)
	}
	if !folded {
		text = note(note(text, nil, "metadata", "displayOnly"), nil, "metadata", "winnow", "folded")
		return note(text, runs, "metadata", "userRunSpan")
	}
	text = note(note(text, []byte("true"), "metadata", "displayOnly"), []byte("true"), "metadata", "winnow", "folded")
	if m.Role == "user" {
		text = note(text, []byte("0"), "metadata", "userRunSpan")
	}
	return text
}

// detached is a file of whose messages the product's own compaction is not true any more: it looks
// at their metadata too.
func detached(src []byte) ([]byte, error) {
	doc, err := document(src, nil)
	if err != nil {
		return nil, err
	}
	for _, m := range doc.Native.(*reader).records {
		if m.damaged || m.hidden {
			continue
		}
		text := m.at.Of(src)
		if m.mark == nil {
			text = note(text, span.Get(text, "metadata"), "metadata", "winnow", "was")
		}
		return span.Replace(src, m.at, note(text, []byte("true"), "metadata", "winnow", "detached")), nil
	}
	return src, nil
}

func elidedOf(wants []want) (all []elided) {
	for _, w := range wants {
		all = append(all, w.elided)
	}
	return all
}

// note gives a member of a record a value, byte for byte, or takes it away if there is none.
func note(text, value []byte, path ...string) []byte {
	switch {
	case len(value) == 0:
		return span.Remove(text, false, path...)
	case len(span.Get(text, path...)) == 0:
		text = span.Set(text, "", []byte("0"), path...)
	}
	return span.Update(text, value, path...)
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
