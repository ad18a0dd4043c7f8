// Package span finds where JSON values are in a text, and changes some of them without touching the
// rest.
//
// The files of other products are long, sometimes cut short by a crash, and belong to programs that
// count on every byte. So a reader needs to know where a value is, not only what it says; it needs
// what can be read of a damaged file; and a writer must leave every byte alone that it has no
// reason to change. A decoder gives none of that: it stops at the first thing it dislikes.
//
// The scanner ([Members], [Values], [Find], [Lines]) matches quotes and brackets and nothing else,
// to any depth. [Check] says whether a text is JSON in every respect. The splicer ([Splice], [Set],
// [Remove]) writes edits into the original bytes. Functions that are given a text and a span of it
// return spans of the same text.
package span

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Span is a range of bytes of a text, End excluded. The zero value means "absent".
type Span struct{ Start, End int }

// All is the span of a whole text.
func All(text []byte) Span { return Span{0, len(text)} }

// Empty reports whether the span holds nothing.
func (s Span) Empty() bool { return s.End <= s.Start }

// Len is the number of bytes.
func (s Span) Len() int { return s.End - s.Start }

// Of returns the bytes of the span, nil if it is empty. Appending to them does not overwrite the
// text.
func (s Span) Of(text []byte) []byte {
	if s.Empty() {
		return nil
	}
	return text[s.Start:s.End:s.End]
}

// Shift returns the span that lies by bytes further on. An empty span stays as it is.
func (s Span) Shift(by int) Span {
	if s.Empty() {
		return s
	}
	return Span{s.Start + by, s.End + by}
}

// Member is a member of an object.
type Member struct {
	Name  []byte // unescaped, U+FFFD for what is not UTF-8; usually bytes of the text itself
	Key   Span   // of the name, with its quotes
	Value Span
	Cut   bool // the text ends inside the value
}

// Errors of [Walk].
var (
	ErrNotObject = errors.New("not a JSON object")
	ErrCut       = errors.New("the line ends inside a value")
	ErrTrailing  = errors.New("there is more behind the object")
)

// Walk visits the members of an object in their order, the same name twice if it is there twice,
// until visit returns false. The error says what is wrong with the object's brackets, quotes,
// commas and colons; members up to there were visited. A missing or superfluous comma is passed
// over and reported at the end.
func Walk(text []byte, object Span, visit func(Member) bool) error {
	text = text[:object.End]
	at := Space(text, object.Start)
	if at >= len(text) || text[at] != '{' {
		return ErrNotObject
	}
	loose := false
	at++
	for first := true; ; first = false {
		next, odd := Next(text, at, first)
		at, loose = next, loose || odd
		if at < len(text) && text[at] == '}' {
			switch {
			case loose:
				return ErrCut
			case Space(text, at+1) < len(text):
				return ErrTrailing
			}
			return nil
		}
		m, ok := MemberAt(text, at)
		if !ok {
			return ErrCut
		}
		if !visit(m) {
			return nil
		}
		if m.Cut {
			return ErrCut
		}
		at = m.Value.End
	}
}

// Next returns the position of the next member or element, or of the bracket that ends them, after
// the one that ended at a position, or after the opening bracket if it is the first. odd reports a
// comma that is missing, or is where none should be; it is passed over.
func Next(text []byte, at int, first bool) (next int, odd bool) {
	at = Space(text, at)
	comma := at < len(text) && text[at] == ','
	if comma {
		at = Space(text, at+1)
	}
	if at == len(text) {
		return at, false
	}
	ends := text[at] == '}' || text[at] == ']'
	return at, comma == (first || ends)
}

// Members yields the members of an object as far as it can be read; anything else has none.
func Members(text []byte, object Span) iter.Seq[Member] {
	return func(yield func(Member) bool) { _ = Walk(text, object, yield) }
}

// MemberAt reads the member whose name begins at a position. It is not ok if there is no name,
// colon or value.
func MemberAt(text []byte, at int) (m Member, ok bool) {
	m, ok = KeyAt(text, at)
	if !ok {
		return m, false
	}
	m.Value.End = End(text, m.Value.Start)
	if m.Value.End < 0 {
		m.Value.End, m.Cut = len(text), true
	}
	return m, !m.Value.Empty()
}

// KeyAt reads the name of the member that begins at a position, and where its value begins.
// Value.End is not set.
func KeyAt(text []byte, at int) (m Member, ok bool) {
	if at >= len(text) || text[at] != '"' {
		return m, false
	}
	end := stringEnd(text, at)
	if end < 0 {
		return m, false
	}
	m.Key, m.Name = Span{at, end}, text[at+1:end-1]
	if bytes.IndexByte(m.Name, '\\') >= 0 || !utf8.Valid(m.Name) {
		m.Name, _ = jsontext.AppendUnquote(nil, text[at:end])
	}
	colon := Space(text, end)
	if colon >= len(text) || text[colon] != ':' {
		return m, false
	}
	m.Value.Start = Space(text, colon+1)
	return m, m.Value.Start < len(text)
}

// Find returns the value of a member, or of a member of a member and so on. Of several members with
// one name the last one counts. The span is empty if there is no such member.
func Find(text []byte, object Span, path ...string) Span {
	for _, name := range path {
		var found Span
		for m := range Members(text, object) {
			if string(m.Name) == name {
				found = m.Value
			}
		}
		object = found
	}
	return object
}

// Get returns the bytes that [Find] finds in an object, nil if there is no such member.
func Get(object []byte, path ...string) []byte {
	return Find(object, All(object), path...).Of(object)
}

