package pi

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/format/internal/entries"
	"github.com/winnowhq/winnow/format/internal/jsonl"
	"github.com/winnowhq/winnow/text/span"
)

// file is the index of a session file: its entries, and where in them the session is.
type file struct {
	*entries.File
	lines  []entry // one for every entry, blank and damaged lines included
	header int     // position of the header, -1 if the first entry is not one
	linear bool    // version 1: no ids, the order of the file is the order of the session
	path   []int   // positions of the entries of the active branch, oldest first, without the header
}

func newFile(src []byte, lines int) *file {
	f := &file{File: entries.NewFile(Name, src), header: -1, lines: make([]entry, 0, lines)}
	f.Native = f
	return f
}

// index reads every line of src and finds the active branch.
func index(src []byte) *file {
	f := newFile(src, bytes.Count(src, []byte{'\n'})+1)
	var b branch
	var places []int // of the branch's nodes
	for l := range span.Lines(src) {
		e := entry{gone: true}
		if !l.Text.Empty() {
			var err error
			if e, err = parse(l.Text.Of(src)); err != nil {
				e = entry{gone: true, damaged: true}
				b.damage()
				f.Damaged = append(f.Damaged, jsonl.Damage(l, span.Reason(err, "the line")))
			} else {
				if b.add(&e) {
					f.header = len(f.lines)
				}
				places = append(places, len(f.lines))
			}
		}
		e.whole, e.json, e.line = l.Whole, l.Text, l.Number
		f.lines = append(f.lines, e)
	}
	f.linear = b.linear()
	for _, at := range b.path() {
		f.path = append(f.path, places[at])
	}
	f.Entries = make([]entries.Entry, len(f.lines))
	return f
}

// allInPath makes every entry one of the branch.
func (f *file) allInPath() {
	f.path = f.path[:0]
	for i := range f.lines {
		if e := &f.lines[i]; !e.gone && e.Kind != sessionEntry {
			f.path = append(f.path, i)
		}
	}
}

// nth is the position of the n-th entry that the product sees, -1 if there are fewer.
func (f *file) nth(n int) int {
	for i := range f.lines {
		if f.lines[i].gone {
			continue
		}
		if n == 0 {
			return i
		}
		n--
	}
	return -1
}

// messageID is the id of the message that is made from an entry.
func (f *file) messageID(at int) string {
	if e := &f.lines[at]; !f.linear && e.ID != "" {
		return e.ID
	}
	return fmt.Sprintf("pi_%06d", f.lines[at].line)
}

// branch finds the entries that the product resumes from: those from the root to the last one of
// the file. The product ends the branch at a parent that is not there. If damage is between them,
// the branch goes on at the entry before the damage, for what can be read must not be lost. Before
// and after an entry without an id, which nothing can name as its parent, it follows the order of
// the file. The branch keeps a few bytes an entry. The zero value is ready.
type branch struct {
	names   format.Names
	nodes   []node
	old     bool // the header is of a version without ids
	header  bool // the first entry is a header
	damaged bool // a line could not be read
	recent  bool // since the newest entry
	named   int  // entries with an id
}

// node is an entry as far as the branch needs it.
type node struct {
	id, parent   uint32 // numbers of names
	beforeDamage int32  // the newest entry before the newest damage, -1 without one
	chain        bool   // not a header
}

func (b *branch) damage() { b.damaged, b.recent = true, true }

// add notes the next entry, and reports whether it is the header of the file.
func (b *branch) add(e *entry) (header bool) {
	at := int32(len(b.nodes))
	n := node{id: b.names.Of(e.ID), parent: b.names.Of(e.Parent), beforeDamage: -1, chain: e.Kind != sessionEntry}
	if at > 0 {
		n.beforeDamage = b.nodes[at-1].beforeDamage
		if b.recent && b.nodes[at-1].chain {
			n.beforeDamage = at - 1
		}
	}
	b.recent = false
	if n.chain && n.id > 0 {
		b.named++
	}
	if header = at == 0 && !n.chain && n.id > 0; header {
		b.header, b.old = true, !(e.Version >= 2)
	}
	b.nodes = append(b.nodes, n)
	return header
}

// linear reports whether the order of the file is that of the session.
func (b *branch) linear() bool { return b.header && b.old || !b.header && b.named == 0 }

// path returns the branch from its root on, by the numbers of its entries among those that were
// added.
func (b *branch) path() (path []int32) {
	byID := make([]int32, b.names.Len()+1) // the newest entry of an id, plus one
	leaf := int32(-1)
	for i, n := range b.nodes {
		if !n.chain {
			continue
		}
		if leaf = int32(i); b.linear() {
			path = append(path, leaf)
		}
		if n.id > 0 {
			byID[n.id] = leaf + 1
		}
	}
	if path != nil {
		return path
	}
	in := make([]bool, len(b.nodes))
	for at := leaf; at >= 0 && !in[at]; {
		in[at] = true
		path = append(path, at)
		n := &b.nodes[at]
		before, next := int32(-1), int32(-1)
		if at > 0 && b.nodes[at-1].chain {
			before = at - 1
		}
		if n.parent > 0 {
			next = byID[n.parent] - 1
		}
		switch {
		case before >= 0 && b.nodes[before].id == 0, n.id == 0 && next < 0:
			next = before
		case next < 0 && n.parent > 0 && b.damaged:
			next = n.beforeDamage
		}
		at = next
	}
	slices.Reverse(path)
	return path
}

// Bypassed finds the last compaction, if the branch leads past it. See format.Linked. A branch
// that begins with a summary of the one that was left is the user's own doing.
func (Format) Bypassed(doc *format.Document) (format.Bypass, bool) {
	f, ok := doc.Native.(*file)
	if !ok || f.linear {
		return format.Bypass{}, false
	}
	last := -1
	for i := range f.lines {
		if e := &f.lines[i]; !e.gone && e.Kind == compactionEntry {
			last = i
		}
	}
	if last < 0 {
		return format.Bypass{}, false
	}
	b := format.Bypass{Line: f.lines[last].line}
	for _, at := range f.path {
		switch {
		case at == last || b.First == 0 && at > last && f.lines[at].Kind == branchEntry:
			return format.Bypass{}, false
		case at > last:
			if b.Entries++; b.First == 0 {
				b.First = f.lines[at].line
			}
		}
	}
	return b, b.Entries > 0
}

// Graft makes children of the end of the session of those of the end of the other one. See
// format.Grafter.
func (Format) Graft(lines []byte, from, onto *format.Document) []byte {
	f, ok := from.Native.(*file)
	to, known := onto.Native.(*file)
	if !ok || !known || f.linear || len(f.path) == 0 || len(to.path) == 0 {
		return lines
	}
	end, stock := f.lines[f.path[len(f.path)-1]].ID, to.lines[to.path[len(to.path)-1]].ID
	var edits []span.Edit
	for l := range span.Lines(lines) {
		e, err := parse(l.Text.Of(lines))
		if err == nil && e.Parent == end && end != "" {
			with := span.Update(l.Text.Of(lines), span.Quote(stock), "parentId")
			edits = append(edits, span.Edit{Span: l.Text, With: with})
		}
	}
	return span.Splice(lines, edits...)
}
