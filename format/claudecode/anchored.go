package claudecode

import (
	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/text/span"
)

// Anchored finds the edits that make the product resume what a plugin handed back: the newest
// boundary lists what is behind it as preserved, and every entry says what it repeats, so that the
// log has it once and an undo finds the way back. ok is false if there is no boundary that waits
// for it, or something else is behind it.
func Anchored(doc *format.Document, h Handing) (edits []span.Edit, ok bool) {
	x, native := doc.Native.(*index)
	if !native || len(h.Rows) == 0 {
		return nil, false
	}
	at := len(x.tree.nodes) - 1
	for at >= 0 && !x.tree.all[x.tree.nodes[at]].has(bounding) {
		at--
	}
	if at < 0 {
		return nil, false
	}
	r := &repair{x, doc.Source}
	boundary := int(x.tree.nodes[at])
	b := &r.entries[boundary]
	if x.tree.all[boundary].has(preserving) || b.Compact.Empty() || b.marks != nil {
		return nil, false
	}
	var uuids []string
	add := func(e *entry, m []byte, summary bool) {
		line := e.at.Of(r.source)
		if len(m) > 0 {
			line = span.Set(line, "", m, "winnow")
		}
		if summary {
			line = span.Set(line, "", []byte("true"), "isCompactSummary")
		}
		edits = append(edits, span.Edit{Span: e.at, With: line})
		uuids = append(uuids, e.UUID)
	}
	rows := h.Rows
	beside := newBeside(x, boundary)
	for _, i := range x.tree.nodes[at+1:] {
		e := &r.entries[i]
		matches := len(rows) > 0 && e.speaks() && (rows[0].Print == "" || rows[0].Print == fingerprint(e))
		if !matches && (e.Kind == "assistant" || e.Kind == "user" && (!e.Meta || len(rows) == 0)) {
			break // the product went on, or something else is there
		}
		if !matches {
			of := beside.copyOf(e)
			if of == "" && len(rows) == 0 {
				break // the product went on
			}
			var m []byte
			if of != "" {
				m = marked(&marks{Copy: of})
			}
			add(e, m, false)
			continue
		}
		row := rows[0]
		rows = rows[1:]
		add(e, row.Marks, row.Summary)
	}
	if len(rows) > 0 || len(uuids) < 2 {
		return nil, false
	}
	segment := span.Make("headUuid", uuids[1], "anchorUuid", uuids[0], "tailUuid", uuids[len(uuids)-1])
	messages := span.Make("anchorUuid", uuids[0], "uuids", uuids[1:], "allUuids", uuids[1:])
	line := span.Set(b.at.Of(r.source), "", segment, "compactMetadata", "preservedSegment")
	line = span.Set(line, "", messages, "compactMetadata", "preservedMessages")
	if len(h.Boundary) > 0 {
		line = span.Set(line, "", h.Boundary, "winnow")
	}
	return append([]span.Edit{{Span: b.at, With: line}}, edits...), true
}

// beside finds which entry before a boundary one behind it repeats, of those that plugins are not
// shown: attachments, notices, and what the product says in the user's name.
type beside map[string][]string // fingerprint → uuids, oldest first

func newBeside(x *index, boundary int) beside {
	found := beside{}
	for i := range boundary {
		if e := &x.entries[i]; e.isBeside() && e.UUID != "" {
			print := fingerprint(e)
			found[print] = append(found[print], e.UUID)
		}
	}
	return found
}

// isBeside reports whether an entry belongs to a message that plugins are shown.
func (e *entry) isBeside() bool {
	return e.Kind == "attachment" || e.Kind == "system" && !e.boundary() || e.Kind == "user" && e.Meta
}

func (b beside) copyOf(e *entry) string {
	if !e.isBeside() {
		return ""
	}
	print := fingerprint(e)
	of := b[print]
	if len(of) == 0 {
		return ""
	}
	if len(of) > 1 {
		b[print] = of[1:]
	}
	return of[0]
}

// copied notes that an entry repeats another one: the log has it once, and what is left out of it
// is left out there. It reports whether the other one is known.
func (b *builder) copied(i int) bool {
	x := b.index
	of := x.tree.find(x.entries[i].marks.Copy)
	if of < 0 || of == i || !x.inBranch[of] || x.owner[of] < 0 {
		return of >= 0 && of != i && x.inBranch[of] // it made no message
	}
	x.owner[i] = x.owner[of]
	m := &b.messages[x.owner[of]]
	for j := range m.Parts {
		id := m.Parts[j].ID
		p, known := x.places[id]
		if !known {
			continue
		}
		if p.entry == of {
			p.entry = i
		}
		if p.result == of {
			p.result = i
		}
		x.places[id] = p
	}
	return true
}

// copies gives entries that repeat others, with something left out, the content of those others.
func (x *index) copies() {
	for i := range x.entries {
		e := &x.entries[i]
		if e.marks == nil || e.marks.Copy == "" || e.marks.Elisions == nil || e.marks.Content != nil {
			continue
		}
		of := x.tree.find(e.marks.Copy)
		if of < 0 || of == i || len(x.entries[of].content()) == 0 {
			continue
		}
		line := span.Update(e.raw, x.entries[of].content(), "message", "content")
		if before, err := parse(line); err == nil {
			before.line, before.whole, before.at, before.marks = e.line, e.whole, e.at, e.marks
			*e = before
		}
	}
}
