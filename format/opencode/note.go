package opencode

import (
	"bytes"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/text/span"
)

// noteName is the member of a metadata object in which this engine keeps what the product has no
// place for. The product carries the metadata of tool states, texts and sessions through import and
// export as it is, and drops every other unknown member.
const noteName = "winnow"

// partNote is what is kept beside one part.
type partNote struct {
	ID       string         `json:"id,omitzero"`      // of the part, where the file had to give it another
	Message  string         `json:"message,omitzero"` // of its message, likewise, on one part of the message
	Part     jsontext.Value `json:"part,omitzero"`    // the whole part, where the product knows none like it
	Wrapped  bool           `json:"wrapped,omitzero"` // the input was not an object, and is the member "input" of one
	Summary  bool           `json:"summary,omitzero"` // on a summary that the product did not make
	Elisions []standing     `json:"elisions,omitzero"`

	Rest jsontext.Value `json:",embed"` // what the engine notes on a part for itself: session.Note
}

// standing is a committed elision as it is kept: its part and message are known from where it is.
type standing struct {
	Part    string         `json:"part,omitzero"` // only in the session's note
	Field   rule.Field     `json:"field"`
	Rule    string         `json:"rule"`
	Because string         `json:"because,omitzero"`
	By      string         `json:"by,omitzero"`
	Of      string         `json:"of,omitzero"`
	Shown   string         `json:"shown,omitzero"`
	Saves   int            `json:"saves,omitzero"`
	Time    session.Millis `json:"time,omitzero"`
	N       int            `json:"n,omitzero"` // position among those of the same time
}

func stand(e rule.Elision, n int) standing {
	return standing{
		Field: e.Field, Rule: e.Rule, Because: e.Because, By: e.By, Of: e.Of, Shown: e.Shown, Saves: e.Saves,
		Time: e.Time, N: n,
	}
}

func (s standing) elision(message, part string) rule.Elision {
	return rule.Elision{
		Part: part, Message: message, Field: s.Field, Rule: s.Rule, Because: s.Because, By: s.By, Of: s.Of,
		Shown: s.Shown, Saves: s.Saves, Time: s.Time,
	}
}

// sessionNote is what is kept beside the session, for parts that have no metadata of their own.
type sessionNote struct {
	Session  string            `json:"session,omitzero"` // its id, where the file had to give it another
	Parent   string            `json:"parent,omitzero"`  // the id of the session that it comes from, likewise
	IDs      map[string]string `json:"ids,omitzero"`     // ids of the file → ids that they replace
	Elisions []standing        `json:"elisions,omitzero"`

	Rest jsontext.Value `json:",embed"`
}

func (n *partNote) empty() bool {
	return n.ID == "" && n.Message == "" && len(n.Part) == 0 && !n.Wrapped && !n.Summary && len(n.Elisions) == 0 &&
		span.Bare(n.Rest)
}

func (n *sessionNote) empty() bool {
	return n.Session == "" && n.Parent == "" && len(n.IDs) == 0 && len(n.Elisions) == 0 && span.Bare(n.Rest)
}

// holder returns the metadata in which a part's note is kept, nil for parts that have none.
func holder(p *session.Part) *jsontext.Value {
	switch p.Type {
	case session.TextPart, session.ReasoningPart:
		return &p.Metadata
	case session.ToolPart:
		if p.State == nil || p.State.Status == session.Pending {
			return &p.Metadata
		}
		return &p.State.Metadata
	}
	return nil
}

// noteOf reads the note of a part.
func noteOf(p *session.Part) (n partNote, ok bool) {
	metadata := holder(p)
	if metadata == nil {
		return n, false
	}
	return n, readNote(*metadata, &n)
}

func readNote(metadata jsontext.Value, into any) bool {
	if !bytes.Contains(metadata, []byte(`"`+noteName+`"`)) {
		return false
	}
	note := span.Get(metadata, noteName)
	return span.Kind(note) == '{' && unmarshal(note, into) == nil
}

// setNote returns metadata with this note in place of the one that it has; an empty note is left
// out.
func setNote(metadata jsontext.Value, note interface{ empty() bool }) jsontext.Value {
	object := jsontext.Value(bytes.TrimSpace(metadata))
	if object.Kind() != '{' {
		object = jsontext.Value(`{}`)
	}
	if note.empty() {
		return span.Remove(object, false, noteName)
	}
	return span.Set(object, "", encode(note), noteName)
}

// encode writes a value that is made of strings, numbers and JSON that was read, which always
// succeeds.
func encode(v any) []byte {
	text, err := json.Marshal(v, session.ReadOptions(), json.Deterministic(true))
	if err != nil {
		return []byte(`{}`)
	}
	return text
}

// marks reports whether an elision is written as a mark that the product understands: it then sends
// its own placeholder instead of the output.
func marks(e rule.Elision, p *session.Part) bool {
	return p.Type == session.ToolPart && p.State != nil && p.State.Status == session.Completed &&
		(e.Field == rule.Output || e.Field == rule.Whole)
}

// plain reports whether the mark alone says everything about an elision.
func plain(e rule.Elision, p *session.Part, message string) bool {
	if !marks(e, p) || e.Time < 1 || e.Time != session.Millis(int64(e.Time)) {
		return false
	}
	marked := session.Message{MessageInfo: session.MessageInfo{ID: message}, Parts: []session.Part{{
		ID: p.ID, Type: p.Type,
		State: &session.ToolState{Status: session.Completed, Time: &session.Span{Compacted: e.Time}},
	}}}
	return rule.Marks([]session.Message{marked})[0] == e
}

// markTime is the time of a mark: a positive whole number, because the product reads 0 as no mark
// and refuses fractions.
func markTime(e rule.Elision) int64 { return max(1, int64(e.Time)) }
