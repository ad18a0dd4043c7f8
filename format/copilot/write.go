package copilot

import (
	"bytes"
	"fmt"
	"io"
	"slices"

	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/format/internal/entries"
	"github.com/winnowhq/winnow/format/internal/jsonl"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/text/span"
)

// Write writes a file of events that the product resumes. Lines that the change does not touch are
// written as they were read, damaged ones too. A pivot becomes the two events of the product's own
// compactions, the first of them before its tail; an elision changes what an event says and keeps
// the original beside it.
func (f Format) Write(out io.Writer, from *format.Document, change format.Change) error {
	change = change.Settled()
	w := &writer{}
	if from != nil && from.Format == Name {
		if from.Same(change) {
			_, err := out.Write(from.Source)
			return err
		}
		r, err := entries.Native[*reader](f, from)
		if err != nil {
			return err
		}
		w.List = entries.NewList(change, r.File)
		end := 0
		if n := len(r.Entries); n > 0 {
			end = r.Entries[n-1].Whole.End
		}
		if end < len(r.Source) { // blank lines
			w.Insert(len(w.Items), &entries.Item{Text: r.Source[end:]})
		}
	} else {
		w.List = entries.NewList(change, nil)
		w.begin()
	}
	w.Grow(w.pivot, w.message)
	text, err := show(w.text(), change)
	if err != nil {
		return fmt.Errorf("%s: write session %q: %w", Name, change.Session.Info.ID, err)
	}
	_, err = out.Write(text)
	return err
}

// writer makes the list of lines.
type writer struct{ *entries.List }

// pivot writes the two events of a compaction.
func (w *writer) pivot(at, summary int) {
	marker, answer := &w.Change.Session.Messages[at], &w.Change.Session.Messages[summary]
	start := newEvent{Type: startEvent, Data: []byte(`{"trigger":"manual"}`), Winnow: &entries.Mark{Of: marker.ID}}
	w.insert(w.Tail(marker), start, marker.ID+"/start", answer.Time.Created)
	w.insert(len(w.Items), compacting(marker, answer), marker.ID, answer.Time.Created, marker.ID, answer.ID)
}

// insert puts an event into the list, with which messages begin. name is what its id is made from.
func (w *writer) insert(at int, e newEvent, name string, when session.Millis, messages ...string) {
	parent := ""
	for _, it := range slices.Backward(w.Items[:at]) {
		if parent = it.ID; parent != "" {
			break
		}
	}
	e.ID, e.Timestamp, e.Parent = jsonl.UUID(name), jsonl.Stamp(when), jsonl.OrNull(parent)
	w.Insert(at, &entries.Item{ID: e.ID, Parent: parent, Text: append(jsonl.Marshal(e), '\n')}, messages...)
}

// message appends the events of a message.
func (w *writer) message(m *session.Message) {
	begins := []string{m.ID}
	for i, e := range events(m) {
		w.insert(len(w.Items), e, fmt.Sprintf("%s/%d", m.ID, i), m.Time.Created, begins...)
		begins = nil
	}
}

// text is the file with this list.
func (w *writer) text() []byte {
	var text bytes.Buffer
	for _, it := range w.Items {
		if n := text.Len(); n > 0 && text.Bytes()[n-1] != '\n' {
			text.WriteByte('\n')
		}
		text.Write(it.Text)
	}
	return text.Bytes()
}

// begin begins a file for a session from elsewhere.
func (w *writer) begin() {
	about := w.Change.Session
	about.Messages = nil
	info := &about.Info
	data := span.Make("sessionId", info.ID, "version", 1, "producer", "winnow", "startTime",
		jsonl.Stamp(info.Time.Created), "context", span.Make("cwd", info.Directory))
	w.insert(0, newEvent{Type: "session.start", Data: data, Winnow: &entries.Mark{Session: &about}}, info.ID+"/session",
		info.Time.Created)
}
