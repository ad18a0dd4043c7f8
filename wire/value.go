package wire

import (
	"bytes"
	"iter"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/text/span"
)

// Value is a value in well-formed JSON. The zero value is absent: it has no members, and its text
// is empty.
type Value struct {
	span.Span
	Text []byte // the span points into it
}

// ValueOf is the one value of well-formed text.
func ValueOf(text []byte) Value {
	start := span.Space(text, 0)
	return Value{span.Span{Start: start, End: start + len(bytes.TrimRight(text[start:], " \t\r\n"))}, text}
}

// Kind is the first byte of the value, as of [span.Kind].
func (v Value) Kind() byte { return span.Kind(v.Bytes()) }

// String is the text of a JSON string, and "" for anything else.
func (v Value) String() string { return span.String(v.Bytes()) }

// Int is a JSON number up to its fraction or exponent, and 0 for one below zero and anything else.
func (v Value) Int() int {
	n := 0
	for _, c := range v.Bytes() {
		if c < '0' || c > '9' || n > 1<<40 {
			break
		}
		n = n*10 + int(c-'0')
	}
	return n
}

// Bytes are the bytes of the value, nil if it is absent. Raw is a copy of them.
func (v Value) Bytes() []byte       { return v.Of(v.Text) }
func (v Value) Raw() jsontext.Value { return bytes.Clone(v.Bytes()) }

// Get is the member of a member and so on: without a name, the value itself. Of several members
// with one name the last one counts.
func (v Value) Get(path ...string) Value {
	v.Span = span.Find(v.Text, v.Span, path...)
	return v
}

// Values walks the values of an array; anything else has no values.
func (v Value) Values() iter.Seq[Value] {
	return func(yield func(Value) bool) {
		for at := range span.Values(v.Text, v.Span) {
			if !yield(Value{at, v.Text}) {
				return
			}
		}
	}
}

// Members walks the members of an object; anything else has no members.
func (v Value) Members() iter.Seq2[string, Value] {
	return func(yield func(string, Value) bool) {
		for m := range span.Members(v.Text, v.Span) {
			if !yield(string(m.Name), Value{m.Value, v.Text}) {
				return
			}
		}
	}
}

// Texts is the text of a string, or the texts of a list of blocks, each on a line of its own.
func (v Value) Texts() string {
	if v.Kind() == '"' {
		return v.String()
	}
	var texts []string
	for block := range v.Values() {
		if text := block.Get("text").String(); text != "" {
			texts = append(texts, text)
		}
	}
	return strings.Join(texts, "\n")
}

// Read reads members into variables: names and pointers alternate. A *string takes the text of a
// JSON string, an *int a number, a *bool true and false, a *Value whatever it is; a member of
// another kind changes nothing. One variable may have several names. Read returns the number of
// other members.
func (v Value) Read(members ...any) (others int) {
next:
	for m := range span.Members(v.Text, v.Span) {
		for i := 0; i+1 < len(members); i += 2 {
			if string(m.Name) == members[i].(string) {
				Value{m.Value, v.Text}.into(members[i+1])
				continue next
			}
		}
		others++
	}
	return others
}

func (v Value) into(variable any) {
	kind := v.Kind()
	switch variable := variable.(type) {
	case *Value:
		*variable = v
	case *string:
		if kind == '"' {
			*variable = v.String()
		}
	case *int:
		if kind == '0' {
			*variable = v.Int()
		}
	case *bool:
		if kind == 't' || kind == 'f' {
			*variable = kind == 't'
		}
	}
}
