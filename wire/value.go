package wire

import (
	"iter"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// Value is a value in well-formed JSON. The zero value is no value: it has no members, and its text
// is empty.
type Value struct {
	Span
	Text []byte // what the span points into
}

// ValueOf is the one value of well-formed text.
func ValueOf(text []byte) Value { return Value{Root(text), text} }

// Kind is the first byte of the value, as of the function Kind.
func (v Value) Kind() byte { return Kind(v.Text, v.Span) }

// String is the text of a JSON string, and "" for anything else.
func (v Value) String() string { return String(v.Text, v.Span) }

// Int is a JSON number as an integer, and 0 for anything else.
func (v Value) Int() int { return Number(v.Text, v.Span) }

// Bytes are the bytes of the value, Raw is a copy of them.
func (v Value) Bytes() []byte       { return v.Of(v.Text) }
func (v Value) Raw() jsontext.Value { return Raw(v.Text, v.Span) }

// Get is the member of a member …: the value itself without a name.
func (v Value) Get(path ...string) Value {
	for _, name := range path {
		v.Span = Member(v.Text, v.Span, name)
	}
	return v
}

// Values walks the values of an array; anything else has no values.
func (v Value) Values() iter.Seq[Value] {
	return func(yield func(Value) bool) {
		for at := range Values(v.Text, v.Span) {
			if !yield(Value{at, v.Text}) {
				return
			}
		}
	}
}

// Members walks the members of an object; anything else has no members.
func (v Value) Members() iter.Seq2[string, Value] {
	return func(yield func(string, Value) bool) {
		for name, at := range Members(v.Text, v.Span) {
			if !yield(string(name), Value{at, v.Text}) {
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
	for name, at := range Members(v.Text, v.Span) {
		for i := 0; i+1 < len(members); i += 2 {
			if string(name) == members[i].(string) {
				Value{at, v.Text}.into(members[i+1])
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
