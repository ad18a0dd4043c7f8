package opencode

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json"

	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/rule"
	"github.com/winnowhq/winnow/session"
)

// editor writes a change into the text of the export that it was made from.
type editor struct {
	src    []byte
	native *native
	from   *format.Document
	change format.Change
}

// edit returns the new text.
func (e *editor) edit(appended []*session.Message) ([]byte, error) {
	names := newNames(e.inFile(e.from.Session.Info.ID))
	if e.native.given != nil {
		for original, given := range e.native.given {
			names.given[original] = given
		}
	}
	enc := newEncoder(names, &e.from.Session.Info, e.change.Ledger)
	for i := range e.from.Session.Messages {
		if m := &e.from.Session.Messages[i]; !undone(m, e.change.Undone) {
			enc.seen(m)
		}
	}

	var list bytes.Buffer
	lead, close := e.style()
	first := true
	end := e.native.list.start + 1 // of the entry before
	for i := range e.native.entries {
		entry := &e.native.entries[i]
		gap := e.src[end:entry.start]
		end = entry.end
		if entry.broken {
			continue
		}
		var text []byte
		if entry.at >= 0 {
			m := &e.from.Session.Messages[entry.at]
			if undone(m, e.change.Undone) {
				continue
			}
			text = e.message(entry, m, enc)
		} else {
			text = entry.of(e.src)
		}
		switch white := len(bytes.Trim(gap, ", \t\r\n")) == 0; {
		case first:
			list.WriteString(lead)
		case white && bytes.Count(gap, []byte(",")) == 1:
			list.Write(gap)
		default:
			list.WriteString("," + lead)
		}
		first = false
		list.Write(text)
	}
	for _, m := range appended {
		out := enc.message(m)
		text, err := json.Marshal(&out, session.ReadOptions())
		if err != nil {
			return nil, fmt.Errorf("%s: message %s cannot be written: %w", Name, m.ID, err)
		}
		if !first {
			list.WriteByte(',')
		}
		first = false
		list.WriteString(lead)
		list.Write(dress(text, lead))
	}
	if !first {
		list.WriteString(close)
	}
	return e.assemble(list.Bytes(), enc), nil
}

// inFile is the id that the file has for an id of the log.
func (e *editor) inFile(id string) string {
	if given, ok := e.native.given[id]; ok {
		return given
	}
	return id
}

// style is the white space before each message and before the end of the list.
func (e *editor) style() (lead, close string) {
	if len(e.native.entries) > 0 {
		first := e.native.entries[0]
		lead = string(e.src[e.native.list.start+1 : first.start])
		if len(bytes.TrimSpace([]byte(lead))) > 0 {
			lead = ""
		}
		close = lead
		if len(lead) > 2 {
			close = lead[:len(lead)-2]
		}
		return lead, close
	}
	if bytes.Contains(e.src[e.native.start:], []byte("\n")) {
		return "\n    ", "\n  "
	}
	return "", ""
}

// assemble puts the list between what stands before and after it.
func (e *editor) assemble(list []byte, enc *encoder) []byte {
	n := e.native
	if n.list.start < 0 { // the file has no list of messages
		text := []byte("{}")
		if n.info.start >= 0 && !n.cut {
			text = e.src[n.start:n.end]
		}
		return with(text, "messages", slices.Concat([]byte("["), list, []byte("]")), "\n")
	}
	var out bytes.Buffer
	head := e.src[n.start : n.list.start+1]
	tail := []byte("\n  ]\n}\n")
	if !n.cut {
		tail = e.src[n.list.end-1 : n.end]
		if bytes.HasPrefix(e.src[n.end:], []byte("\n")) {
			tail = e.src[n.list.end-1 : n.end+1]
		}
	} else if len(list) > 0 && bytes.HasSuffix(list, []byte("\n  ")) {
		tail = []byte("]\n}\n")
	}
	note, noted := e.sessionNote(enc)
	if noted && n.info.start >= 0 {
		info := e.info(note)
		if n.info.start < n.list.start {
			head = slices.Concat(e.src[n.start:n.info.start], info, e.src[n.info.end:n.list.start+1])
		} else if !n.cut {
			tail = slices.Concat(e.src[n.list.end-1:n.info.start], info, e.src[n.info.end:n.end])
		}
	}
	out.Write(head)
	out.Write(list)
	out.Write(tail)
	return out.Bytes()
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
		key := rule.Key{Part: e.originalOf(s.Part), Field: s.Field}
		if e.change.Ledger.Has(key) {
			note.Elisions = append(note.Elisions, s)
		}
	}
	note.Elisions = append(note.Elisions, enc.aside.Elisions...)
	return note, !bytes.Equal(before, encode(&note))
}

