package qwen

import (
	"slices"

	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/format/internal/gemini"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/text/span"
)

// compression adds a compression: a marker, and as its summary the texts that stand for what went
// before. Contents at the end that the model was sent before are the tail.
func (r *reader) compression(i int) {
	one := &r.records[i]
	var payload struct {
		History []span.Span `json:"compressedHistory"`
		Info    struct {
			Reason string `json:"triggerReason"`
		} `json:"info"`
	}
	raw := one.Payload.Of(one.raw)
	if span.Decode(raw, &payload) != nil || len(payload.History) == 0 {
		return
	}
	var all []listedContent
	for _, at := range payload.History {
		list := span.Get(at.Of(raw), "parts")
		all = append(all, listedContent{span.String(span.Get(at.Of(raw), "role")), list, gemini.Parts(list)})
	}
	tail := r.repeated(one, all)
	head := all[:len(all)-len(tail)]
	var first string // message that the tail begins with
	for _, c := range tail {
		if c != nil && len(c.messages) > 0 {
			first = c.messages[0]
			break
		}
	}
	marker, summary := r.pivot(one, head, payload.Info.Reason != "manual", first)
	r.owner[marker], r.owner[summary] = i, i
	r.said = nil
	for _, one := range head {
		r.said = append(r.said, &content{role: one.role, says: gemini.Says(one.parts), messages: []string{summary}})
	}
	for _, c := range tail {
		if c != nil {
			r.said = append(r.said, c)
		}
	}
}

// listedContent is a content of a compressed history.
type listedContent struct {
	role  string // user or model
	list  []byte // of its parts
	parts []gemini.Part
}

// pivot adds the marker and the summary of a compression, and returns their ids.
func (r *reader) pivot(one *record, head []listedContent, auto bool, tail string) (marker, summary string) {
	if one.marks != nil && one.marks.Summary != nil {
		m, s := *one.marks.Message, *one.marks.Summary
		m.ID, s.ID = r.ids.New(m.ID), r.ids.New(s.ID)
		r.Fold(m, s, tail)
		return m.ID, s.ID
	}
	marker = r.ids.New(one.UUID)
	r.IsTheirs(marker)
	r.Model = r.model
	s := r.Compaction(marker, r.ids.New(marker+":summary"), one.Timestamp, session.Part{Auto: auto, TailStartID: tail})
	s.Time.Completed = s.Time.Created
	s.Mode, s.Agent = "compaction", "compaction"
	for at, listed := range head {
		c := &content{}
		for i := range listed.parts {
			p := &listed.parts[i]
			if text := p.Words(); text != "" {
				c.holds(p.At, gemini.Slot{Part: r.Add(s, session.Part{Type: session.TextPart, Text: text}).ID})
			}
		}
		one.copies = append(one.copies, repeat{at, listed.list, c.slots})
	}
	return marker, s.ID
}

// repeated finds the contents that the end of a compressed history repeats, and notes them with the
// record. In a compression of ours the record says which they are; one that is lost is nil.
func (r *reader) repeated(one *record, all []listedContent) (tail []*content) {
	if one.marks != nil && one.marks.Summary != nil {
		begin := max(0, len(all)-len(one.marks.Tail))
		for k, uuid := range one.marks.Tail[len(one.marks.Tail)-(len(all)-begin):] {
			c := r.named[uuid]
			if tail = append(tail, c); c != nil {
				one.copies = append(one.copies, repeat{begin + k, all[begin+k].list, c.aligned(all[begin+k].parts)})
			}
		}
		return tail
	}
	for n := len(all) - 1; n >= 0 && len(tail) < len(r.said); n-- {
		c := r.said[len(r.said)-1-len(tail)]
		says := gemini.Says(all[n].parts)
		if c.role != all[n].role || says != c.says && (c.shows == "" || says != c.shows) {
			break
		}
		tail = append(tail, c)
		if says != c.says { // what the product was sent: with our elisions
			one.copies = append(one.copies, repeat{n, c.parts, c.slots})
			one.have = append(slices.Clip(one.have), c.elisions...)
		} else {
			one.copies = append(one.copies, repeat{n, all[n].list, c.aligned(all[n].parts)})
		}
	}
	slices.Reverse(tail)
	return tail
}

// aligned are the slots of parts that repeat those of a content, where some may be missing.
func (c *content) aligned(parts []gemini.Part) (slots []gemini.Slot) {
	original := gemini.Parts(c.parts)
	copied := &content{}
	at := 0
	for i := range parts {
		for j := at; j < len(original); j++ {
			o := &original[j]
			if o.Thought == parts[i].Thought && o.Says() == parts[i].Says() && (!o.Thought || o.Text == parts[i].Text) {
				if o.At >= 0 && o.At < len(c.slots) {
					copied.holds(parts[i].At, c.slots[o.At])
				}
				at = j + 1
				break
			}
		}
	}
	return copied.slots
}

// Bypassed finds the last compression, if the branch leads past it. See format.Linked. A rewind to
// before it says so itself.
func (Format) Bypassed(doc *format.Document) (format.Bypass, bool) {
	x, ok := doc.Native.(*index)
	if !ok {
		return format.Bypass{}, false
	}
	newest := -1
	for i := range x.records {
		if one := &x.records[i]; one.Kind == "system" && one.Subtype == "chat_compression" && one.linked() {
			newest = i
		}
	}
	if newest < 0 || slices.Contains(x.path, newest) {
		return format.Bypass{}, false
	}
	b := format.Bypass{Line: x.records[newest].line}
	for _, i := range x.path {
		if i < newest {
			continue
		}
		if x.records[i].Subtype == "rewind" {
			return format.Bypass{}, false
		}
		if b.Entries++; b.First == 0 {
			b.First = x.records[i].line
		}
	}
	return b, b.Entries > 0
}