// Values yields the values of an array as far as it can be read; anything else has none. The span
// of a value that is cut reaches to the end of the array's span. Missing and superfluous commas are
// passed over.
func Values(text []byte, array Span) iter.Seq[Span] {
	return func(yield func(Span) bool) {
		text := text[:array.End]
		at := Space(text, array.Start)
		if at >= len(text) || text[at] != '[' {
			return
		}
		for at++; ; {
			for at = Space(text, at); at < len(text) && text[at] == ','; {
				at = Space(text, at+1)
			}
			end := End(text, at)
			if end < 0 {
				end = len(text)
			}
			if end <= at || !yield(Span{at, end}) {
				return
			}
			at = end
		}
	}
}

// Space returns the position of the next byte that is not white space.
func Space(text []byte, at int) int {
	for at < len(text) && (text[at] == ' ' || text[at] == '\n' || text[at] == '\r' || text[at] == '\t') {
		at++
	}
	return at
}

// End returns the position after the value that begins at a position, -1 if the text ends inside
// it. Where no value begins, it returns the position itself.
func End(text []byte, at int) int {
	depth := 0
	for ; at < len(text); at++ {
		switch c := text[at]; {
		case c == '"':
			end := stringEnd(text, at)
			if end < 0 || depth == 0 {
				return end
			}
			at = end - 1
		case c == '{' || c == '[':
			depth++
		case c == '}' || c == ']':
			if depth--; depth < 0 {
				return at // of what the value is in
			}
			if depth == 0 {
				return at + 1
			}
		case depth == 0 && (c == ',' || c == ':' || c <= ' '):
			return at
		}
	}
	if depth > 0 {
		return -1
	}
	return at // a number or a word may end where the text does
}

// stringEnd returns the position after the string that opens at a position, -1 if it does not end.
func stringEnd(text []byte, at int) int {
	for at++; ; {
		n := bytes.IndexByte(text[at:], '"')
		if n < 0 {
			return -1
		}
		at += n + 1
		slashes := 0
		for text[at-2-slashes] == '\\' {
			slashes++
		}
		if slashes%2 == 0 {
			return at
		}
	}
}

// Kind is the first byte of a value: '{', '[', '"', 't', 'f', 'n'; '0' for a number and 0 for
// nothing.
func Kind(value []byte) byte {
	switch {
	case len(value) == 0:
		return 0
	case value[0] == '-' || '0' <= value[0] && value[0] <= '9':
		return '0'
	}
	return value[0]
}

// String returns the text of a JSON string, and "" for anything else. Bytes that are not UTF-8
// become U+FFFD.
func String(value []byte) string {
	if len(value) < 2 || value[0] != '"' {
		return ""
	}
	if inner := value[1 : len(value)-1]; bytes.IndexByte(inner, '\\') < 0 && utf8.Valid(inner) {
		return string(inner)
	}
	text, _ := jsontext.AppendUnquote(make([]byte, 0, len(value)), value)
	return string(text)
}

// Quote writes a text as a JSON string. Bytes that are not UTF-8 become U+FFFD.
func Quote(text string) []byte {
	quoted, _ := jsontext.AppendQuote(nil, text)
	return quoted
}

// lenient is what products write: names that come twice, and cut characters.
var lenient = json.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))

// Valid reports whether a text is one JSON value with nothing after it.
func Valid(text []byte) bool { return jsontext.Value(text).IsValid(lenient) }

// Check returns nil for a text that is one JSON value, and else what is wrong with it: a
// *jsontext.SyntacticError, which has the position; io.ErrUnexpectedEOF, also wrapped, where the
// text ends too early; or that something follows.
func Check(text []byte) error {
	if Valid(text) {
		return nil
	}
	dec := jsontext.NewDecoder(bytes.NewBuffer(text), lenient)
	if err := dec.SkipValue(); err != nil {
		return err
	}
	if _, err := dec.ReadToken(); err != io.EOF && err != nil {
		return err
	}
	return fmt.Errorf("something follows the JSON value at byte %d", dec.InputOffset())
}

// Reason says in a line why a decoder or [Check] refused a text, which whole names: "the line",
// "the file". Positions count from 1; types of Go are not named.
func Reason(err error, whole string) string {
	var syntax *jsontext.SyntacticError
	var misfit *json.SemanticError
	switch {
	case TooDeep(err):
		return "it is nested deeper than 10,000 levels"
	case errors.As(err, &misfit):
		what := "a JSON value does not fit"
		if misfit.JSONKind != 0 {
			what = fmt.Sprintf("a JSON %s does not fit", misfit.JSONKind)
		}
		if misfit.JSONPointer != "" {
			what += fmt.Sprintf(" at %s", misfit.JSONPointer)
		}
		if misfit.Err != nil {
			what += ": " + misfit.Err.Error()
		}
		return what
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return whole + " is cut short"
	case errors.As(err, &syntax):
		return fmt.Sprintf("position %d: %v", syntax.ByteOffset+1, syntax.Err)
	}
	return err.Error()
}

// TooDeep recognises the decoder's limit on nesting, which it has no error value for.
func TooDeep(err error) bool {
	var syntax *jsontext.SyntacticError
	return errors.As(err, &syntax) && syntax.Err != nil && syntax.Err.Error() == "exceeded max depth"
}

// Common returns how many bytes two texts begin with in common.
func Common(a, b []byte) int {
	const stride = 4096 // compared at once
	n, at := min(len(a), len(b)), 0
	for at+stride <= n && string(a[at:at+stride]) == string(b[at:at+stride]) {
		at += stride
	}
	for at < n && a[at] == b[at] {
		at++
	}
	return at
}