func (e *editor) originalOf(given string) string {
	for original, id := range e.native.given {
		if id == given {
			return original
		}
	}
	return given
}

// info is the text of the session's info with this note.
func (e *editor) info(note sessionNote) []byte {
	text := e.native.info.of(e.src)
	if note.empty() {
		return withoutPath(text, true, "metadata", noteName)
	}
	outer := ""
	if bytes.Contains(text, []byte("\n")) {
		outer = "\n  "
	}
	return withPath(text, encode(&note), outer, "metadata", noteName)
}

// message is the text of a message that was read, with the marks and notes that the change asks for.
func (e *editor) message(entry *entry, m *session.Message, enc *encoder) []byte {
	var out bytes.Buffer
	from := entry.start // what was not written yet begins here
	firstPart := true
	for i := range entry.parts {
		p := &entry.parts[i]
		if p.broken {
			// It is no JSON, and goes with the comma on one side of it.
			out.Write(bytes.TrimRight(e.src[from:p.start], ", \t\r\n"))
			from = p.end
			if firstPart {
				from = space(e.src, from)
				if from < entry.end && e.src[from] == ',' {
					from++
				}
			}
			continue
		}
		firstPart = false
		if p.at < 0 {
			continue
		}
		part := &m.Parts[p.at]
		before, now := e.from.Ledger.Of(part.ID), e.change.Ledger.Of(part.ID)
		if slices.Equal(before, now) {
			continue
		}
		out.Write(e.src[from:p.start])
		out.Write(e.part(p, m, part, before, now, enc))
		from = p.end
	}
	if from == entry.start && entry.open == "" {
		return entry.of(e.src)
	}
	out.Write(e.src[from:entry.end])
	if entry.open != "" {
		text := bytes.TrimRight(out.Bytes(), ", \t\r\n")
		return append(text, entry.open...)
	}
	return out.Bytes()
}

// part is the text of a part with other elisions than before.
func (e *editor) part(at *piece, m *session.Message, p *session.Part, before, now []rule.Elision, enc *encoder) []byte {
	text := at.of(e.src)
	outer := leadAt(e.src, at.start)
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
		for _, s := range note.Elisions {
			if slices.ContainsFunc(before, func(b rule.Elision) bool { return b.Field == s.Field }) {
				continue // the session's note has it
			}
			s.Part = id
			enc.aside.Elisions = append(enc.aside.Elisions, s)
		}
		return text
	}
	if note.empty() {
		prune := p.Type != session.ToolPart || p.State == nil || p.State.Status != session.Completed
		return withoutPath(text, prune, append(path, noteName)...)
	}
	return withPath(text, encode(&note), outer, append(path, noteName)...)
}

// noteInFile reads the note from the text of a part. A part that its note restored does not look like that text.
func (e *editor) noteInFile(text []byte) (note partNote, ok bool) {
	var p session.Part
	if json.Unmarshal(text, &p, session.ReadOptions()) != nil {
		return note, false
	}
	return noteOf(&p)
}

// setMark puts the mark on a completed call, or takes it away when time is 0.
func setMark(text []byte, p *session.Part, time int64, outer string) []byte {
	if time == 0 {
		return withoutPath(text, false, "state", "time", "compacted")
	}
	if p.State.Time == nil {
		text = withPath(text, []byte(`{"start":0,"end":0}`), outer, "state", "time")
	}
	return withPath(text, encode(time), outer, "state", "time", "compacted")
}

// notePath is where holder's metadata stands in the text of a part.
func notePath(p *session.Part) []string {
	switch holder(p) {
	case nil:
		return nil
	case &p.Metadata:
		return []string{"metadata"}
	}
	return []string{"state", "metadata"}
}
