package wire

import (
	"slices"

	"github.com/go-json-experiment/json/jsontext"
)

// Edit replaces a span of a body; an empty span inserts.
type Edit struct {
	Span
	With []byte
}

// Splice applies edits to a text and leaves every other byte as it is. Of edits that overlap, the
// one that begins first counts, and of those that begin together the longest.
func Splice(text []byte, edits []Edit) []byte {
	if len(edits) == 0 {
		return text
	}
	edits = slices.Clone(edits)
	slices.SortStableFunc(edits, func(a, b Edit) int {
		if a.Start != b.Start {
			return a.Start - b.Start
		}
		// Insertions come before what replaces or removes the bytes after them.
		if (a.End == a.Start) != (b.End == b.Start) {
			return a.End - b.End
		}
		return b.End - a.End
	})
	grown := len(text)
	for _, e := range edits {
		grown += len(e.With)
	}
	out, at := make([]byte, 0, grown), 0
	for _, e := range edits {
		if e.Start < at || e.End > len(text) {
			continue
		}
		out = append(append(out, text[at:e.Start]...), e.With...)
		at = e.End
	}
	return append(out, text[at:]...)
}

// Set returns an object with a member set: in place if it has it, otherwise at its end.
func Set(object []byte, name string, value []byte) []byte {
	root := Root(object)
	if at := Member(object, root, name); !at.Empty() {
		return Splice(object, []Edit{{Span: at, With: value}})
	}
	member := append(append(Quote(name), ':'), value...)
	if root.End-root.Start > len("{}") {
		member = append([]byte{','}, member...)
	}
	return Splice(object, []Edit{{Span: Span{root.End - 1, root.End - 1}, With: member}})
}

// Without returns an object without a member.
func Without(object []byte, name string) []byte {
	root := Root(object)
	if Member(object, root, name).Empty() {
		return object
	}
	kept := []byte{'{'}
	for other, value := range Members(object, root) {
		if string(other) == name {
			continue
		}
		if len(kept) > 1 {
			kept = append(kept, ',')
		}
		kept = append(append(append(kept, Quote(string(other))...), ':'), value.Of(object)...)
	}
	return append(kept, '}')
}

// Quote writes a text as a JSON string.
func Quote(text string) []byte {
	quoted, _ := jsontext.AppendQuote(nil, text) // an error tells of invalid UTF-8, which is replaced
	return quoted
}

// Array writes values as a JSON array.
func Array(values []jsontext.Value) jsontext.Value {
	size := 2
	for _, v := range values {
		size += len(v) + 1
	}
	return appendArray(make([]byte, 0, size), values)
}

func appendArray(array []byte, values []jsontext.Value) []byte {
	array = append(array, '[')
	for i, v := range values {
		if i > 0 {
			array = append(array, ',')
		}
		array = append(array, v...)
	}
	return append(array, ']')
}
