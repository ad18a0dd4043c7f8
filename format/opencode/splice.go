package opencode

import (
	"bytes"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/session"
)

// Objects are edited as text, so that every byte that is not concerned stays: order of members, spelling of numbers and
// escapes, white space.

// with returns an object with a member set to value. A new member goes to the end. outer is the white space before the
// object's own line, with its line feed; "" where the object stands on one line.
func with(object []byte, name string, value []byte, outer string) []byte {
	lead := leadOf(object, outer)
	if m, ok := find(object, name); ok {
		return replace(object, m.span, dress(value, lead))
	}
	quoted, err := jsontext.AppendQuote(nil, name)
	if err != nil {
		return object
	}
	colon := ":"
	if lead != "" {
		colon = ": "
	}
	text := append(append(append([]byte(lead), quoted...), colon...), dress(value, lead)...)
	end := -1
	for m := range partial(object) {
		end = m.end
	}
	if end < 0 { // the first member
		return append(append(append([]byte{'{'}, text...), outer...), '}')
	}
	return replace(object, span{end, end}, append([]byte{','}, text...))
}

// without returns an object without a member. It shares no memory with what it was given unless nothing changed.
func without(object []byte, name string) []byte {
	previous := -1
	first := true
	for m := range partial(object) {
		if m.name != name {
			previous, first = m.end, false
			continue
		}
		gone := span{m.key, m.end}
		after := space(object, m.end)
		switch {
		case !first: // with the comma before it
			gone.start = previous
		case after < len(object) && object[after] == ',': // with the comma after it
			gone.end = space(object, after+1)
		default:
			return []byte(`{}`)
		}
		return without(replace(object, gone, nil), name)
	}
	return object
}

// withPath sets a member of a member; objects on the way are made where they are missing.
func withPath(object []byte, value []byte, outer string, path ...string) []byte {
	if len(path) == 1 {
		return with(object, path[0], value, outer)
	}
	lead := leadOf(object, outer)
	inner := []byte(`{}`)
	if m, ok := find(object, path[0]); ok && object[m.start] == '{' {
		inner = m.of(object)
		inner = withPath(inner, value, lead, path[1:]...)
		return replace(object, m.span, inner)
	}
	return with(object, path[0], withPath(inner, value, "", path[1:]...), outer)
}

// withoutPath removes a member of a member, and with it the last object on the way where that is left empty and prune is set.
func withoutPath(object []byte, prune bool, path ...string) []byte {
	if len(path) == 1 {
		return without(object, path[0])
	}
	m, ok := find(object, path[0])
	if !ok || object[m.start] != '{' {
		return object
	}
	had := m.of(object)
	inner := withoutPath(had, prune, path[1:]...)
	if len(path) == 2 && prune && bare(inner) && !bare(had) {
		return without(object, path[0])
	}
	return replace(object, m.span, inner)
}

func replace(text []byte, s span, by []byte) []byte {
	next := make([]byte, 0, len(text)-(s.end-s.start)+len(by))
	return append(append(append(next, text[:s.start]...), by...), text[s.end:]...)
}

// leadOf is the white space before each member of an object, "" when it stands on one line.
func leadOf(object []byte, outer string) string {
	for m := range partial(object) {
		if lead := object[1:m.key]; bytes.HasPrefix(lead, []byte("\n")) {
			return string(lead)
		}
		return ""
	}
	if outer == "" {
		return ""
	}
	return outer + "  "
}

// dress indents a value as the members beside it are.
func dress(value []byte, lead string) []byte {
	feed := strings.LastIndexByte(lead, '\n')
	if feed < 0 || strings.Trim(lead[feed+1:], " \t") != "" {
		return value
	}
	text := jsontext.Value(bytes.Clone(value))
	if text.Indent(jsontext.WithIndentPrefix(lead[feed+1:]), jsontext.WithIndent("  "), session.ReadOptions()) != nil {
		return value
	}
	return text
}
