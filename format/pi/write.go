package pi

import (
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/format/internal/entries"
	"github.com/winnowhq/winnow/format/internal/jsonl"
	"github.com/winnowhq/winnow/text/span"
)

// Write writes a session file. Lines that the change does not touch are written as they were read,
// damaged ones too. A pivot becomes the product's own compaction entry; an elision changes what the
// entry shows and keeps the original beside it; an undone pivot is left out and what followed it
// linked to what came before. A file of version 1 stays one: the product gives its entries ids when
// it opens it.
func (Format) Write(w io.Writer, from *format.Document, change format.Change) error {
	change = change.Settled()
	if from == nil {
		return write(w, newSession(change), change)
	}
	f, ok := from.Native.(*file)
	if from.Format != Name || !ok {
		return write(w, newSession(change), change)
	}
	if from.Same(change) {
		_, err := w.Write(from.Source)
		return err
	}
	if f.header < 0 {
		return errNoHeader(f.firstLine())
	}
	a := f.without(from.Source, f.undone(change.Undone))
	a.grow(change)
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

// newSession writes a whole session as a new file of the current version.
func newSession(change format.Change) *appender {
	s := &change.Session
	a := newAppender(0)
	info := *s
	info.Messages = nil
	id := s.Info.ID
	if id == "" {
		id = a.newID("session")
	}
	a.write(id, s.Info.Time.Created, newEntry{
		Type: sessionEntry, Version: current, ID: id, Cwd: s.Info.Directory, Winnow: &entries.Mark{Session: &info},
	})
	if s.Info.Title != "" {
		a.write("title of "+id, s.Info.Time.Created, newEntry{Type: infoEntry, Name: s.Info.Title})
	}
	a.grow(change)
	return a
}

func (f *file) firstLine() int {
	for i := range f.lines {
		if !f.lines[i].gone {
			return f.lines[i].line
		}
	}
	return 1
}

// undone finds the entries of pivots that were undone: of the marker, its summary, and what was
// appended with them.
func (f *file) undone(markers map[string]bool) map[int]bool {
	removed := map[int]bool{}
	for i := range f.Entries {
		if slices.ContainsFunc(f.Entries[i].Messages, func(at int) bool { return f.Session.Messages[at].IsUndone(markers) }) {
			removed[i] = true
		}
	}
	return removed
}

// without writes the source without the removed entries, and is ready to append to it.
func (f *file) without(src []byte, removed map[int]bool) *appender {
	a := newAppender(len(src) + len(src)/8)
	a.linear = f.linear
	parents := map[string]string{} // of the removed entries
	ids := map[string]int{}
	parsed := make([]int, len(f.lines))
	last := -1
	for i := range f.lines {
		e := &f.lines[i]
		parsed[i] = a.parsed
		if e.ID != "" {
			ids[e.ID] = i
		}
		if removed[i] {
			parents[e.ID] = e.Parent
			continue
		}
		if !e.gone || string(e.whole.Of(src)) != emptied {
			last = i
		}
		if e.gone {
			continue
		}
		a.parsed++
		a.used[e.ID] = true
		if e.Kind != sessionEntry && e.ID != "" && !f.linear {
			a.leaf = e.ID
		}
	}
	for i := range f.lines {
		e := f.lines[i]
		line := e.whole.Of(src)
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
		text := e.text
		if parent := entries.Ancestor(e.Parent, parents); parent != e.Parent && !f.linear {
			text = span.Update(text, jsonl.OrNull(parent), "parentId")
		}
		if kept, ok := ids[e.FirstKept]; ok && removed[kept] {
			for kept < i && (removed[kept] || f.lines[kept].gone) {
				kept++
			}
			text = span.Update(text, span.Quote(f.lines[kept].ID), "firstKeptEntryId")
		}
		if e.FirstIndex != nil && e.Kind == compactionEntry {
			first := e.FirstIndex.count()
			if kept := f.nth(first); kept >= 0 && kept <= i && parsed[kept] != first {
				text = span.Update(text, strconv.AppendInt(nil, int64(parsed[kept]), 10), "firstKeptEntryIndex")
			}
		}
		a.out.Write(span.Replace(line, e.json.Shift(-e.whole.Start), text))
	}
	for i := range slices.Backward(f.Entries) { // the first entry of a message counts
		for _, at := range f.Entries[i].Messages {
			if !removed[i] {
				a.first[f.Session.Messages[at].ID] = ref{f.lines[i].ID, parsed[i]}
			}
		}
	}
	return a
}

// emptied replaces an entry that was taken out of a file without ids, in which messages are named
// by the numbers of their lines. The product skips lines that are blank.
const emptied = " \n"
