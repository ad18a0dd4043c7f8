package pi

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/session"
)

// Write writes a session file. Lines that the change does not touch are written as they were read, damaged ones too. A pivot
// becomes the product's own compaction entry; an elision changes what the entry shows and keeps the original beside it;
// an undone pivot is left out and what followed it linked to what came before. A file of version 1 stays one: the
// product gives its entries ids when it opens it.
func (Format) Write(w io.Writer, from *format.Document, change format.Change) error {
	if from == nil {
		return write(w, newFile(change), change)
	}
	f, ok := from.Native.(*file)
	if from.Format != Name || !ok {
		return write(w, newFile(change), change)
	}
	removed := f.undone(from.Session.Messages, change.Undone)
	isNew := func(m *session.Message) bool { _, known := f.owner[m.ID]; return !known && !m.IsUndone(change.Undone) }
	appends := slices.ContainsFunc(change.Session.Messages, func(m session.Message) bool { return isNew(&m) })
	if !appends && len(removed) == 0 && slices.Equal(from.Ledger.All(), change.Ledger.All()) {
		_, err := w.Write(from.Source)
		return err
	}
	if f.header < 0 {
		return errNoHeader(f.firstLine())
	}
	a := f.without(from.Source, removed)
	if appends {
		if n := a.out.Len(); n > 0 && a.out.Bytes()[n-1] != '\n' {
			a.out.WriteByte('\n')
		}
		a.messages(change.Session.Messages, isNew)
	}
	return write(w, a, change)
}

// write writes what an appender made, with the elisions of the change.
func write(w io.Writer, a *appender, change format.Change) error {
	if a.err != nil {
		return fmt.Errorf("%s: write session %q: %w", Name, change.Session.Info.ID, a.err)
	}
	text, err := elide(a.out.Bytes(), change.Ledger)
	if err != nil {
		return err
	}
	_, err = w.Write(text)
	return err
}

// newFile writes a whole session as a new file of the current version.
func newFile(change format.Change) *appender {
	s := &change.Session
	a := &appender{out: &bytes.Buffer{}, used: map[string]bool{}, first: map[string]ref{}}
	info := *s
	info.Messages = nil
	id := s.Info.ID
	if id == "" {
		id = a.newID("session")
	}
	a.write(id, s.Info.Time.Created, newEntry{Type: sessionEntry, Version: current, ID: id, Cwd: s.Info.Directory, Winnow: &mark{Session: &info}})
	if s.Info.Title != "" {
		a.write("title of "+id, s.Info.Time.Created, newEntry{Type: infoEntry, Name: s.Info.Title})
	}
	a.messages(s.Messages, func(m *session.Message) bool { return !m.IsUndone(change.Undone) })
	return a
}

func (f *file) firstLine() int {
	for i := range f.entries {
		if !f.entries[i].gone {
			return f.entries[i].line
		}
	}
	return 1
}

// undone finds the entries of pivots that were undone: of the marker, its summary, and what was appended with them.
func (f *file) undone(log []session.Message, markers map[string]bool) map[int]bool {
	removed := map[int]bool{}
	for i := range log {
		m := &log[i]
		if m.IsUndone(markers) {
			removed[f.owner[m.ID]] = true
			for _, at := range f.more[i] {
				removed[at] = true
			}
		}
	}
	return removed
}

// without writes the source without the removed entries, and is ready to append to it.
func (f *file) without(src []byte, removed map[int]bool) *appender {
	a := &appender{out: bytes.NewBuffer(make([]byte, 0, len(src)+len(src)/8)), linear: f.linear, used: map[string]bool{}, first: map[string]ref{}}
	parents := map[string]string{} // of the removed entries
	ids := map[string]int{}
	parsed := make([]int, len(f.entries))
	last := -1
	for i := range f.entries {
		e := &f.entries[i]
		parsed[i] = a.parsed
		if e.id != "" {
			ids[e.id] = i
		}
		if removed[i] {
			parents[e.id] = e.parent
			continue
		}
		if !e.gone || e.span.len() != len(emptied) || string(src[e.start:e.end]) != emptied {
			last = i
		}
		if e.gone {
			continue
		}
		a.parsed++
		a.used[e.id] = true
		if e.kind != sessionEntry && e.id != "" && !f.linear {
			a.leaf = e.id
		}
	}
	for i := range f.entries {
		e := f.entries[i]
		line := src[e.start:e.end]
		switch {
		case removed[i]:
			if f.linear && i < last {
				a.out.WriteString(emptied)
			}
			continue
		case f.linear && i > last && len(removed) > 0:
			continue // an emptied line with nothing after it any more
		case e.gone || len(removed) == 0:
			a.out.Write(line)
			continue
		}
		var edits []edit
		if parent, ok := parents[e.parent]; ok && !f.linear && e.parent != "" {
			for range parents { // those that were removed may follow one another, though never in a ring
				e.parent = parent
				if parent, ok = parents[e.parent]; !ok || e.parent == "" {
					break
				}
			}
			to := []byte("null")
			if e.parent != "" {
				to = quoted(e.parent)
			}
			edits = append(edits, edit{e.at.parent, to})
		}
		if kept, ok := ids[e.firstKept]; ok && removed[kept] && e.at.firstKept.len() > 0 {
			for kept < i && (removed[kept] || f.entries[kept].gone) {
				kept++
			}
			edits = append(edits, edit{e.at.firstKept, quoted(f.entries[kept].id)})
		}
		if e.firstIndex >= 0 && e.kind == compactionEntry {
			if kept := f.nth(e.firstIndex); kept >= 0 && kept <= i && parsed[kept] != e.firstIndex {
				edits = append(edits, edit{e.at.firstIndex, []byte(strconv.Itoa(parsed[kept]))})
			}
		}
		a.out.Write(splice(line, edits))
	}
	for id, at := range f.owner {
		if !removed[at] {
			a.first[id] = ref{f.entries[at].id, parsed[at]}
		}
	}
	return a
}

// emptied stands where an entry was taken out of a file without ids, in which messages are named by the numbers of
// their lines. The product skips lines that are blank.
const emptied = " \n"

// edit puts other bytes in place of a span.
type edit struct {
	span
	to []byte
}

// splice makes edits that do not overlap, in any order.
func splice(text []byte, edits []edit) []byte {
	if len(edits) == 0 {
		return text
	}
	slices.SortFunc(edits, func(x, y edit) int { return x.start - y.start })
	out := make([]byte, 0, len(text)+64)
	at := 0
	for _, e := range edits {
		out = append(append(out, text[at:e.start]...), e.to...)
		at = e.end
	}
	return append(out, text[at:]...)
}
