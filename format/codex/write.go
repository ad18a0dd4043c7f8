package codex

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/format/internal/entries"
	"github.com/winnowhq/winnow/format/internal/jsonl"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/text/span"
)

var _ format.Format = Format{}

// Write writes a rollout that the product opens and goes on from. Lines that the change does not
// touch are written as they were read; elided lines hold what is shown, and the original in their
// member "winnow"; a pivot is a compacted line whose replacement_history is the new window.
func (f Format) Write(out io.Writer, from *format.Document, change format.Change) error {
	change = change.Settled()
	w := &writer{change: change, from: &native{}, made: map[string][][]byte{}, time: change.Session.Info.Time.Created}
	var err error
	if from == nil || from.Format != name {
		err = w.head()
	} else if _, goesOn := baseOf(from.Source); goesOn && !behindBase(from) {
		err = errBase
	} else {
		err = w.old(f, from)
	}
	if err == nil {
		err = w.append()
	}
	if err != nil {
		return err
	}
	if w.from.before > 0 {
		return w.behind(out)
	}
	return w.pieces(out)
}

// old takes over what was read, and plans what changes of it.
func (w *writer) old(f Format, from *format.Document) error {
	n, err := entries.Native[*native](f, from)
	if err != nil {
		return err
	}
	w.src, w.from = n.src, n
	w.ordinals, w.next, w.at = n.mode.ordinals, n.mode.last+1, n.next
	for i := range slices.Backward(n.lines) {
		if w.time = n.lines[i].created(w.src); w.time != 0 {
			break
		}
	}
	if err := w.plan(from.Session.Messages); err != nil {
		return err
	}
	w.rest()
	return nil
}

type writer struct {
	src    []byte
	from   *native
	change format.Change

	removed map[int32]bool
	changed map[int32][]byte // lines that are written anew
	aims    map[int32][]aim
	made    map[string][][]byte // what is shown of the items of a message that is new

	ordinals bool
	next     int64          // ordinal
	at       int            // place in the order of the ledger
	time     session.Millis // of the newest line

	tail bytes.Buffer // new lines
}

// undone reports whether a message goes with a pivot that was undone.
func (w *writer) undone(m *session.Message) bool { return m.IsUndone(w.change.Undone) }

// plan decides which of the lines that were read are left out and which are written anew.
func (w *writer) plan(read []session.Message) error {
	w.removed, w.changed, w.aims = map[int32]bool{}, map[int32][]byte{}, map[int32][]aim{}
	for i := range read {
		if w.undone(&read[i]) {
			for _, at := range w.from.owned[read[i].ID] {
				w.removed[at] = true
			}
		}
	}
	for at, m := range w.from.marks {
		if m.Pivot != "" && w.change.Undone[m.Pivot] {
			w.removed[at] = true
		}
	}
	if err := w.aimAll(); err != nil {
		return err
	}
	for at := range w.from.lines {
		if err := w.replan(int32(at)); err != nil {
			return err
		}
	}
	return nil
}

// aimAll finds the lines that each elision is about.
func (w *writer) aimAll() error {
	for _, e := range w.change.Ledger.All() {
		where, ok := w.from.places[e.Part]
		if !ok {
			if _, fresh := session.FindPart(w.change.Session.Messages, e.Part); fresh == nil {
				return fmt.Errorf("write %s: the elision of %s (rule %s) is about a part that is not in the session",
					name, e.Part, e.Rule)
			}
			continue
		}
		at := w.at
		w.at++
		call, result := jsonl.Shows(e.Field, where.output >= 0)
		if w.folds() && (result && w.others(where.output, e) || call && w.others(where.line, e)) {
			continue
		}
		if result {
			w.aims[where.output] = append(w.aims[where.output], aim{elided{e, at}, whole})
		}
		if call {
			w.aims[where.line] = append(w.aims[where.line], aim{elided{e, at}, int(where.element)})
		}
	}
	return nil
}

