package claudecode

import (
	"cmp"
	"slices"

	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/format/internal/jsonl"
	"github.com/winnowhq/winnow/text/span"
)

var _ format.Repairer = Format{}

// Codes of faults.
const (
	// Unanchored is a compaction of a hook whose copies lead back to what was compacted: the
	// product sends all of it again once the session is resumed, or, if the file is large, only the
	// last of the copies.
	Unanchored = "unanchored"
	// SplitCalls are parallel calls that a hook put into a message each: the product does not find
	// the results of all but the last.
	SplitCalls = "split-calls"
	// BeginsWithAnswer is a conversation that begins with the assistant: the provider refuses it.
	BeginsWithAnswer = "begins-with-answer"
	// BrokenChain is an entry whose parent is not in the file: some versions of the product end the
	// conversation there.
	BrokenChain = "broken-chain"
)

// Faults finds what the product would resume otherwise than it was meant. See format.Repairer.
func (Format) Faults(doc *format.Document) (found []format.Fault) {
	x, ok := doc.Native.(*index)
	if !ok || len(x.active) == 0 {
		return nil
	}
	r := &repair{x, doc.Source}
	if fault, is := r.unanchored(); is {
		found = append(found, fault)
	}
	found = append(found, r.splitCalls()...)
	if fault, is := r.beginsWithAnswer(); is {
		found = append(found, fault)
	}
	found = append(found, r.brokenChain()...)
	slices.SortStableFunc(found, func(a, b format.Fault) int { return a.Line - b.Line })
	return found
}

type repair struct {
	*index
	source []byte
}

// edit gives a member another value in the line of an entry.
func (r *repair) edit(e *entry, value []byte, path ...string) span.Edit {
	line := e.at.Of(r.source)
	if at := span.Find(line, span.All(line), path...); !at.Empty() {
		return span.Edit{Span: at.Shift(e.at.Start), With: value}
	}
	return span.Edit{Span: e.at, With: span.Set(line, "", value, path...)}
}

// unanchored looks at the newest boundary: results behind it that still hang on calls before it
// lead the product past it. What was copied is then listed as preserved, from the first entry
// behind the boundary to the last of these results. Where anything else goes past it, the user went
// back.
func (r *repair) unanchored() (format.Fault, bool) {
	t := r.tree
	at := len(t.nodes) - 1
	for at >= 0 && !t.all[t.nodes[at]].has(bounding) {
		at--
	}
	if at < 0 {
		return format.Fault{}, false
	}
	boundary := int(t.nodes[at])
	behind := t.nodes[at+1:]
	anchor, last, lost := -1, -1, boundary != t.cut
	for at, i := range behind {
		e := &t.all[i]
		if e.has(summarising) || e.uuid == 0 || int(t.at[e.uuid]) != int(i) {
			return format.Fault{}, false
		}
		switch p := t.named(e.parent); {
		case anchor < 0 && p == boundary:
			anchor = at
		case p >= 0 && p < boundary:
			if anchor < 0 || !e.has(resulting) || !t.all[p].has(fromModel) {
				return format.Fault{}, false
			}
			last, lost = at, lost || t.bridge(int(i)) == 0
		}
	}
	b := &r.entries[boundary]
	if last < 0 || !lost || t.all[boundary].has(preserving) || b.Compact.Empty() {
		return format.Fault{}, false
	}
	var uuids []string
	for _, i := range behind[anchor+1 : last+1] {
		uuids = append(uuids, r.entries[i].UUID)
	}
	first := r.entries[behind[anchor]].UUID
	segment := span.Make("headUuid", uuids[0], "anchorUuid", first, "tailUuid", uuids[len(uuids)-1])
	messages := span.Make("anchorUuid", first, "uuids", uuids, "allUuids", uuids)
	metadata := span.Set(b.of(b.Compact), "", segment, "preservedSegment")
	metadata = span.Set(metadata, "", messages, "preservedMessages")
	what := "the product ignores the compaction once the session is resumed, and sends what was compacted again"
	if boundary == t.cut {
		what = "the product sends only the end of what the compaction kept, once the session is resumed"
	}
	return format.Fault{
		Code: Unanchored, Line: b.line, What: what,
		Edits: []span.Edit{r.edit(b, metadata, "compactMetadata")},
	}, true
}

