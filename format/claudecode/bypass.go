package claudecode

import (
	"slices"

	"github.com/go-json-experiment/json"

	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/session"
)

// Bypassed finds the last compaction, if the branch leads past it. See format.Linked. What a
// compaction preserves is hung behind its summary: a branch that goes on from there comes after it.
// If the user went back to before a compaction, the newest node is before it too, and nothing is
// bypassed.
func (Format) Bypassed(doc *format.Document) (format.Bypass, bool) {
	x, ok := doc.Native.(*index)
	if !ok {
		return format.Bypass{}, false
	}
	boundary := x.lastCompaction()
	if boundary < 0 || x.leaf <= boundary {
		return format.Bypass{}, false
	}
	b := format.Bypass{Line: x.entries[boundary].line}
	i := x.leaf
	for range x.entries {
		b.Entries++
		parent := x.tree.parent(i)
		switch {
		case parent < 0 || parent == boundary || x.tree.all[i].has(bounding):
			return format.Bypass{}, false
		case parent < boundary:
			b.First = x.entries[i].line
			return b, !slices.Contains(x.preserved(boundary), x.entries[parent].UUID)
		}
		i = parent
	}
	return format.Bypass{}, false // a circle
}

// lastCompaction is the position of the last boundary that has its summary, -1 without one.
func (x *index) lastCompaction() int {
	summaries := map[name]bool{}
	for _, at := range slices.Backward(x.tree.nodes) {
		e := &x.tree.all[at]
		if e.has(summarising) {
			summaries[e.parent] = true
		}
		if e.has(bounding) && summaries[e.uuid] {
			return int(at)
		}
	}
	return -1
}

// preserved are the uuids that a compaction keeps behind its summary.
func (x *index) preserved(boundary int) []string {
	var metadata struct {
		Segment struct {
			Tail string `json:"tailUuid"`
		} `json:"preservedSegment"`
		Messages struct {
			UUIDs []string `json:"uuids"`
		} `json:"preservedMessages"`
	}
	if json.Unmarshal(x.entries[boundary].of(x.entries[boundary].Compact), &metadata, session.ReadOptions()) != nil {
		return nil
	}
	return append(metadata.Messages.UUIDs, metadata.Segment.Tail)
}
