package cline

import (
	"slices"
	"strings"

	"github.com/winnowhq/winnow/format/internal/entries"
	"github.com/winnowhq/winnow/session"
)

// summaryHead is what the product writes before a summary.
const summaryHead = "Context summary:\n\n"

// hold keeps a pivot for its place in the log: behind the last of the records that its mark names,
// or here if there is none any more.
func (r *reader) hold(at int) {
	behind := at
	after := r.records[at].mark.After
	for i := at + 1; i < len(r.records) && after != ""; i++ {
		if m := &r.records[i]; !m.damaged && splitOf(m.ID, after) {
			behind = i
		}
	}
	r.held = append(r.held, held{record: at, behind: behind, tail: len(r.Session.Messages)})
}

// release puts the pivots into the log that are behind this record.
func (r *reader) release(at int) {
	r.held = slices.DeleteFunc(r.held, func(h held) bool {
		if h.behind != at {
			return false
		}
		r.pivot(h)
		return true
	})
}

// pivot appends a marker and its summary.
func (r *reader) pivot(h held) {
	rec := &r.records[h.record]
	before := len(r.Session.Messages)
	marker := r.begin(session.User, rec)
	r.AddAt(marker, session.Part{Type: session.CompactionPart}, entries.Spot{Entry: h.record, Block: -1})
	r.Tail(before, h.tail)
	if rec.mark.Theirs {
		r.IsTheirs(rec.mark.Message.ID)
	}
	answer := r.Message(session.Assistant, rec.mark.Answer.ID, "")
	for i, b := range blocksOf(rec.Content) {
		if b.Type != "text" {
			continue
		}
		if i == 0 {
			b.Text = strings.TrimPrefix(b.Text, summaryHead)
		}
		r.AddAt(answer, session.Part{Type: session.TextPart, Text: b.Text}, entries.Spot{Entry: h.record, Block: b.at})
	}
	r.Took(h.record, before)
}

// runs is how many prompts of the user's a record stands for, as the product counts them.
func (r *reader) runs(at int) int {
	rec := &r.records[at]
	switch {
	case rec.Role != "user" || rec.hidden && (rec.mark == nil || !rec.mark.Folded):
		return 0
	case rec.Metadata.Runs != nil:
		return *rec.Metadata.Runs
	}
	for _, at := range r.Entries[at].Messages {
		if r.Session.Messages[at].Written() {
			return 1
		}
	}
	return 0
}
