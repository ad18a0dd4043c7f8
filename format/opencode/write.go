package opencode

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"slices"

	"github.com/go-json-experiment/json"

	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/text/span"
)

// Write writes an export. What was read from one is kept byte for byte where the change does not
// touch it; when nothing changed, text around the JSON and what could not be read are kept too, and
// otherwise left out where no import would take them. The other two forms that are read have no
// import: a change to one is written as a whole export.
//
// The product orders messages by the time at which they were created, then by id. A message whose
// time would put it before one that it follows is written with a later one.
func (Format) Write(w io.Writer, from *format.Document, change format.Change) error {
	change = change.Settled()
	if from == nil {
		return writeWhole(w, change, nil)
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
		return writeWhole(w, change, from.Theirs)
	}
	text, err := e.edit(appended)
	if err != nil {
		return err
	}
	_, err = w.Write(text)
	return err
}

// writeWhole writes a session that comes from elsewhere. theirs are the markers of the compactions
// that the product made.
func writeWhole(w io.Writer, change format.Change, theirs map[string]bool) error {
	s := change.Session
	info := s.Info
	names := newNames(SessionID(&info))
	names.begun = info.Time.Created
	e := newEncoder(names, &info, change.Ledger)
	e.theirs = theirs
	info.Directory = cmp.Or(info.Directory, "/")
	var messages []*session.Message
	for i := range s.Messages {
		if m := &s.Messages[i]; !m.IsUndone(change.Undone) {
			messages = append(messages, m)
		}
	}
	list, err := e.list(nil, messages, "\n    ", "\n  ")
	if err != nil {
		return err
	}
	finishInfo(&info, e)
	head, err := json.Marshal(&info, session.ReadOptions())
	if err != nil {
		return fmt.Errorf("%s: the session's info cannot be written: %w", Name, err)
	}
	_, err = w.Write(file(head, list, s.Unknown))
	return err
}

// list writes messages at the end of a list, each on a line of its own.
func (e *encoder) list(list []byte, messages []*session.Message, lead, end string) ([]byte, error) {
	for _, m := range messages {
		out := e.message(m)
		text, err := json.Marshal(&out, session.ReadOptions())
		if err != nil {
			return nil, fmt.Errorf("%s: message %s cannot be written: %w", Name, m.ID, err)
		}
		if len(list) > 0 {
			list = append(list, ',')
		}
		list = append(append(list, lead...), span.Indent(text, lead)...)
	}
	if len(list) > 0 {
		list = append(list, end...)
	}
	return list, nil
}

// file is a whole export: the session's info, the list of messages as written, and what else the
// file had.
func file(info, list, unknown []byte) []byte {
	out := span.Set([]byte(`{}`), "\n", info, "info")
	out = span.Set(out, "\n", []byte(`[]`), "messages")
	for m := range span.Members(unknown, span.All(unknown)) {
		if name := string(m.Name); name != "info" && name != "messages" {
			out = span.Set(out, "\n", m.Value.Of(unknown), name)
		}
	}
	at := span.Find(out, span.All(out), "messages")
	return slices.Concat(out[:at.Start+1], list, out[at.End-1:], []byte{'\n'})
}

// SessionID is the id by which the product knows a session: the session's own if the product takes it,
// else one made from it and the time at which the session began.
func SessionID(info *session.Info) string {
	if proper(session.SessionID, info.ID) {
		return info.ID
	}
	return session.FormatID(session.SessionID, ^(uint64(whole(info.Time.Created)) * 4096), fingerprint(info.ID))
}

// finishInfo gives a session's info what the product requires of it, and the notes that no part
// could hold.
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
	// What was taken back is not in the log.
	info.Unknown = span.Remove(withSessionNote(info.Unknown, &note), false, "revert")
	info.Slug = cmp.Or(info.Slug, "session")
	info.ProjectID = cmp.Or(info.ProjectID, "global")
	info.Version = cmp.Or(info.Version, version)
	info.Time.Created = whole(info.Time.Created)
	info.Time.Updated = max(whole(info.Time.Updated), info.Time.Created)
	if info.Model != nil {
		model := *info.Model
		model.ID, model.ModelID = cmp.Or(model.ID, model.ModelID), ""
		model.ProviderID = cmp.Or(model.ProviderID, "unknown")
		info.Model = &model
		if model.ID == "" {
			info.Model = nil
		}
	}
}

// withSessionNote sets the note in the metadata of a session's info, or of the members of it that
// the log does not name.
func withSessionNote(info []byte, note *sessionNote) []byte {
	if note.empty() {
		return span.Remove(info, true, "metadata", noteName)
	}
	outer := ""
	if bytes.Contains(info, []byte("\n")) {
		outer = "\n  "
	}
	return span.Set(info, outer, encode(note), "metadata", noteName)
}

const only = "a change may only append messages and undo pivots"

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
			return nil, fmt.Errorf("%s: message %s is where %s was read: %s", Name, m.ID, had[at].ID, only)
		case !m.IsUndone(e.change.Undone):
			appended = append(appended, m)
		}
	}
	for ; at < len(had); at++ {
		if !had[at].IsUndone(e.change.Undone) {
			return nil, fmt.Errorf("%s: message %s was read and is not in the change: %s", Name, had[at].ID, only)
		}
	}
	return appended, nil
}

// same reports whether a change changes nothing.
func (e *editor) same(appended []*session.Message) bool {
	if len(appended) > 0 {
		return false
	}
	undone := func(m session.Message) bool { return m.IsUndone(e.change.Undone) }
	if len(e.change.Undone) > 0 && slices.ContainsFunc(e.from.Session.Messages, undone) {
		return false
	}
	a, b := e.from.Ledger, e.change.Ledger
	if a.Len() != b.Len() {
		return false
	}
	return !slices.ContainsFunc(b.All(), func(c rule.Elision) bool { return !slices.Equal(a.Of(c.Part), b.Of(c.Part)) })
}
