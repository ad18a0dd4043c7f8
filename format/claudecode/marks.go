package claudecode

import (
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/format/internal/span"
	"github.com/winnowhq/winnow/rule"
	"github.com/winnowhq/winnow/session"
)

// marks is the member "winnow" of an entry, which the product carries along and does not look at.
type marks struct {
	// Elisions that are in the entry's content.
	Elisions []rule.Elision
	// Content is message.content as it was before them, to the byte.
	Content []byte
	// Message is the message that the engine made and the entry stands for, if the product's own
	// form cannot hold all of it.
	Message *session.Message
}

// readMarks reads the member; anything that is not understood is as if it were not there.
func readMarks(value []byte) *marks {
	var raw struct {
		Elisions jsontext.Value `json:"elisions"`
		Content  span.Span      `json:"content"`
		Message  jsontext.Value `json:"message"`
	}
	if len(value) == 0 || span.Decode(value, &raw) != nil {
		return nil
	}
	m := marks{Content: raw.Content.Of(value)}
	if len(raw.Elisions) > 0 && json.Unmarshal(raw.Elisions, &m.Elisions, session.ReadOptions()) != nil {
		m.Elisions = nil
	}
	var message session.Message
	if len(raw.Message) > 0 && json.Unmarshal(raw.Message, &message, session.ReadOptions()) == nil && message.ID != "" {
		m.Message = &message
	}
	if m.Elisions == nil && m.Content == nil && m.Message == nil {
		return nil
	}
	return &m
}

// on returns a line with these marks as its member "winnow".
func (m *marks) on(line []byte) ([]byte, error) {
	var o span.Object
	if len(m.Elisions) > 0 {
		value, err := json.Marshal(m.Elisions, session.ReadOptions())
		if err != nil {
			return nil, err
		}
		o.Raw("elisions", value)
	}
	if len(m.Content) > 0 {
		o.Raw("content", m.Content)
	}
	if m.Message != nil {
		value, err := json.Marshal(m.Message, session.ReadOptions())
		if err != nil {
			return nil, err
		}
		o.Raw("message", value)
	}
	return span.Set(line, "", o.Bytes(), "winnow"), nil
}

// unmark takes our own marks off an entry: it becomes what it was without our elisions.
func (e *entry) unmark() {
	if e.Winnow.Empty() {
		return
	}
	if e.marks = readMarks(e.of(e.Winnow)); e.marks == nil || e.marks.Elisions == nil {
		return
	}
	line := e.raw
	if e.marks.Content != nil {
		line = span.Update(line, e.marks.Content, "message", "content")
	}
	line = span.Remove(line, false, "winnow")
	var err error
	if e.marks.Message != nil {
		line, err = (&marks{Message: e.marks.Message}).on(line)
	}
	// If the original is damaged, what is shown counts.
	if before, failed := parse(line); err == nil && failed == nil {
		before.line, before.whole, before.at, before.marks = e.line, e.whole, e.at, e.marks
		*e = before
	}
}
