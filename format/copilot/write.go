package copilot

import (
	"bytes"
	"fmt"
	"io"
	"slices"

	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/format/internal/jsonl"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/text/span"
)

// Write writes a file of events that the product resumes. Lines that the change does not touch are
// written as they were read, damaged ones too. A pivot becomes the two events of the product's own
// compactions, the first of them before its tail; an elision changes what an event says and keeps
// the original beside it.
func (Format) Write(out io.Writer, from *format.Document, change format.Change) error {
	change = change.Settled()
	w := &writer{change: change, at: map[string]*item{}}
	if from != nil && from.Format == Name {
		r, ok := from.Native.(*reader)
		if !ok {
			again, err := Format{}.Read(from.Source)
			if err != nil {
				return fmt.Errorf("write %s: read the source again: %w", Name, err)
			}
			r = again.Native.(*reader)
		}
		w.old(r)
		if !w.changes(from) {
			_, err := out.Write(from.Source)
			return err
		}
	} else {
		w.begin()
	}
	w.log()
	text, err := show(w.text(), change)
	if err != nil {
		return fmt.Errorf("%s: write session %q: %w", Name, change.Session.Info.ID, err)
	}
	_, err = out.Write(text)
	return err
}

// writer makes the list of lines.
type writer struct {
	change format.Change
	from   *reader // what the file was, nil for a new one
	list   []*item
	at     map[string]*item // message → its first line
}

// item is a line of the file that is written.
type item struct {
	id, parent string
	text       []byte // with its line feed
	row        *row   // of the file, nil if it is new
}

// old takes over what was read.
func (w *writer) old(r *reader) {
	w.from = r
	end := 0
	for i := range r.lines {
		l := &r.lines[i]
		it := &item{id: l.id, parent: l.parent, text: r.Source[end:l.whole.End], row: l} // with blank lines before it
		end = l.whole.End
		w.list = append(w.list, it)
		for _, id := range l.messages {
			w.at[id] = it
		}
	}
	if end < len(r.Source) {
		w.list = append(w.list, &item{text: r.Source[end:], row: &row{}})
	}
}

// changes reports whether anything is to be written otherwise than it was read.
func (w *writer) changes(from *format.Document) bool {
	known := map[string]bool{}
	for i := range from.Session.Messages {
		m := &from.Session.Messages[i]
		if known[m.ID] = true; m.IsUndone(w.change.Undone) {
			return true
		}
	}
	for i := range w.change.Session.Messages {
		if m := &w.change.Session.Messages[i]; !known[m.ID] && !m.IsUndone(w.change.Undone) {
			return true
		}
	}
	return !slices.Equal(from.Ledger.All(), w.change.Ledger.All())
}

// log brings the list up to what the log says.
func (w *writer) log() {
	if w.from != nil {
		w.remove()
	}
	log := w.change.Session.Messages
	answers := map[string]int{} // marker → its summary
	for i := range log {
		if m := &log[i]; m.Completes() && !m.IsUndone(w.change.Undone) {
			answers[m.ParentID] = i
		}
	}
	for i := range log {
		m := &log[i]
		answer, folds := answers[m.ID]
		switch {
		case m.IsUndone(w.change.Undone) || w.at[m.ID] != nil:
		case folds && m.Marker() != nil && answer > i:
			w.pivot(m, &log[answer])
		default:
			w.message(m)
		}
	}
}

// remove takes out what was undone; what followed is linked to what came before.
func (w *writer) remove() {
	gone := map[string]bool{} // messages
	for i := range w.from.Session.Messages {
		if m := &w.from.Session.Messages[i]; m.IsUndone(w.change.Undone) {
			gone[m.ID] = true
			delete(w.at, m.ID)
		}
	}
	parents := map[string]string{} // of the lines that go
	w.list = slices.DeleteFunc(w.list, func(it *item) bool {
		goes := slices.ContainsFunc(it.row.messages, func(id string) bool { return gone[id] }) ||
			it.row.mark != nil && gone[it.row.mark.Of]
		if goes {
			parents[it.id] = it.parent
		}
		return goes
	})
	for _, it := range w.list {
		parent, ok := parents[it.parent]
		for range parents { // those that go may follow one another, though never in a ring
			if next, more := parents[parent]; more {
				parent = next
			}
		}
		if ok && it.id != "" {
			it.text = relinked(it.text, jsonl.OrNull(parent))
		}
	}
}

// relinked is a line with another parent.
func relinked(text, parent []byte) []byte {
	for l := range span.Lines(text) {
		if !l.Text.Empty() {
			return span.Replace(text, l.Text, span.Update(l.Text.Of(text), parent, "parentId"))
		}
	}
	return text
}

// pivot writes the two events of a compaction.
func (w *writer) pivot(marker, answer *session.Message) {
	at := len(w.list)
	if tail := w.at[marker.Marker().TailStartID]; tail != nil {
		if found := slices.Index(w.list, tail); found >= 0 {
			at = found
		}
	}
	start := newEvent{Type: startEvent, Data: []byte(`{"trigger":"manual"}`), Winnow: &mark{Of: marker.ID}}
	w.insert(at, start, marker.ID+"/start", answer.Time.Created)
	it := w.insert(len(w.list), compacting(marker, answer), marker.ID, answer.Time.Created)
	w.at[marker.ID], w.at[answer.ID] = it, it
}

// insert puts an event into the list. name is what its id is made from.
func (w *writer) insert(at int, e newEvent, name string, when session.Millis) *item {
	parent := ""
	for _, it := range slices.Backward(w.list[:at]) {
		if parent = it.id; parent != "" {
			break
		}
	}
	e.ID, e.Timestamp, e.Parent = jsonl.UUID(name), jsonl.Stamp(when), jsonl.OrNull(parent)
	it := &item{id: e.ID, parent: parent, text: append(jsonl.Marshal(e), '\n')}
	w.list = slices.Insert(w.list, at, it)
	return it
}

// message appends the events of a message.
func (w *writer) message(m *session.Message) {
	for i, e := range events(m) {
		it := w.insert(len(w.list), e, fmt.Sprintf("%s/%d", m.ID, i), m.Time.Created)
		if i == 0 {
			w.at[m.ID] = it
		}
	}
}

// text is the file with this list.
func (w *writer) text() []byte {
	var text bytes.Buffer
	for _, it := range w.list {
		if n := text.Len(); n > 0 && text.Bytes()[n-1] != '\n' {
			text.WriteByte('\n')
		}
		text.Write(it.text)
	}
	return text.Bytes()
}

// begin begins a file for a session from elsewhere.
func (w *writer) begin() {
	about := w.change.Session
	about.Messages = nil
	info := &about.Info
	data := span.Make("sessionId", info.ID, "version", 1, "producer", "winnow", "startTime",
		jsonl.Stamp(info.Time.Created), "context", span.Make("cwd", info.Directory))
	w.insert(0, newEvent{Type: "session.start", Data: data, Winnow: &mark{Session: &about}}, info.ID+"/session",
		info.Time.Created)
}
