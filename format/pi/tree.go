package pi

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/format"
)

// file is the index of a session file: its entries, and where in them the session stands.
type file struct {
	entries []entry // one for every line, blank and damaged ones included
	header  int     // position of the header, -1 when the first entry is none
	linear  bool    // version 1: no ids, the order of the file is the order of the session
	path    []int   // positions of the entries of the active branch, oldest first, the header left out

	owner   map[string]int // message id → position of the entry that it was made from
	more    map[int][]int  // position of a message → of the entries that continue it
	from    map[int][]int  // position of a message that a mark gave back → where each part was in the entries, see mark.From
	results map[place]int  // tool part, as the entries have it → position of the entry with its result
}

// place is a part by position: of its message in the session, and in the message.
type place struct{ message, part int }

// index reads every line of src and finds the active branch.
func index(src []byte) (*file, []format.Damage) {
	f := &file{header: -1, owner: map[string]int{}, more: map[int][]int{}, from: map[int][]int{}, results: map[place]int{}}
	f.entries = make([]entry, 0, bytes.Count(src, []byte{'\n'})+1)
	var damaged []format.Damage
	var d decoder
	first := true
	for start, line := 0, 1; start < len(src); line++ {
		end := len(src)
		if at := bytes.IndexByte(src[start:], '\n'); at >= 0 {
			end = start + at + 1
		}
		text := src[start:end]
		if start == 0 {
			text = text[len(text)-len(bytes.TrimPrefix(text, byteOrderMark)):]
		}
		offset := end - len(text)
		e := entry{gone: true}
		if len(bytes.TrimSpace(text)) > 0 {
			var err error
			if e, err = d.line(text); err != nil {
				e = entry{gone: true, damaged: true}
				damaged = append(damaged, format.Damage{Line: line, Offset: int64(start), Bytes: end - start, Reason: reason(err)})
			} else if e.kind == sessionEntry {
				if first && e.id != "" {
					f.header = len(f.entries)
				}
			}
			first = first && e.gone
		}
		e.span, e.line = span{start, end}, line
		e.at.shift(offset - start)
		f.entries = append(f.entries, e)
		start = end
	}
	f.findPath(len(damaged) > 0)
	return f, damaged
}

func (m *members) shift(by int) {
	if by == 0 {
		return
	}
	for _, s := range []*span{&m.parent, &m.firstKept, &m.firstIndex, &m.message, &m.content, &m.summary, &m.winnow} {
		if s.len() > 0 {
			s.start, s.end = s.start+by, s.end+by
		}
	}
}

func reason(err error) string {
	var syntax *jsontext.SyntacticError
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return "the line is cut short"
	case errors.As(err, &syntax):
		return fmt.Sprintf("not JSON at byte %d of the line: %v", syntax.ByteOffset, syntax.Err)
	}
	return err.Error()
}

// findPath finds the entries that the product resumes from: those from the root to the last one of the file. The product ends
// the branch at a parent that is not there; where damage stands between, it is bridged to the entry before, for
// what can be read is not to be lost.
func (f *file) findPath(damaged bool) {
	byID := make(map[string]int, len(f.entries))
	leaf, withID := -1, 0
	for i := range f.entries {
		e := &f.entries[i]
		if e.gone || e.kind == sessionEntry {
			continue
		}
		if e.id != "" {
			byID[e.id] = i
			withID++
		}
		leaf = i
	}
	f.linear = f.header >= 0 && f.entries[f.header].version < 2 || f.header < 0 && withID == 0
	if f.linear {
		f.allInPath()
		return
	}
	seen := make([]bool, len(f.entries))
	for at := leaf; at >= 0 && !seen[at]; {
		seen[at] = true
		f.path = append(f.path, at)
		e := &f.entries[at]
		next, ok := byID[e.parent]
		switch {
		case f.nameless(f.before(at)):
			next = f.before(at)
		case f.nameless(at) && !ok:
			next = f.before(at)
		case e.parent == "":
			next = -1
		case !ok && damaged:
			next = f.beforeDamage(at)
		case !ok:
			next = -1
		}
		at = next
	}
	for i, j := 0, len(f.path)-1; i < j; i, j = i+1, j-1 {
		f.path[i], f.path[j] = f.path[j], f.path[i]
	}
}

// allInPath makes every entry one of the branch.
func (f *file) allInPath() {
	f.path = f.path[:0]
	for i := range f.entries {
		if e := &f.entries[i]; !e.gone && e.kind != sessionEntry {
			f.path = append(f.path, i)
		}
	}
}

// nameless reports whether an entry has no id. Nothing can name it as its parent, so that it goes on from the entry before it in the
// file, and the one behind it goes on from it: what can be read is not to be lost.
func (f *file) nameless(at int) bool { return at >= 0 && f.entries[at].id == "" }

// before is the newest readable entry before a position, the header left out; -1 without one.
func (f *file) before(at int) int {
	for i := at - 1; i >= 0; i-- {
		if e := &f.entries[i]; !e.gone {
			if e.kind == sessionEntry {
				return -1
			}
			return i
		}
	}
	return -1
}

// beforeDamage is the newest readable entry before a damaged line that stands before the entry at this position, or -1.
func (f *file) beforeDamage(at int) int {
	damage := false
	for i := at - 1; i >= 0; i-- {
		switch e := &f.entries[i]; {
		case e.damaged:
			damage = true
		case e.gone:
		case damage && e.kind != sessionEntry:
			return i
		}
	}
	return -1
}

// nth is the position of the n-th entry that the product sees, -1 without one.
func (f *file) nth(n int) int {
	for i := range f.entries {
		if f.entries[i].gone {
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
	if e := &f.entries[at]; !f.linear && e.id != "" {
		return e.id
	}
	return fmt.Sprintf("pi_%06d", f.entries[at].line)
}
