package cline

import (
	"slices"
	"strconv"
	"strings"

	"github.com/winnowhq/winnow/format/internal/entries"
	"github.com/winnowhq/winnow/format/internal/jsonl"
	"github.com/winnowhq/winnow/plan/rule"
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
	wants := r.Wants(ledger)
	newest := r.newest()
	var edits []span.Edit
	for i := range r.records {
		rec := &r.records[i]
		if rec.damaged {
			continue
		}
		folded := i < newest || rec.mark.Pivot() && i != newest
		if rec.hidden && (rec.mark == nil || !rec.mark.Folded) {
			folded = false // it is not sent anyway
		}
		if folded != (rec.mark != nil && rec.mark.Folded) || !rec.mark.Shows(wants[i]) {
			edits = append(edits, span.Edit{Span: rec.at, With: rec.show(rec.at.Of(src), folded, wants[i])})
		}
	}
	return span.Splice(src, edits...), nil
}

// newest is the record of the newest pivot, or -1.
func (r *reader) newest() int {
	newest, order := -1, -1
	for i := range r.Entries {
		if e := &r.Entries[i]; e.Mark.Pivot() && len(e.Messages) > 0 && e.Messages[0] > order {
			newest, order = i, e.Messages[0]
		}
	}
	return newest
}

// show is the text of a record, folded or not, with exactly these elisions. Only what changes is
// written anew, so that taking it back gives the same bytes.
func (m *record) show(text []byte, folded bool, wants []entries.Want) []byte {
	had := entries.Mark{}
	if m.mark != nil {
		had = *m.mark
	}
	elides := m.mark.Shows(wants)
	if !elides && len(m.Content) > 0 {
		text = span.Update(text, shownContent(m.Content, wants), "content")
	}
	if !ours(&had) && !folded && len(wants) == 0 && !had.Detached { // as the product wrote it
		if len(had.Was) > 0 {
			return span.Update(text, had.Was, "metadata")
		}
		return span.Remove(text, false, "metadata")
	}
	if m.mark == nil {
		text = entries.Note(text, span.Get(text, "metadata"), "metadata", "winnow", "was")
	}
	if !elides {
		text = entries.WithElisions(text, wants, m.Content, "metadata", "winnow")
	}
	if folded == had.Folded {
		return text
	}
	// The summary stands for the prompts that it replaced, as the product counts them.
	runs := span.Get(had.Was, "userRunSpan")
	if ours(&had) && had.Message != nil && m.Role == "user" {
		runs = strconv.AppendInt(nil, int64(had.Runs), 10)
	}
	if !folded {
		text = entries.Note(entries.Note(text, nil, "metadata", "displayOnly"), nil, "metadata", "winnow", "folded")
		return entries.Note(text, runs, "metadata", "userRunSpan")
	}
	text = entries.Note(text, []byte("true"), "metadata", "displayOnly")
	text = entries.Note(text, []byte("true"), "metadata", "winnow", "folded")
	if m.Role == "user" {
		text = entries.Note(text, []byte("0"), "metadata", "userRunSpan")
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
			text = entries.Note(text, span.Get(text, "metadata"), "metadata", "winnow", "was")
		}
		return span.Replace(src, m.at, entries.Note(text, []byte("true"), "metadata", "winnow", "detached")), nil
	}
	return src, nil
}

// shownContent is a content with elisions applied. A block that shows nothing any more is left out.
func shownContent(content []byte, wants []entries.Want) []byte {
	if len(wants) == 0 {
		return content
	}
	blocks := entries.Blocks(content)
	entries.Apply(wants, func(w entries.Want, before, after session.Part, stays bool) {
		if w.Block >= 0 && w.Block < len(blocks) && blocks[w.Block] != nil {
			blocks[w.Block] = shownBlock(blocks[w.Block], before, after, stays, w.Result)
		}
	})
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