// replan writes a line anew if its elisions have changed since it was read.
func (w *writer) replan(at int32) error {
	m, aims := w.from.marks[at], w.aims[at]
	if m == nil && len(aims) == 0 {
		return nil
	}
	var had []elided
	if m != nil {
		had = m.Elisions
	}
	same := len(had) == len(aims)
	for i := range aims {
		before := slices.IndexFunc(had, func(h elided) bool { return h.Key() == aims[i].Key() })
		if before < 0 {
			same = false
			continue
		}
		aims[i].At = had[before].At
		same = same && had[before].Elision == aims[i].Elision
	}
	if same || w.removed[at] {
		return nil
	}
	l := &w.from.lines[at]
	text, err := rebuild(l.text(w.src), l, m, aims)
	if err != nil {
		return fmt.Errorf("write %s: line %d: %w", name, l.number, err)
	}
	w.changed[at] = text
	return nil
}

// rest rewrites our pivots whose tail has lines that are written anew.
func (w *writer) rest() {
	if len(w.changed) == 0 {
		return
	}
	messages := w.change.Session.Messages
	for i := range w.from.lines {
		l, at := &w.from.lines[i], int32(i)
		m := w.from.marks[at]
		if m == nil || w.removed[at] || l.kind != compactedLine {
			continue
		}
		for i := range m.Messages {
			s := session.Index(messages, m.Messages[i].ID)
			if !m.Messages[i].Completes() || s < 0 {
				continue
			}
			tail, touched := w.window(s)
			if !touched {
				continue
			}
			text, anew := w.changed[at]
			if !anew {
				text = l.text(w.src)
			}
			history := span.Array(w.history(&messages[s], at, tail))
			w.changed[at] = span.Update(text, history, "payload", "replacement_history")
		}
	}
}

// append writes what is new in the session.
func (w *writer) append() error {
	messages := w.change.Session.Messages
	for i := 0; i < len(messages); i++ {
		m := &messages[i]
		if _, read := w.from.owned[m.ID]; read || w.undone(m) {
			continue
		}
		w.time = cmp.Or(m.Time.Created, w.time)
		var err error
		switch {
		case m.Marker() != nil && i+1 < len(messages) && messages[i+1].Completes() && messages[i+1].ParentID == m.ID:
			i++
			err = w.pivot(i, m)
		case m.Completes() && session.Index(messages[:i], m.ParentID) >= 0:
			err = w.pivot(i, nil)
		case m.Marker() != nil || m.IsSummary():
			err = w.aside(m)
		default:
			err = w.message(m)
		}
		if err != nil {
			return fmt.Errorf("write %s: message %s: %w", name, m.ID, err)
		}
	}
	return nil
}

// message writes a message as response items.
func (w *writer) message(m *session.Message) error {
	made := items(m)
	if len(made) == 0 {
		return w.aside(m)
	}
	held := make([]int, len(m.Parts))
	for i := range made {
		for _, part := range made[i].parts {
			held[part]++
		}
	}
	for i := range made {
		mk := mark{Of: m.ID, Parts: made[i].parts}
		if i == 0 {
			mk.Message, mk.Of = skeleton(m, made), ""
		}
		aims := made[i].concerns(m, held, w.change.Ledger)
		if i == 0 { // its line keeps those of parts that no item holds
			for part, n := range held {
				for _, e := range w.change.Ledger.Of(m.Parts[part].ID) {
					if n == 0 {
						aims = append(aims, aim{elided{Elision: e}, nowhere})
					}
				}
			}
		}
		payload, withdrawn := apply(made[i].payload, aims)
		for _, a := range aims {
			a.At = w.at
			w.at++
			mk.Elisions = append(mk.Elisions, a.elided)
		}
		if !bytes.Equal(payload, made[i].payload) {
			mk.Original = made[i].payload
		}
		kind := "response_item"
		if withdrawn {
			mk.Type, kind = kind, oursType
		} else {
			w.made[m.ID] = append(w.made[m.ID], payload)
		}
		if err := w.line(kind, payload, &mk); err != nil {
			return err
		}
	}
	return nil
}

