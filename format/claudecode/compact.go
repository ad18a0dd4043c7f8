package claudecode

import (
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/format/internal/entries"
	"github.com/winnowhq/winnow/format/internal/jsonl"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/text/span"
)

// pivot composes a compaction: the boundary, at which the chain of parents ends, and the summary in
// the user's name. tail holds the uuids that stay verbatim; the product hangs them behind the
// summary when it reads the file, and what has the summary as its parent behind them.
func (c *composer) pivot(marker, summary *session.Message, tail []string, tokens int) error {
	boundary, anchor := jsonl.UUIDOf(marker.ID), jsonl.UUIDOf(summary.ID)
	trigger := "manual"
	if marker.Marker().Auto {
		trigger = "auto"
	}
	metadata := new(span.Object).With("trigger", trigger, "preTokens", tokens)
	if n := len(tail); n > 0 {
		segment := span.Make("headUuid", tail[0], "anchorUuid", anchor, "tailUuid", tail[n-1])
		messages := span.Make("anchorUuid", anchor, "uuids", tail, "allUuids", tail)
		metadata.With("preservedSegment", segment, "preservedMessages", messages)
	}
	o := new(span.Object).With("parentUuid", nil)
	if c.parent != "" {
		o.Add("logicalParentUuid", c.parent)
	}
	o.With("isSidechain", false, "type", "system", "subtype", "compact_boundary", "content", "Conversation compacted",
		"isMeta", false, "timestamp", c.moment(marker.Time.Created), "uuid", boundary, "level", "info",
		"compactMetadata", metadata.Bytes())
	if err := c.end(o, boundary, marker.ID, marker); err != nil {
		return err
	}
	o = c.speak(span.Quote(entries.Summary(summary)))
	o.With("isVisibleInTranscriptOnly", true, "isCompactSummary", true, "uuid", anchor,
		"timestamp", c.moment(max(summary.Time.Created, summary.Time.Completed)))
	return c.end(o, anchor, summary.ID, summary)
}

// boundary makes a marker.
func (b *builder) boundary(i int, behind []int) {
	e := &b.index.entries[i]
	if e.marks != nil && e.marks.Mirror {
		return // what is behind it is what was before it
	}
	// A boundary of which the summary is lost hides nothing: what came before it is still there to
	// be read, if the product reads it.
	answered, cuts := b.answered(behind), b.index.tree.cut == i
	if !answered && !cuts && !b.ends(i, behind) {
		return
	}
	if e.marks != nil && e.marks.Message != nil && e.marks.Message.Marker() != nil {
		b.kept(i, *e.marks.Message)
		// Messages before it may have got other ids when they were written here.
		if m := &b.messages[len(b.messages)-1]; b.ids[m.Marker().TailStartID] == 0 {
			m.Parts = slices.Clone(m.Parts)
			m.Marker().TailStartID = b.tail(e.compaction())
		}
	} else {
		m := b.begin(i, session.User)
		c := e.compaction()
		b.part(i, 0, session.Part{Type: session.CompactionPart, Auto: c.Trigger == "auto", TailStartID: b.tail(c)})
		b.doc.IsTheirs(b.messages[m].ID)
		b.end(m)
	}
	b.marker, b.marked = len(b.messages)-1, true
	if !answered {
		b.composed(i)
	}
}

// ends reports whether the conversation was gone on with behind a boundary without a summary: a
// hook of the product composed what it was gone on with.
func (b *builder) ends(i int, behind []int) bool {
	boundary := b.index.tree.all[i].uuid
	return boundary != 0 && slices.ContainsFunc(behind,
		func(at int) bool { return b.index.tree.all[at].parent == boundary })
}

// composed appends the summary of a compaction that has none: it says nothing, and what comes
// behind it is what the model sees. The calls before it come again with their ids.
func (b *builder) composed(i int) {
	marker := &b.messages[b.marker]
	b.messages = append(b.messages, session.Message{MessageInfo: session.MessageInfo{
		ID: b.ids.New(marker.ID + ":summary"), Role: session.Assistant, Summary: jsontext.Value("true"), Finish: "stop",
		Mode: "compaction", Agent: "compaction", ParentID: marker.ID,
		Time: session.MessageTime{Created: marker.Time.Created, Completed: marker.Time.Created},
	}})
	b.marked = false
	clear(b.groups)
	clear(b.calls)
}

// answered reports whether a summary comes before the next boundary.
func (b *builder) answered(behind []int) bool {
	for _, i := range behind {
		switch e := &b.index.entries[i]; {
		case e.boundary():
			return false
		case e.Summed:
			return true
		}
	}
	return false
}

// compaction is what a boundary says about its compaction. The preserved entries are hung behind
// the summary.
type compaction struct {
	Trigger string `json:"trigger"`
	Segment struct {
		Head   string `json:"headUuid"`
		Anchor string `json:"anchorUuid"`
		Tail   string `json:"tailUuid"`
	} `json:"preservedSegment"`
	Messages struct {
		Anchor string   `json:"anchorUuid"`
		UUIDs  []string `json:"uuids"`
	} `json:"preservedMessages"`
}

func (e *entry) compaction() (c compaction) {
	if json.Unmarshal(e.of(e.Compact), &c, session.ReadOptions()) != nil {
		return compaction{}
	}
	return c
}

// last is the uuid of the last entry that is preserved, "" without one.
func (c compaction) last() string {
	if n := len(c.Messages.UUIDs); n > 0 {
		return c.Messages.UUIDs[n-1]
	}
	return c.Segment.Tail
}

// tail is the id of the message at which the preserved part begins, "" without one.
func (b *builder) tail(c compaction) string {
	for _, uuid := range append(c.Messages.UUIDs, c.Segment.Head) {
		if i := b.index.tree.find(uuid); i >= 0 && b.index.owner[i] >= 0 {
			return b.messages[b.index.owner[i]].ID
		}
	}
	return ""
}

func (b *builder) summary(i int) {
	e := &b.index.entries[i]
	if !b.marked { // older versions wrote none
		m := b.begin(i, session.User)
		b.messages[m].ID = b.ids.New(e.UUID + ":marker")
		b.messages[m].Parts = []session.Part{{ID: b.parts.New(e.UUID + ":marker"), Type: session.CompactionPart}}
		b.ids[e.UUID]--
		b.doc.IsTheirs(b.messages[m].ID)
		b.user, b.marker, b.marked = b.messages[m].ID, m, true
	}
	if e.marks != nil && e.marks.Message != nil {
		b.kept(i, *e.marks.Message)
	} else {
		m := b.begin(i, session.Assistant)
		s := &b.messages[m]
		s.Summary, s.Finish, s.Mode, s.Agent = jsontext.Value("true"), "stop", "compaction", "compaction"
		s.ParentID, s.Time.Completed = b.messages[b.marker].ID, e.time
		for at, block := range blocks(e.content()) {
			if block.Kind == "text" {
				b.part(i, at, session.Part{Type: session.TextPart, Text: span.String(block.text())})
			}
		}
	}
	b.marked = false
	clear(b.groups)
}

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
		case x.tree.cuts(i, x.tree.named(x.tree.all[i].parent)) && x.tree.bridge(i) == 0:
			b.First = x.entries[i].line // in a large file the session begins with it
			return b, true
		case parent < 0 || parent == boundary || x.tree.all[i].has(bounding):
			return format.Bypass{}, false
		case parent < boundary:
			b.First = x.entries[i].line
			c, uuid := x.entries[boundary].compaction(), x.entries[parent].UUID
			return b, uuid != c.Segment.Tail && !slices.Contains(c.Messages.UUIDs, uuid)
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
