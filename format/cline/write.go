package cline

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"slices"

	"github.com/winnowhq/winnow/format"
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
	w := &writer{change: change, first: map[string]*entry{}, of: map[int]*entry{}}
	if from != nil && from.Format == Name {
		if err := w.old(from); err != nil {
			return err
		}
		if !w.changes() {
			_, err := out.Write(from.Source)
			return err
		}
		if err := span.Check(bytes.TrimSpace(from.Source)); err != nil {
			return fmt.Errorf("%s: %s: the product reads nothing of such a file; export the session in another format "+
				"instead", Name, span.Reason(err, "the file"))
		}
	}
	w.log()
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
	if len(w.list) == 0 {
		return w.text(), nil
	}
	all, theirs := w.list, ""
	for _, e := range all {
		theirs = cmp.Or(e.theirs, theirs)
	}
	if theirs != "" && w.from != nil && len(w.from.beside) > 0 {
		w.list = slices.DeleteFunc(slices.Clone(all), func(e *entry) bool { return e.theirs != "" })
		text, err := show(w.text(), w.change.Ledger)
		if err == nil {
			if again, err := document(text, w.from.beside); err == nil && again.Theirs[theirs] {
				return text, nil
			}
		}
	}
	w.list = all
	text, err := show(w.text(), w.change.Ledger)
	if err != nil || w.from == nil || len(w.from.beside) == 0 {
		return text, err
	}
	if again, err := document(text, w.from.beside); err == nil {
		for marker := range again.Theirs {
			if w.change.Undone[marker] {
				return detached(text)
			}
		}
	}
	return text, nil
}

// writer makes the list of messages.
type writer struct {
	change format.Change
	from   *reader           // what the file was, nil for a new one
	known  map[string]bool   // messages that were read, those of the file beside it among them
	list   []*entry          //
	first  map[string]*entry // message → its first record in the list
	of     map[int]*entry    // record of the file → where it is in the list
}

// entry is a record of the list.
type entry struct {
	id    string
	text  []byte
	gap   []byte  // what stands before it in the file, nil if it is new
	rec   *record // of the file, nil if it is new
	runs  int     // prompts of the user's that it stands for
	pivot bool
	// theirs is the marker of a compaction that the product made itself, "" for anything else.
	theirs string
}

// old takes over what was read.
func (w *writer) old(from *format.Document) error {
	r, ok := from.Native.(*reader)
	if !ok {
		again, err := document(from.Source, nil)
		if err != nil {
			return fmt.Errorf("write %s: read the source again: %w", Name, err)
		}
		r = again.Native.(*reader)
	}
	w.from, w.known = r, map[string]bool{}
	for i := range r.Session.Messages {
		w.known[r.Session.Messages[i].ID] = true
	}
	before := r.list.Start + 1
	for i := range r.records {
		rec := &r.records[i]
		if rec.at.Empty() {
			continue // it is in the file beside this one
		}
		e := &entry{id: rec.ID, text: rec.at.Of(r.Source), gap: r.Source[before:rec.at.Start],
			rec: rec, runs: r.runs(rec), pivot: rec.pivot()}
		if e.pivot && rec.mark.Theirs {
			e.theirs = rec.mark.Message.ID
		}
		before = rec.at.End
		w.list = append(w.list, e)
		w.of[i] = e
		for _, at := range rec.messages {
			if id := r.Session.Messages[at].ID; w.first[id] == nil {
				w.first[id] = e
			}
		}
	}
	return nil
}

// changes reports whether anything is to be written otherwise than it was read.
func (w *writer) changes() bool {
	for i := range w.change.Session.Messages {
		if m := &w.change.Session.Messages[i]; !w.known[m.ID] && !m.IsUndone(w.change.Undone) {
			return true
		}
	}
	for i := range w.from.Session.Messages {
		if w.gone(&w.from.Session.Messages[i]) {
			return true
		}
	}
	return !slices.Equal(w.from.Ledger.All(), w.change.Ledger.All())
}

