package opencode

import (
	"bytes"
	"fmt"
	"io"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/rule"
	"github.com/winnowhq/winnow/session"
)

// Write writes an export. What was read from one is kept byte for byte where the change does not touch it; when nothing changed,
// text around the JSON and what could not be read are kept too, and otherwise left out where no import would take them.
// The other two forms that are read have no import: a change to one is written as a whole export.
//
// The product orders messages by the time at which they were created, then by id. A message whose time would put it before one that
// it follows is written with a later one.
func (Format) Write(w io.Writer, from *format.Document, change format.Change) error {
	if from == nil {
		return writeWhole(w, change)
	}
	n, ok := from.Native.(*native)
	if !ok {
		return fmt.Errorf("%s: the document was read by another format, %q: write it without one", Name, from.Format)
	}
	e := &editor{src: from.Source, native: n, from: from, change: change}
	appended, err := e.appended()
	if err != nil {
		return err
	}
	if e.same(appended) {
		_, err := w.Write(from.Source)
		return err
	}
	if n.shape != export {
		return writeWhole(w, change)
	}
	text, err := e.edit(appended)
	if err != nil {
		return err
	}
	_, err = w.Write(text)
	return err
}

// writeWhole writes a session that comes from elsewhere.
func writeWhole(w io.Writer, change format.Change) error {
	s := change.Session
	info := s.Info
	names := newNames(sessionName(&info))
	names.begun = info.Time.Created
	e := newEncoder(names, &info, change.Ledger)
	if info.Directory == "" {
		info.Directory = "/"
	}
	var list []jsontext.Value
	for i := range s.Messages {
		if s.Messages[i].IsUndone(change.Undone) {
			continue
		}
		m := e.message(&s.Messages[i])
		text, err := json.Marshal(&m, session.ReadOptions())
		if err != nil {
			return fmt.Errorf("%s: message %s cannot be written: %w", Name, s.Messages[i].ID, err)
		}
		list = append(list, text)
	}
	finishInfo(&info, e)
	head, err := json.Marshal(&info, session.ReadOptions())
	if err != nil {
		return fmt.Errorf("%s: the session's info cannot be written: %w", Name, err)
	}
	var out bytes.Buffer
	out.WriteString("{\n  \"info\": ")
	out.Write(dress(head, "\n  "))
	out.WriteString(",\n  \"messages\": [")
	for i, text := range list {
		if i > 0 {
			out.WriteByte(',')
		}
		out.WriteString("\n    ")
		out.Write(dress(text, "\n    "))
	}
	if len(list) > 0 {
		out.WriteString("\n  ")
	}
	out.WriteByte(']')
	for m := range partial(bytes.TrimSpace(s.Unknown)) {
		if m.name == "info" || m.name == "messages" {
			continue
		}
		name, _ := jsontext.AppendQuote(nil, m.name)
		fmt.Fprintf(&out, ",\n  %s: %s", name, dress(m.of(bytes.TrimSpace(s.Unknown)), "\n  "))
	}
	out.WriteString("\n}\n")
	_, err = w.Write(out.Bytes())
	return err
}

// sessionName is the id of a session in the file.
func sessionName(info *session.Info) string {
	if proper(session.SessionID, info.ID) {
		return info.ID
	}
	return session.FormatID(session.SessionID, ^(uint64(whole(info.Time.Created)) * 4096), fingerprint(info.ID))
}

// finishInfo gives a session's info what the product requires of it, and the notes that no part could hold.
func finishInfo(info *session.Info, e *encoder) {
	note, _ := noteOfSession(info)
	note.IDs, note.Elisions, note.Session, note.Parent = e.aside.IDs, e.aside.Elisions, "", ""
	if info.ID != e.names.session {
		note.Session, info.ID = info.ID, e.names.session
	}
	if info.ParentID != "" && !proper(session.SessionID, info.ParentID) {
		note.Parent = info.ParentID
		info.ParentID = session.FormatID(session.SessionID, 0, fingerprint(info.ParentID))
	}
	info.Unknown = without(withSessionNote(info.Unknown, &note), "revert") // what was taken back is not in the log
	if info.Slug == "" {
		info.Slug = "session"
	}
	if info.ProjectID == "" {
		info.ProjectID = "global"
	}
	if info.Version == "" {
		info.Version = version
	}
	info.Time.Created = whole(info.Time.Created)
	info.Time.Updated = max(whole(info.Time.Updated), info.Time.Created)
	if info.Model != nil {
		model := *info.Model
		if model.ID == "" {
			model.ID = model.ModelID
		}
		model.ModelID = ""
		info.Model = &model
		if model.ID == "" {
			info.Model = nil
		}
	}
}

// withSessionNote sets the note in the metadata among the members of a session's info that the log does not name.
func withSessionNote(unknown jsontext.Value, note *sessionNote) jsontext.Value {
	object := jsontext.Value(bytes.TrimSpace(unknown))
	if len(object) == 0 {
		object = jsontext.Value(`{}`)
	}
	m, had := find(object, "metadata")
	if !had && note.empty() {
		return unknown
	}
	metadata := setNote(m.of(object), note)
	if bare(metadata) && (!had || !bare(m.of(object))) {
		return without(object, "metadata")
	}
	return with(object, "metadata", metadata, "")
}

// appended finds the messages of a change that the file does not have.
func (e *editor) appended() ([]*session.Message, error) {
	had, at := e.from.Session.Messages, 0
	var appended []*session.Message
	for i := range e.change.Session.Messages {
		m := &e.change.Session.Messages[i]
		for at < len(had) && had[at].ID != m.ID && had[at].IsUndone(e.change.Undone) {
			at++
		}
		switch {
		case at < len(had) && had[at].ID == m.ID:
			at++
		case at < len(had):
			return nil, fmt.Errorf("%s: message %s stands where %s was read: a change may only append messages and undo pivots", Name, m.ID, had[at].ID)
		case !m.IsUndone(e.change.Undone):
			appended = append(appended, m)
		}
	}
	for ; at < len(had); at++ {
		if !had[at].IsUndone(e.change.Undone) {
			return nil, fmt.Errorf("%s: message %s was read and is not in the change: a change may only append messages and undo pivots", Name, had[at].ID)
		}
	}
	return appended, nil
}

// same reports whether a change changes nothing.
func (e *editor) same(appended []*session.Message) bool {
	if len(appended) > 0 {
		return false
	}
	if len(e.change.Undone) > 0 && slices.ContainsFunc(e.from.Session.Messages, func(m session.Message) bool { return m.IsUndone(e.change.Undone) }) {
		return false
	}
	a, b := e.from.Ledger, e.change.Ledger
	if a.Len() != b.Len() {
		return false
	}
	return !slices.ContainsFunc(b.All(), func(c rule.Elision) bool { return !slices.Equal(a.Of(c.Part), b.Of(c.Part)) })
}
