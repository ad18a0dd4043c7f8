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
func (s *scanner) unmarked(e *entry) ([]byte, error) {
	line := e.raw
	if len(e.content) > 0 && e.marks.Content != nil {
		line = replace(line, e.content, e.marks.Content)
	}
	var without entry
	if err := s.entry(line, &without); err != nil {
		return nil, err
	}
	line = cut(line, without.winnow)
	if e.marks.Message == nil {
		return line, nil
	}
	return (&marks{Message: e.marks.Message}).appendTo(line)
}

// marked returns the entry's line with other content and these marks; nil leaves the content.
func (s *scanner) marked(e *entry, content []byte, m *marks) ([]byte, error) {
	line := e.raw
	if e.winnow != nil { // it is written anew
		line = cut(line, e.winnow)
		var without entry
		if err := s.entry(line, &without); err != nil {
			return nil, err
		}
		e = &without
	}
	return m.appendTo(replace(line, e.content, content))
}

// appendTo writes the marks as the last member of a line that has none.
func (m *marks) appendTo(line []byte) ([]byte, error) {
	member, err := m.member()
	if err != nil {
		return nil, err
	}
	end := bytes.LastIndexByte(line, '}')
	if bytes.HasSuffix(bytes.TrimRight(line[:end], " \t\r\n"), []byte{'{'}) {
		member = member[1:] // no comma where it is the only one
	}
	return append(append(line[:end:end], member...), line[end:]...), nil
}

// cut takes a member out of an object, by its value.
func cut(line, value []byte) []byte {
	end := at(line, value) + len(value)
	// Between the name and the one before it there can be white space alone.
	name := bytes.LastIndexByte(line[:bytes.LastIndexByte(line[:at(line, value)], '"')], '"')
	begin := len(bytes.TrimRight(line[:name], " \t\r\n"))
	if line[begin-1] == ',' {
		return append(line[:begin-1:begin-1], line[end:]...)
	}
	if rest := bytes.TrimLeft(line[end:], " \t\r\n"); rest[0] == ',' {
		return append(line[:begin:begin], rest[1:]...)
	}
	return append(line[:begin:begin], line[end:]...)
}

// quoted writes a text as a JSON string.
func quoted(text string) []byte {
	value, _ := jsontext.AppendQuote(nil, text) // the error can only be about UTF-8, which is replaced
	return value
}
