package cline

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"slices"

	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/format/internal/entries"
	"github.com/winnowhq/winnow/format/internal/jsonl"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/text/span"
)

// Write writes a file of messages that the product resumes with what the change shows. Messages
// that the change does not touch are written as they were read, damaged ones too. What a summary
// replaced is marked as shown to people only, and the summary stands before its tail; an elision
// changes what a message says and keeps the original in its metadata. The product's own compaction,
// which is in a file beside this one and does not count any more once the messages change, is
// written down as such a summary too.
func (f Format) Write(out io.Writer, from *format.Document, change format.Change) error {
	change = change.Settled()
	w := &writer{}
	var file *entries.File
	if from != nil && from.Format == Name {
		r, err := entries.Native[*reader](f, from)
		if err != nil {
			return err
		}
		if r.Same(change) {
			_, err := out.Write(from.Source)
			return err
		}
		if err := span.Check(bytes.TrimSpace(from.Source)); err != nil {
			return fmt.Errorf("%s: %s: the product reads nothing of such a file; export the session in another format "+
				"instead", Name, span.Reason(err, "the file"))
		}
		w.from, file = r, r.File
	}
	w.List = entries.NewList(change, file)
	w.Grow(w.pivot, w.message)
	text, err := w.shown()
	if err != nil {
		return fmt.Errorf("%s: write session %q: %w", Name, change.Session.Info.ID, err)
	}
	_, err = out.Write(text)
	return err
}

// shown is the file with what counts. The product's own compaction stays in the file beside it if
// that is still true of these messages.
func (w *writer) shown() ([]byte, error) {
	if len(w.Items) == 0 {
		return w.text(), nil
	}
	all, theirs := w.Items, ""
	for _, it := range all {
		theirs = cmp.Or(madeBy(it), theirs)
	}
	if theirs != "" && w.from != nil && len(w.from.beside) > 0 {
		w.Items = slices.DeleteFunc(slices.Clone(all), func(it *entries.Item) bool { return madeBy(it) != "" })
		text, err := show(w.text(), w.Change.Ledger)
		if err == nil {
			if again, err := document(text, w.from.beside); err == nil && again.Theirs[theirs] {
				return text, nil
			}
		}
	}
	w.Items = all
	text, err := show(w.text(), w.Change.Ledger)
	if err != nil || w.from == nil || len(w.from.beside) == 0 {
		return text, err
	}
	if again, err := document(text, w.from.beside); err == nil {
		for marker := range again.Theirs {
			if w.Change.Undone[marker] {
				return detached(text)
			}
		}
	}
	return text, nil
}

// madeBy is the marker of a compaction that the product made itself, "" for anything else.
func madeBy(it *entries.Item) string {
	if it.Mark.Pivot() && it.Mark.Theirs {
		return it.Mark.Message.ID
	}
	return ""
}

// writer makes the list of messages.
type writer struct {
	*entries.List
	from *reader // what the file was, nil for a new one
}

// pivot writes a compaction as the record of its summary, before its tail.
func (w *writer) pivot(marker, answer int) {
	log := w.Change.Session.Messages
	at := w.Tail(&log[marker])
	m := entries.Mark{Theirs: w.from != nil && w.from.Theirs[log[marker].ID]}
	for _, it := range w.Items[:at] {
		switch {
		case it.Mark.Pivot():
		case it.Entry >= 0:
			m.Runs += w.from.runs(it.Entry)
		case it.Mark != nil:
			m.Runs += it.Mark.Runs
		}
	}
	if last := w.last(log[:marker]); last >= at {
		m.After = w.Items[last].ID
	}
	text := summary(&log[marker], &log[answer], m)
	m.Message, m.Answer = &log[marker], &log[answer]
	w.Insert(at, &entries.Item{ID: log[marker].ID, Text: text, Mark: &m}, log[marker].ID, log[answer].ID)
}

// last is the position of the last record, results of calls included, of the newest message that
// has one and is not of a pivot, -1 if there is none.
func (w *writer) last(log []session.Message) int {
	for i := range slices.Backward(log) {
		m := &log[i]
		if it := w.First(m.ID); it == nil || it.Mark.Pivot() || m.IsUndone(w.Change.Undone) {
			continue
		}
		for at, it := range slices.Backward(w.Items) {
			if it.Message == m.ID || it.Entry >= 0 && w.from.Has(it.Entry, m.ID) {
				return at
			}
		}
	}
	return -1
}

// message appends the records of a message.
func (w *writer) message(m *session.Message) {
	var about *session.Session
	if w.from == nil && len(w.Items) == 0 {
		whole := w.Change.Session
		whole.Messages, about = nil, &whole
	}
	for i, text := range records(m, about) {
		it := &entries.Item{ID: recordID(m.ID, i), Text: text, Message: m.ID}
		if i > 0 {
			w.Insert(len(w.Items), it)
			continue
		}
		if m.Written() {
			it.Mark = &entries.Mark{Runs: 1}
		}
		w.Insert(len(w.Items), it, m.ID)
	}
}

// text is the file with this list.
func (w *writer) text() []byte {
	head, foot := w.around()
	var first []byte // white space before the first message
	if w.from != nil {
		rest := w.from.Source[w.from.list.Start+1:]
		first = rest[:span.Space(rest, 0)]
	}
	var text bytes.Buffer
	text.Write(head)
	for i, it := range w.Items {
		switch {
		case it.Gap != nil && (i == 0) != (bytes.IndexByte(it.Gap, ',') >= 0):
			text.Write(it.Gap)
		case i > 0:
			text.WriteByte(',')
			fallthrough
		default:
			text.Write(first)
		}
		text.Write(it.Text)
	}
	text.Write(foot)
	return text.Bytes()
}

// around is what stands before and after the messages.
func (w *writer) around() (head, foot []byte) {
	if w.from != nil {
		end := w.from.list.Start + 1
		for i := range slices.Backward(w.from.records) {
			if rec := &w.from.records[i]; !rec.at.Empty() {
				end = rec.at.End
				break
			}
		}
		return w.from.Source[:w.from.list.Start+1], w.from.Source[end:]
	}
	info := &w.Change.Session.Info
	var o span.Object
	o.With("version", 1, "updated_at", jsonl.Stamp(max(info.Time.Updated, info.Time.Created)), "agent", "lead",
		"sessionId", info.ID, "origin", span.Make("source", "cli", "mode", "user", "sessionId", info.ID),
		"messages", []byte("[]"))
	text := o.Bytes()
	return text[:len(text)-2], append(text[len(text)-2:len(text):len(text)], '\n')
}