// splitCalls joins the messages of calls of which the product does not find the results: what a
// hook wrote in the model's name between one message of the user's and the next is one message.
func (r *repair) splitCalls() (found []format.Fault) {
	parted := map[string]bool{}
	for _, e := range r.parted {
		parted[e.Part] = true
	}
	var group []int // entries
	end := func() {
		split := slices.IndexFunc(group, func(i int) bool {
			return slices.ContainsFunc(blocks(r.entries[i].content()),
				func(b block) bool { return parted[r.partOf(i, b.ID)] })
		})
		if split >= 0 {
			first := &r.entries[group[0]]
			fault := format.Fault{Code: SplitCalls, Line: r.entries[group[split]].line,
				What: "the product does not find the results of parallel calls, because a message was made of each"}
			for _, i := range group[1:] {
				fault.Edits = append(fault.Edits, r.edit(&r.entries[i], span.Quote(first.Message.ID), "message", "id"))
			}
			found = append(found, fault)
		}
		group = nil
	}
	for _, i := range r.active {
		switch e := &r.entries[i]; {
		case e.Kind == "assistant" && isSynthetic(e.Message.Model) && e.Message.ID != "":
			group = append(group, i)
		case e.speaks() || e.boundary():
			end()
		}
	}
	end()
	return found
}

// partOf is the id of the part that a call in an entry became.
func (x *index) partOf(entry int, call string) string {
	if call == "" {
		return ""
	}
	for i := range x.messages[x.owner[entry]].Parts {
		p := &x.messages[x.owner[entry]].Parts[i]
		if p.CallID == call && x.places[p.ID].entry == entry {
			return p.ID
		}
	}
	return ""
}

// beginsWithAnswer puts a user's message before an answer with which the conversation begins.
func (r *repair) beginsWithAnswer() (format.Fault, bool) {
	for at, i := range r.active {
		e := &r.entries[i]
		if !e.speaks() {
			if e.boundary() {
				return format.Fault{}, false // what is behind it is checked where it was made
			}
			continue
		}
		if e.Kind == "user" || e.Message.ID == "" || at > 0 && r.tree.parent(i) >= 0 {
			return format.Fault{}, false
		}
		id := jsonl.UUID("winnow begins " + e.UUID)
		o := new(span.Object).With("parentUuid", nil, "isSidechain", e.Side, "type", "user",
			"message", span.Make("role", "user", "content", "[The beginning of this conversation is lost.]"),
			"isMeta", true, "uuid", id, "timestamp", cmp.Or(e.Timestamp, jsonl.Stamp(e.time)),
			"userType", "external", "cwd", e.Cwd, "sessionId", e.Session)
		o.Add("version", e.Version)
		before := span.Edit{Span: span.Span{Start: e.whole.Start, End: e.whole.Start}, With: append(o.Bytes(), '\n')}
		return format.Fault{
			Code: BeginsWithAnswer, Line: e.line,
			What:  "the conversation begins with an answer, and the provider refuses it",
			Edits: []span.Edit{before, r.edit(e, span.Quote(id), "parentUuid")},
		}, true
	}
	return format.Fault{}, false
}

// brokenChain hangs entries whose parents are lost on the entry before them. If that is a
// compaction whose summary is lost, the entry before the compaction is taken: nothing is hidden.
func (r *repair) brokenChain() (found []format.Fault) {
	for _, i := range r.active {
		n := &r.tree.all[i]
		if n.parent == 0 || n.has(bounding) || r.tree.named(n.parent) >= 0 || n.uuid == 0 {
			continue
		}
		before := int(r.tree.order[i])
		for before >= 0 && r.tree.all[r.tree.nodes[before]].has(bounding) {
			before--
		}
		if before < 0 {
			continue
		}
		e, to := &r.entries[i], r.entries[r.tree.nodes[before]].UUID
		if to == "" {
			continue
		}
		found = append(found, format.Fault{
			Code: BrokenChain, Line: e.line,
			What:  "the entry that it continues is missing: some versions of the product resume only what follows",
			Edits: []span.Edit{r.edit(e, span.Quote(to), "parentUuid")},
		})
	}
	return found
}