// aside keeps a message that the product has no items for.
func (w *writer) aside(m *session.Message) error {
	mk := mark{Messages: []session.Message{*m}}
	mk.Elisions = w.elisionsOf(m)
	return w.line(oursType, []byte("{}"), &mk)
}

func (w *writer) elisionsOf(m *session.Message) []elided {
	var found []elided
	for i := range m.Parts {
		for _, e := range w.change.Ledger.Of(m.Parts[i].ID) {
			found = append(found, elided{e, w.at})
			w.at++
		}
	}
	return found
}

// line writes a new line. Lines of our own type get no ordinal: the product does not see them, and
// counts on.
func (w *writer) line(kind string, payload []byte, m *mark) error {
	o := new(span.Object).With("timestamp", jsonl.Stamp(w.time))
	if w.ordinals && kind != oursType {
		o.Add("ordinal", w.next)
		w.next++
	}
	o.With("type", kind, "payload", payload)
	text := o.Bytes()
	if m != nil {
		var err error
		if text, err = m.on(text); err != nil {
			return err
		}
	}
	w.tail.Write(text)
	w.tail.WriteByte('\n')
	return nil
}

// flush writes the file: what was read, with what was planned for it, and the new lines.
func (w *writer) pieces(out io.Writer) error {
	var edits []span.Edit
	kept := w.lastKept()
	for i := range w.from.lines {
		l := &w.from.lines[i]
		changed, anew := w.changed[int32(i)]
		if !w.removed[int32(i)] && !anew {
			continue
		}
		at := l.json
		// Messages of files without ordinals are named by their line: an empty line keeps the place
		// of one that is left out.
		if !anew && (l.hasOrdinal || kept < int32(i)) {
			if end := bytes.IndexByte(w.src[at.End:], '\n'); end >= 0 {
				at.End += end + 1
			}
		}
		edits = append(edits, span.Edit{Span: at, With: changed})
	}
	if n := len(w.src); w.tail.Len() > 0 && n > 0 && w.src[n-1] != '\n' {
		edits = append(edits, span.Edit{Span: span.Span{Start: n, End: n}, With: []byte{'\n'}})
	}
	edits = append(edits, span.Edit{Span: span.Span{Start: len(w.src), End: len(w.src)}, With: w.tail.Bytes()})
	for piece := range span.Pieces(w.src, edits...) {
		if _, err := out.Write(piece); err != nil {
			return fmt.Errorf("write %s: %w", name, err)
		}
	}
	return nil
}

// lastKept is the last of the lines that were read and stay.
func (w *writer) lastKept() int32 {
	for i := int32(len(w.from.lines)) - 1; i >= 0; i-- {
		if !w.removed[i] {
			return i
		}
	}
	return -1
}

// Graft numbers lines on from the end of the rollout, where they are numbered. See format.Grafter.
func (Format) Graft(lines []byte, from, onto *format.Document) []byte {
	n, ok := from.Native.(*native)
	to, known := onto.Native.(*native)
	if !ok || !known || n.mode.last == to.mode.last {
		return lines
	}
	var edits []span.Edit
	for l := range span.Lines(lines) {
		line := l.Text.Of(lines)
		at := span.Find(line, span.All(line), "ordinal")
		if ordinal, err := strconv.ParseInt(string(at.Of(line)), 10, 64); err == nil && !at.Empty() {
			next := strconv.AppendInt(nil, ordinal-n.mode.last+to.mode.last, 10)
			edits = append(edits, span.Edit{Span: at.Shift(l.Text.Start), With: next})
		}
	}
	return span.Splice(lines, edits...)
}
