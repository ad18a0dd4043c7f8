package claudecode

import (
	"bytes"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/rule"
	"github.com/winnowhq/winnow/session"
)

// marks is the member "winnow" of an entry, which the product carries along and does not look at.
type marks struct {
	// Elisions that stand in the entry's content.
	Elisions []rule.Elision
	// Content is message.content as it was before them, to the byte.
	Content []byte
	// Message is the message that the engine made and the entry stands for, where the product's own
	// form cannot hold all of it.
	Message *session.Message
}

// marks reads the member; anything that is not understood is as if it were not there.
func (s *scanner) marks(value []byte) *marks {
	var m marks
	s.object(value, false, func(_ bool, name, value []byte) {
		switch string(name) {
		case `"elisions"`:
			if json.Unmarshal(value, &m.Elisions, session.ReadOptions()) != nil {
				m.Elisions = nil
			}
		case `"content"`:
			m.Content = value
		case `"message"`:
			var message session.Message
			if json.Unmarshal(value, &message, session.ReadOptions()) == nil && message.ID != "" {
				m.Message = &message
			}
		}
	})
	if m.Elisions == nil && m.Content == nil && m.Message == nil {
		return nil
	}
	return &m
}

// member writes the marks as the last member of an entry, with the comma before it.
func (m *marks) member() ([]byte, error) {
	text := []byte(`,"winnow":{`)
	comma := ""
	add := func(name string, value []byte) {
		text = append(text, comma+`"`+name+`":`...)
		text = append(text, value...)
		comma = ","
	}
	if len(m.Elisions) > 0 {
		value, err := json.Marshal(m.Elisions, session.ReadOptions())
		if err != nil {
			return nil, err
		}
		add("elisions", value)
	}
	if len(m.Content) > 0 {
		add("content", m.Content)
	}
	if m.Message != nil {
		value, err := json.Marshal(m.Message, session.ReadOptions())
		if err != nil {
			return nil, err
		}
		add("message", value)
	}
	return append(text, '}'), nil
}

// at is where a piece begins in the whole that it was sliced from.
func at(whole, piece []byte) int { return cap(whole) - cap(piece) }

// unmarked returns the entry's line without our member and with its content as it was. Of a line that holds a message of
// the engine's only the elisions are taken out.
func unmarked(e *entry) []byte {
	if e.marks == nil || e.marks.Content == nil || len(e.content) == 0 {
		return e.raw
	}
	content, member := at(e.raw, e.content), at(e.raw, e.winnow)
	name := bytes.LastIndexByte(e.raw[:member], ',') // between it and the value there is only our name
	if name < content+len(e.content) {
		return e.raw
	}
	line := make([]byte, 0, len(e.raw)+len(e.marks.Content)-len(e.content))
	line = append(line, e.raw[:content]...)
	line = append(line, e.marks.Content...)
	line = append(line, e.raw[content+len(e.content):name]...)
	if e.marks.Message != nil {
		member, err := (&marks{Message: e.marks.Message}).member()
		if err != nil {
			return e.raw
		}
		line = append(line, member...)
	}
	return append(line, e.raw[member+len(e.winnow):]...)
}

// marked returns a line with other content and these marks. The line must have no marks of elisions.
func marked(line []byte, e *entry, content []byte, m *marks) ([]byte, error) {
	member, err := m.member()
	if err != nil {
		return nil, err
	}
	from := at(line, e.content)
	end := bytes.LastIndexByte(line, '}')
	if e.winnow != nil { // a message of the engine's: its member is written anew
		end = bytes.LastIndexByte(line[:at(line, e.winnow)], ',')
	}
	text := make([]byte, 0, len(line)+len(content)+len(member))
	text = append(text, line[:from]...)
	text = append(text, content...)
	text = append(text, line[from+len(e.content):end]...)
	text = append(text, member...)
	return append(text, '}'), nil
}

// quoted writes a text as a JSON string.
func quoted(text string) []byte {
	value, _ := jsontext.AppendQuote(nil, text) // the error can only be about UTF-8, which is replaced
	return value
}
