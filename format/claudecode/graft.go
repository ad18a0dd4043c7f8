package claudecode

import (
	"slices"

	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/text/span"
)

var _ format.Grafter = Format{}

// Graft hangs on the end of the session what hung on the end of the other one. See format.Grafter.
func (Format) Graft(lines []byte, from, onto *format.Document) []byte {
	x, ok := from.Native.(*index)
	to, known := onto.Native.(*index)
	if !ok || !known {
		return lines
	}
	stock := span.Quote(to.end())
	var edits []span.Edit
	for l := range span.Lines(lines) {
		line := l.Text.Of(lines)
		e, err := parse(line)
		if err != nil {
			continue // a damaged line stays as it is
		}
		for member, parent := range map[string]string{"parentUuid": e.Parent, "logicalParentUuid": e.Logical} {
			if at := span.Find(line, span.All(line), member); !at.Empty() && x.endsAt(parent) {
				edits = append(edits, span.Edit{Span: at.Shift(l.Text.Start), With: stock})
			}
		}
	}
	slices.SortFunc(edits, func(a, b span.Edit) int { return a.Start - b.Start })
	return span.Splice(lines, edits...)
}

// end is the uuid of the entry on which the product hangs what comes next: the newest of the
// branch, or, if that is a summary, the last of the tail, which it hangs behind the summary.
func (x *index) end() string {
	if x.leaf < 0 {
		return ""
	}
	leaf := &x.entries[x.leaf]
	if boundary := x.tree.find(leaf.Parent); leaf.Summed && boundary >= 0 {
		if tail := x.entries[boundary].compaction().last(); x.tree.find(tail) >= 0 {
			return tail
		}
	}
	return leaf.UUID
}

// endsAt reports whether nothing was said in the session behind the entry with this uuid.
func (x *index) endsAt(uuid string) bool {
	if uuid == "" {
		return false
	}
	at := x.tree.find(x.end())
	for range x.entries {
		if at < 0 || x.entries[at].UUID == uuid {
			return at >= 0
		}
		if x.tree.all[at].has(speaking | bounding) {
			return false
		}
		at = x.tree.parent(at)
	}
	return false
}