// gone reports whether a message of the file is not to be in it any more.
func (w *writer) gone(m *session.Message) bool { return m.IsUndone(w.change.Undone) }

// log brings the list up to what the log says.
func (w *writer) log() {
	if w.from != nil {
		messages := w.from.Session.Messages
		w.list = slices.DeleteFunc(w.list, func(e *entry) bool {
			return slices.ContainsFunc(e.rec.messages, func(at int) bool { return w.gone(&messages[at]) })
		})
	}
	log := w.change.Session.Messages
	answers := map[string]int{} // marker → its summary
	for i := range log {
		if m := &log[i]; m.Completes() && !m.IsUndone(w.change.Undone) {
			answers[m.ParentID] = i
		}
	}
	var last *entry // of what came so far
	for i := range log {
		m := &log[i]
		answer, folds := answers[m.ID]
		folds = folds && m.Marker() != nil && answer > i
		switch here := w.last(m); {
		case m.IsUndone(w.change.Undone):
		case here != nil:
			if !here.pivot {
				last = here
			}
		case w.first[m.ID] != nil: // the summary of a pivot
		case folds:
			w.pivot(log, i, answer, last)
		default:
			last = cmp.Or(w.message(m), last)
		}
	}
}

// last is the last entry of a message that is in the list, the results of its calls among them.
func (w *writer) last(m *session.Message) *entry {
	if w.from != nil {
		if at, ok := w.from.last[m.ID]; ok {
			return w.of[at]
		}
	}
	return w.first[m.ID]
}

// pivot writes a compaction as the record of its summary, before its tail.
func (w *writer) pivot(log []session.Message, marker, answer int, last *entry) {
	at := len(w.list)
	if tail := w.first[log[marker].Marker().TailStartID]; tail != nil {
		if found := slices.Index(w.list, tail); found >= 0 {
			at = found
		}
	}
	runs := 0
	for _, e := range w.list[:at] {
		if !e.pivot {
			runs += e.runs
		}
	}
	m := mark{Theirs: w.from != nil && w.from.Theirs[log[marker].ID]}
	if last != nil && slices.Index(w.list, last) >= at {
		m.After = last.id
	}
	e := &entry{id: log[marker].ID, pivot: true}
	if m.Theirs {
		e.theirs = e.id
	}
	e.text = summary(&log[marker], &log[answer], m, runs)
	w.list = slices.Insert(w.list, at, e)
	w.first[log[marker].ID], w.first[log[answer].ID] = e, e
}

// message appends the records of a message, and returns the last.
func (w *writer) message(m *session.Message) *entry {
	var about *session.Session
	if w.from == nil && len(w.list) == 0 {
		whole := w.change.Session
		whole.Messages, about = nil, &whole
	}
	texts := records(m, about)
	for i, text := range texts {
		e := &entry{id: recordID(m.ID, i), text: text}
		if i == 0 && m.Written() {
			e.runs = 1
		}
		w.list = append(w.list, e)
		if i == 0 {
			w.first[m.ID] = e
		}
	}
	return w.list[len(w.list)-1]
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
	for i, e := range w.list {
		switch {
		case e.gap != nil && (i == 0) != (bytes.IndexByte(e.gap, ',') >= 0):
			text.Write(e.gap)
		case i > 0:
			text.WriteByte(',')
			fallthrough
		default:
			text.Write(first)
		}
		text.Write(e.text)
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
	info := &w.change.Session.Info
	var o span.Object
	o.With("version", 1, "updated_at", jsonl.Stamp(max(info.Time.Updated, info.Time.Created)), "agent", "lead",
		"sessionId", info.ID, "origin", span.Make("source", "cli", "mode", "user", "sessionId", info.ID),
		"messages", []byte("[]"))
	text := o.Bytes()
	return text[:len(text)-2], append(text[len(text)-2:len(text):len(text)], '\n')
}
