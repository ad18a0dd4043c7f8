package opencode

import (
	"bytes"
	"cmp"
	"maps"
	"slices"

	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/text/span"
)

// editor writes a change into the text of the export that it was made from.
type editor struct {
	src    []byte
	native *native
	from   *format.Document
	change format.Change
	// settle is set if messages are appended to a session of which the user took back the end: the
	// product would delete them with it, so that end is left out as the next prompt would do.
	settle bool
	// doubtful is set if what is kept of the file may not be JSON.
	doubtful bool
}

// edit returns the new text. If the file was so damaged that the rest of its text is not JSON, the
// pieces concerned are written anew from what was read of them.
func (e *editor) edit(appended []*session.Message) ([]byte, error) {
	e.settle = e.native.reverted && len(appended) > 0
	e.doubtful = len(e.from.Damaged) > 0 || e.native.loose
	enc := e.encoder()
	list, err := e.list(appended, enc)
	if err != nil {
		return nil, err
	}
	if text := e.assemble(list, enc); !e.doubtful || sound(text) {
		return text, nil
	}
	return e.rebuild(list, enc), nil
}

// sound reports whether a text is one JSON value, as far as the decoder goes down.
func sound(text []byte) bool {
	err := span.Check(text)
	return err == nil || span.TooDeep(err)
}

// encoder is one that knows what the file has and will keep.
func (e *editor) encoder() *encoder {
	names := newNames(e.inFile(e.from.Session.Info.ID))
	maps.Copy(names.given, e.native.given)
	enc := newEncoder(names, &e.from.Session.Info, e.change.Ledger)
	for i := range e.from.Session.Messages {
		if m := &e.from.Session.Messages[i]; !m.IsUndone(e.change.Undone) {
			enc.seen(m)
		}
	}
	return enc
}

// list returns the text between the brackets of the list of messages. A message that is not JSON is
// written anew.
func (e *editor) list(appended []*session.Message, enc *encoder) ([]byte, error) {
	var list []byte
	lead, end := e.style()
	at := e.native.list.Start + 1 // where the entry before ended
	for i := range e.native.entries {
		entry := &e.native.entries[i]
		gap := e.src[at:entry.Start]
		at = entry.End
		if entry.broken || e.settle && entry.aside {
			continue
		}
		var text []byte
		if entry.at >= 0 {
			m := &e.from.Session.Messages[entry.at]
			if m.IsUndone(e.change.Undone) {
				continue
			}
			text = e.message(entry, m, enc)
		} else {
			text = entry.Of(e.src)
		}
		if e.doubtful && !sound(text) || e.settle && entry.trimmed {
			if entry.at < 0 {
				continue
			}
			text = e.anew(entry, &e.from.Session.Messages[entry.at], lead, enc)
		}
		switch white := len(bytes.Trim(gap, ", \t\r\n")) == 0; {
		case len(list) == 0:
			list = append(list, lead...)
		case white && bytes.Count(gap, []byte(",")) == 1:
			list = append(list, gap...)
		default:
			list = append(append(list, ','), lead...)
		}
		list = append(list, text...)
	}
	return enc.list(list, appended, lead, end)
}

// inFile is the id that the file has for an id of the log.
func (e *editor) inFile(id string) string { return cmp.Or(e.native.given[id], id) }

// style is the white space before each message and before the end of the list.
func (e *editor) style() (lead, close string) {
	if len(e.native.entries) > 0 {
		first := e.native.entries[0]
		lead = string(e.src[e.native.list.Start+1 : first.Start])
		if len(bytes.TrimSpace([]byte(lead))) > 0 {
			lead = ""
		}
		close = lead
		if len(lead) > 2 {
			close = lead[:len(lead)-2]
		}
		if last := e.native.entries[len(e.native.entries)-1]; !e.native.cut && last.End < e.native.list.End {
			if white := e.src[last.End : e.native.list.End-1]; len(bytes.TrimSpace(white)) == 0 {
				close = string(white) // as the file has it, however deep it indents
			}
		}
		return lead, close
	}
	if bytes.Contains(e.src[e.native.start:], []byte("\n")) {
		return "\n    ", "\n  "
	}
	return "", ""
}

// assemble puts the list between what is before and after it.
func (e *editor) assemble(list []byte, enc *encoder) []byte {
	n := e.native
	if n.list.Empty() { // the file has no list of messages
		text := []byte("{}")
		if !n.info.Empty() && !n.cut {
			text = e.src[n.start:n.end]
		}
		return span.Set(text, "\n", slices.Concat([]byte("["), list, []byte("]")), "messages")
	}
	head := e.src[n.start : n.list.Start+1]
	tail := []byte("\n  ]\n}\n")
	if !n.cut {
		tail = e.src[n.list.End-1 : e.end()]
	} else if len(list) > 0 && bytes.HasSuffix(list, []byte("\n  ")) {
		tail = []byte("]\n}\n")
	}
	note, noted := e.sessionNote(enc)
	if (noted || e.settle) && !n.info.Empty() {
		info := n.info.Of(e.src)
		if noted {
			info = withSessionNote(info, &note)
		}
		if e.settle {
			info = span.Remove(info, false, "revert")
		}
		if n.info.Start < n.list.Start {
			head = slices.Concat(e.src[n.start:n.info.Start], info, e.src[n.info.End:n.list.Start+1])
		} else if !n.cut {
			tail = slices.Concat(e.src[n.list.End-1:n.info.Start], info, e.src[n.info.End:e.end()])
		}
	}
	return slices.Concat(head, list, tail)
}

