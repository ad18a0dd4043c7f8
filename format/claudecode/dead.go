package claudecode

import (
	"bytes"
	"slices"

	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/format/internal/jsonl"
	"github.com/winnowhq/winnow/text/span"
)

var _ format.Shrinker = Format{}

// Dead finds the bytes that the product does not read again, by the rules with which version 2.1
// reads a file. It drops progress records, and hangs their children on their nearest other
// ancestor; of the file-history snapshots of a message it takes the last. It sends no picture that
// is folded or that a mark of ours leaves out. See format.Shrinker.
func (Format) Dead(doc *format.Document) (dead []format.Dead) {
	x, native := doc.Native.(*index)
	if !native {
		return nil
	}
	d := &shrinking{index: x, source: doc.Source}
	d.progress(doc.Damaged)
	replaced, pictures := d.replacedSnapshots(), d.pictures(doc)
	add := func(kind string, edits ...span.Edit) {
		for _, edit := range edits {
			dead = append(dead, format.Dead{Edit: edit, Kind: kind})
		}
	}
	for i := range x.entries {
		e := &x.entries[i]
		switch {
		case d.gone[e.UUID] == i+1:
			add(format.Progress, span.Edit{Span: e.whole})
			continue
		case replaced[i]:
			add(format.Snapshots, span.Edit{Span: e.whole})
			continue
		case d.gone[e.Parent] > 0 && e.Parent != "":
			at := span.Find(d.source, e.at, "parentUuid")
			add(format.Progress, span.Edit{Span: at, With: d.ancestor(e.Parent)})
		}
		add(format.Pictures, pictures[i]...)
	}
	slices.SortFunc(dead, func(a, b format.Dead) int { return a.Start - b.Start })
	return dead
}

type shrinking struct {
	*index
	source []byte
	gone   map[string]int // uuid of a progress record that is taken out → its position, plus one
}

// line is an entry as it is written, with marks of ours.
func (d *shrinking) line(i int) []byte { return d.entries[i].at.Of(d.source) }

// ends reports whether a line has its line break, so that it can be taken out.
func (d *shrinking) ends(i int) bool {
	whole := d.entries[i].whole.Of(d.source)
	return len(whole) > 0 && whole[len(whole)-1] == '\n'
}

// progress finds the progress records that can be taken out: nothing names them but what comes
// after them as its parent, and they tell of no request of a sub-agent that was paid for.
func (d *shrinking) progress(damaged []format.Damage) {
	d.gone = map[string]int{}
	number := map[string]int{} // of the entries with a uuid
	for i := range d.entries {
		e := &d.entries[i]
		if number[e.UUID]++; e.Kind == "progress" && e.UUID != "" && d.ends(i) && !e.billed() {
			d.gone[e.UUID] = i + 1
		}
	}
	for uuid := range d.gone {
		if number[uuid] > 1 {
			delete(d.gone, uuid)
		}
	}
	for _, at := range damaged {
		d.keepNamed(d.source[at.Offset:at.Offset+int64(at.Bytes)], -1)
	}
	for before := -1; before != len(d.gone) && len(d.gone) > 0; { // one that stays may name another
		before = len(d.gone)
		boundary := -1
		for i := range d.entries {
			e := &d.entries[i]
			if e.boundary() {
				boundary = i
			}
			// The product knows the ancestor of a record that it has read since the boundary.
			if at := d.gone[e.Parent]; at > 0 && (at > i || at-1 < boundary) {
				delete(d.gone, e.Parent)
			}
			if d.gone[e.UUID] != i+1 {
				line := d.line(i)
				d.keepNamed(line, span.Find(line, span.All(line), "parentUuid").Start)
			}
		}
	}
}

// billed reports whether a progress record tells what a request of a sub-agent took.
func (e *entry) billed() bool {
	data := e.of(e.Data)
	return bytes.Contains(data, []byte(`"agent_progress"`)) && bytes.Contains(data, []byte(`"usage"`))
}

// keepNamed keeps the progress records that a line names, but for the parent that is at an offset.
func (d *shrinking) keepNamed(line []byte, parent int) {
	for at := 0; at < len(line); {
		open := bytes.IndexByte(line[at:], '"')
		if open < 0 {
			return
		}
		open += at + 1
		end := bytes.IndexByte(line[open:], '"')
		if end < 0 {
			return
		}
		end += open
		if d.gone[string(line[open:end])] > 0 && open-1 != parent {
			delete(d.gone, string(line[open:end]))
		}
		at = end
	}
}

// ancestor is the nearest ancestor that is not taken out, as JSON.
func (d *shrinking) ancestor(uuid string) []byte {
	for d.gone[uuid] > 0 {
		uuid = d.entries[d.gone[uuid]-1].Parent
	}
	return jsonl.OrNull(uuid)
}

// replacedSnapshots finds the file-history snapshots that a later one of the same message replaces.
func (d *shrinking) replacedSnapshots() map[int]bool {
	newest, replaced := map[string]int{}, map[int]bool{}
	for i := range d.entries {
		if d.entries[i].Kind != "file-history-snapshot" || !d.ends(i) {
			continue
		}
		message := span.String(span.Get(d.line(i), "messageId"))
		if message == "" {
			continue
		}
		if before, known := newest[message]; known {
			replaced[before] = true
		}
		newest[message] = i
	}
	return replaced
}
