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

// unmarked returns the entry's line without our elisions and with its content as it was.
func unmarked(e *entry) []byte {
	if e.marks == nil || e.marks.Elisions == nil {
		return e.raw
	}
	content, was := e.raw[:0], []byte(nil)
	if len(e.content) > 0 && e.marks.Content != nil {
		content, was = e.content, e.marks.Content
	}
	from, member := at(e.raw, content), at(e.raw, e.winnow)
	name := bytes.LastIndexByte(e.raw[:member], ',') // between it and the value there is only our name
	if name < from+len(content) || name < 0 {
		return e.raw // somebody moved the members about
	}
	line := make([]byte, 0, len(e.raw)+len(was)-len(content))
	line = append(line, e.raw[:from]...)
	line = append(line, was...)
	line = append(line, e.raw[from+len(content):name]...)
	if e.marks.Message != nil {
		member, err := (&marks{Message: e.marks.Message}).member()
		if err != nil {
			return e.raw
		}
		line = append(line, member...)
	}
	return append(line, e.raw[member+len(e.winnow):]...)
}

// marked returns the line of an entry with other content and these marks; without content of its own it gets the marks alone.
func marked(e *entry, content []byte, m *marks) ([]byte, error) {
	member, err := m.member()
	if err != nil {
		return nil, err
	}
	was := e.raw[:0]
	if len(e.content) > 0 {
		was = e.content
	}
	from := at(e.raw, was)
	end, rest := bytes.LastIndexByte(e.raw, '}'), len(e.raw)-1
	if e.winnow != nil { // a message of the engine's: its member is written anew
		at := at(e.raw, e.winnow)
		end, rest = bytes.LastIndexByte(e.raw[:at], ','), at+len(e.winnow)
	}
	text := make([]byte, 0, len(e.raw)+len(content)+len(member))
	text = append(text, e.raw[:from]...)
	text = append(text, content...)
	text = append(text, e.raw[from+len(was):end]...)
	text = append(text, member...)
	return append(text, e.raw[rest:]...), nil
}

// quoted writes a text as a JSON string.
func quoted(text string) []byte {
	value, _ := jsontext.AppendQuote(nil, text) // the error can only be about UTF-8, which is replaced
	return value
}