// end is the position after the JSON and the line feed that follows it; other text after it is not
// kept.
func (e *editor) end() int {
	end := e.native.end
	for _, feed := range []string{"\n", "\r\n"} {
		if bytes.HasPrefix(e.src[end:], []byte(feed)) {
			return end + len(feed)
		}
	}
	return end
}

// sessionNote is the note on the session after the change; changed is false when it is as it was.
func (e *editor) sessionNote(enc *encoder) (note sessionNote, changed bool) {
	note, _ = noteOfSession(&e.from.Session.Info)
	before := encode(&note)
	for given, original := range enc.aside.IDs {
		if note.IDs == nil {
			note.IDs = map[string]string{}
		}
		note.IDs[given] = original
	}
	kept := note.Elisions
	note.Elisions = nil
	for _, s := range kept {
		part := cmp.Or(e.native.original[s.Part], s.Part)
		if !enc.touched[s.Part] && e.change.Ledger.Has(rule.Key{Part: part, Field: s.Field}) {
			note.Elisions = append(note.Elisions, s)
		}
	}
	note.Elisions = append(note.Elisions, enc.aside.Elisions...)
	return note, !bytes.Equal(before, encode(&note))
}

// message is the text of a message that was read, with the marks and notes that the change asks
// for.
func (e *editor) message(entry *entry, m *session.Message, enc *encoder) []byte {
	var edits []span.Edit
	for i := range entry.parts {
		p := &entry.parts[i]
		if p.at < 0 {
			continue
		}
		part := &m.Parts[p.at]
		before, now := e.from.Ledger.Of(part.ID), e.change.Ledger.Of(part.ID)
		if slices.Equal(before, now) {
			continue
		}
		with := e.part(p.Of(e.src), leadAt(e.src, p.Start), m, part, now, enc)
		edits = append(edits, span.Edit{Span: p.Shift(-entry.Start), With: with})
	}
	text := span.Splice(entry.Of(e.src), edits...)
	if entry.open != "" {
		text = slices.Concat(bytes.TrimRight(text, ", \t\r\n"), []byte(entry.open))
	}
	return text
}

// part is the text of a part with these elisions in place of others.
func (e *editor) part(
	text []byte, outer string, m *session.Message, p *session.Part, now []rule.Elision, enc *encoder,
) []byte {
	var mark int64
	note, _ := e.noteInFile(text)
	note.Elisions = nil
	for _, c := range now {
		if marks(c, p) {
			mark = markTime(c)
			if plain(c, p, m.ID) {
				continue
			}
		}
		note.Elisions = append(note.Elisions, stand(c, enc.order[c.Key()]))
	}
	if p.Type == session.ToolPart && p.State != nil && p.State.Status == session.Completed {
		text = setMark(text, p, mark, outer)
	}
	path := notePath(p)
	if path == nil {
		id := e.inFile(p.ID)
		enc.touched[id] = true
		for _, s := range note.Elisions {
			s.Part = id
			enc.aside.Elisions = append(enc.aside.Elisions, s)
		}
		return text
	}
	if note.empty() {
		prune := p.Type != session.ToolPart || p.State == nil || p.State.Status != session.Completed
		return span.Remove(text, prune, append(path, noteName)...)
	}
	return span.Set(text, outer, encode(&note), append(path, noteName)...)
}

// anew is the text of a message whose own is not JSON: its parts as they are, the rest from what
// was read.
func (e *editor) anew(entry *entry, m *session.Message, lead string, enc *encoder) []byte {
	info := m.MessageInfo
	info.ID, info.SessionID, info.ParentID = e.inFile(info.ID), e.inFile(info.SessionID), e.inFile(info.ParentID)
	var parts [][]byte
	for i := range entry.parts {
		piece := &entry.parts[i]
		text := piece.Of(e.src)
		if e.settle && piece.aside || piece.at < 0 && !sound(text) {
			continue
		}
		if piece.at >= 0 {
			p := &m.Parts[piece.at]
			if before, now := e.from.Ledger.Of(p.ID), e.change.Ledger.Of(p.ID); !slices.Equal(before, now) {
				text = e.part(text, "", m, p, now, enc)
			}
		}
		parts = append(parts, text)
	}
	return span.Indent(span.Make("info", encode(&info), "parts", span.Array(parts)), lead)
}

// rebuild is a whole file around a list.
func (e *editor) rebuild(list []byte, enc *encoder) []byte {
	info := e.from.Session.Info
	info.ID, info.ParentID = e.inFile(info.ID), e.inFile(info.ParentID)
	if e.settle {
		info.Unknown = span.Remove(info.Unknown, false, "revert")
	}
	text := encode(&info)
	if note, changed := e.sessionNote(enc); changed {
		info.Unknown = withSessionNote(info.Unknown, &note)
		text = encode(&info)
	}
	return file(text, list, e.from.Session.Unknown)
}

// noteInFile reads the note from the text of a part. A part that its note restored does not look
// like that text.
func (e *editor) noteInFile(text []byte) (note partNote, ok bool) {
	var p session.Part
	if unmarshal(text, &p) != nil {
		return note, false
	}
	return noteOf(&p)
}

// setMark puts the mark on a completed call, or takes it away when time is 0.
func setMark(text []byte, p *session.Part, time int64, outer string) []byte {
	if time == 0 {
		return span.Remove(text, false, "state", "time", "compacted")
	}
	if p.State.Time == nil {
		text = span.Set(text, outer, []byte(`{"start":0,"end":0}`), "state", "time")
	}
	return span.Set(text, outer, encode(time), "state", "time", "compacted")
}

// notePath is where the text of a part has the metadata that holder returns.
func notePath(p *session.Part) []string {
	switch holder(p) {
	case nil:
		return nil
	case &p.Metadata:
		return []string{"metadata"}
	}
	return []string{"state", "metadata"}
}
