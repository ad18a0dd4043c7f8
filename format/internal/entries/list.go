package entries

import (
	"fmt"
	"slices"

	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/format/internal/jsonl"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/text/span"
)

// List is the list of entries that a change makes of a file.
type List struct {
	Change format.Change
	File   *File // as it was read, nil for a new one
	Items  []*Item
	first  map[string]*Item // message → its first item
}

// Item is an entry of the file that is written.
type Item struct {
	ID, Parent string
	Gap        []byte // what stands before it in the file, nil if it is new
	Text       []byte
	Mark       *Mark
	Entry      int    // of the file, -1 if it is new
	Message    string // that it was written for, if it is new
}

// NewList returns the list of what a file has, without what the change undoes.
func NewList(change format.Change, from *File) *List {
	l := &List{Change: change, File: from, first: map[string]*Item{}}
	if from == nil {
		return l
	}
	end := -1
	for i := range from.Entries {
		e := &from.Entries[i]
		if e.At.Empty() {
			continue // it is in another file
		}
		it := &Item{ID: e.ID, Parent: e.Parent, Text: e.Whole.Of(from.Source), Mark: e.Mark, Entry: i}
		if end >= 0 {
			it.Gap = from.Source[end:e.Whole.Start]
		}
		end = e.Whole.End
		l.Items = append(l.Items, it)
	}
	l.remove()
	for _, it := range l.Items {
		for _, at := range from.Entries[it.Entry].Messages {
			if id := from.Session.Messages[at].ID; l.first[id] == nil {
				l.first[id] = it
			}
		}
	}
	return l
}

// remove takes out what was undone; what followed is linked to what came before.
func (l *List) remove() {
	messages := l.File.Session.Messages
	gone := map[string]bool{}
	for i := range messages {
		if m := &messages[i]; m.IsUndone(l.Change.Undone) {
			gone[m.ID] = true
		}
	}
	parents := map[string]string{} // of the items that go
	l.Items = slices.DeleteFunc(l.Items, func(it *Item) bool {
		goes := it.Mark != nil && gone[it.Mark.Of] || slices.ContainsFunc(l.File.Entries[it.Entry].Messages,
			func(at int) bool { return gone[messages[at].ID] })
		if goes {
			parents[it.ID] = it.Parent
		}
		return goes
	})
	for _, it := range l.Items {
		if parent := Ancestor(it.Parent, parents); parent != it.Parent && it.ID != "" {
			e := &l.File.Entries[it.Entry]
			text := span.Update(e.At.Of(l.File.Source), jsonl.OrNull(parent), "parentId")
			it.Text = span.Replace(it.Text, e.At.Shift(-e.Whole.Start), text)
		}
	}
}

// Ancestor follows a parent to the next entry that stays. gone has the parents of those that go,
// which may follow one another, though never in a ring.
func Ancestor(id string, gone map[string]string) string {
	for range gone {
		parent, goes := gone[id]
		if !goes || id == "" {
			break
		}
		id = parent
	}
	return id
}

// First is the first item of a message, nil if there is none.
func (l *List) First(message string) *Item { return l.first[message] }

// Insert puts an item into the list. messages are those that begin with it.
func (l *List) Insert(at int, it *Item, messages ...string) {
	it.Entry = -1
	l.Items = slices.Insert(l.Items, at, it)
	for _, id := range messages {
		l.first[id] = it
	}
}

// Tail is the position at which the tail of a marker begins: the end of the list if there is none.
func (l *List) Tail(marker *session.Message) int {
	if first := l.first[marker.Marker().TailStartID]; first != nil {
		if at := slices.Index(l.Items, first); at >= 0 {
			return at
		}
	}
	return len(l.Items)
}

// Grow writes what the log has and the list does not. See Grow.
func (l *List) Grow(pivot func(marker, summary int), message func(*session.Message)) {
	Grow(l.Change, func(id string) bool { return l.first[id] != nil }, pivot, message)
}

// Grow writes what the log of a change has and the file does not: a marker with the summary that
// completes it as a pivot, by their positions in the log, and any other message alone.
func Grow(c format.Change, has func(id string) bool, pivot func(marker, summary int),
	message func(*session.Message)) {
	log := c.Session.Messages
	summaries := map[string]int{} // by their markers
	for i := range log {
		if m := &log[i]; m.Completes() && !m.IsUndone(c.Undone) {
			summaries[m.ParentID] = i
		}
	}
	for i := range log {
		m := &log[i]
		switch summary, folds := summaries[m.ID]; {
		case m.IsUndone(c.Undone) || has(m.ID):
		case folds && m.Marker() != nil && summary > i:
			pivot(i, summary)
		default:
			message(m)
		}
	}
}

// Native is what the reader of a format made of a document, which is read again if somebody else
// has read it.
func Native[T any](f format.Format, from *format.Document) (own T, err error) {
	if own, ok := from.Native.(T); ok {
		return own, nil
	}
	again, err := f.Read(from.Source)
	if err != nil {
		return own, fmt.Errorf("write %s: read the source again: %w", f.Name(), err)
	}
	return again.Native.(T), nil
}
