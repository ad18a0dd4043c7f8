package wire

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/session"
)

// Complete returns a body that is well-formed JSON: body itself if it is well-formed, otherwise its
// readable beginning with the open brackets closed, and what was left out. A string that was cut
// keeps the text that is there. Offsets into the result are offsets into body, up to the cut.
func Complete(body []byte) ([]byte, []Skipped) {
	if jsontext.Value(body).IsValid(session.ReadOptions()) {
		return body, nil
	}
	dec := jsontext.NewDecoder(bytes.NewBuffer(body), session.ReadOptions())
	var failure error
	for {
		if _, err := dec.ReadToken(); err != nil {
			failure = err
			break
		}
		if dec.StackDepth() == 0 { // one value is complete, the rest is not part of it
			break
		}
	}
	cut := int(dec.InputOffset())
	if cut == 0 {
		return nil, []Skipped{{Span{0, len(body)}, "not JSON"}}
	}
	text := bytes.Clone(body[:cut])
	if dec.StackDepth() == 0 {
		return text, skippedFrom(body, cut, "bytes after the end of the JSON value")
	}
	kind, length := dec.StackIndex(dec.StackDepth())
	named := kind == '{' && length%2 == 1 // a name without its value
	rest := cut
	for rest < len(body) && strings.IndexByte(" \t\r\n,:", body[rest]) >= 0 {
		rest++
	}
	if rest < len(body) && body[rest] == '"' && (kind == '[' || named) && closingQuote(body, rest) < 0 {
		text = append(body[:rest:rest], wholeString(body[rest:])...)
		named, cut = false, len(body)
	}
	if named {
		text = append(text, ":null"...)
	}
	for depth := dec.StackDepth(); depth > 0; depth-- {
		if kind, _ := dec.StackIndex(depth); kind == '{' {
			text = append(text, '}')
		} else {
			text = append(text, ']')
		}
	}
	if !jsontext.Value(text).IsValid(session.ReadOptions()) {
		return nil, []Skipped{{Span{0, len(body)}, "not JSON: " + failure.Error()}}
	}
	reason := "the JSON ends here"
	if rest < len(body) && cut < len(body) {
		reason = "not JSON from here on: " + failure.Error()
	}
	return text, []Skipped{{Span{min(cut, len(body)), len(body)}, reason}}
}

func skippedFrom(body []byte, cut int, reason string) []Skipped {
	if len(bytes.TrimSpace(body[cut:])) == 0 {
		return nil
	}
	return []Skipped{{Span{cut, len(body)}, reason}}
}

// wholeString closes a string literal that was cut: an escape or a character that is not whole
// goes.
func wholeString(cut []byte) []byte {
	for back := 1; back < utf8.UTFMax && back < len(cut); back++ {
		if last := cut[len(cut)-back:]; utf8.RuneStart(last[0]) {
			if !utf8.FullRune(last) {
				cut = cut[:len(cut)-back]
			}
			break
		}
	}
	for drop := 0; drop <= 6 && len(cut)-drop >= 1; drop++ {
		literal := append(cut[:len(cut)-drop:len(cut)-drop], '"')
		if drop < len(cut) && jsontext.Value(literal).IsValid(session.ReadOptions()) {
			return literal
		}
	}
	return []byte(`""`)
}

// closingQuote returns the position of the quote that ends the string literal at start, -1 without
// one.
func closingQuote(text []byte, start int) int {
	for at := start + 1; at < len(text); {
		quote := bytes.IndexByte(text[at:], '"')
		if quote < 0 {
			return -1
		}
		quote += at
		slashes := quote - 1
		for slashes > start && text[slashes] == '\\' {
			slashes--
		}
		if (quote-1-slashes)%2 == 0 {
			return quote
		}
		at = quote + 1
	}
	return -1
}

// valueEnd returns the end of the JSON value that begins at start of well-formed text.
func valueEnd(text []byte, start int) int {
	depth := 0
	for at := start; at < len(text); at++ {
		switch text[at] {
		case '"':
			end := closingQuote(text, at)
			if end < 0 {
				return len(text)
			}
			at = end
			if depth == 0 {
				return at + 1
			}
		case '{', '[':
			depth++
		case '}', ']':
			if depth == 0 {
				return at // the end of what holds a literal
			}
			if depth--; depth == 0 {
				return at + 1
			}
		case ',', ' ', '\t', '\r', '\n', ':':
			if depth == 0 {
				return at
			}
		}
	}
	return len(text)
}

// Kind is the first byte of the value: '{', '[', '"', 't', 'f', 'n', or '0' for a number and 0 for
// nothing.
func Kind(text []byte, value Span) byte {
	if value.Empty() {
		return 0
	}
	if c := text[value.Start]; c != '-' && (c < '0' || c > '9') {
		return c
	}
	return '0'
}

// Root is the span of the one value of well-formed text.
func Root(text []byte) Span {
	start := skipSpace(text, 0)
	if start == len(text) {
		return Span{}
	}
	return Span{start, valueEnd(text, start)}
}

func skipSpace(text []byte, at int) int {
	for at < len(text) && (text[at] == ' ' || text[at] == '\n' || text[at] == '\t' || text[at] == '\r') {
		at++
	}
	return at
}

// Members walks the members of a JSON object in well-formed text; anything else has no members.
// Names are unescaped and valid until the next step only.
func Members(text []byte, object Span) func(yield func(name []byte, value Span) bool) {
	return func(yield func([]byte, Span) bool) {
		if Kind(text, object) != '{' {
			return
		}
		at := skipSpace(text, object.Start+1)
		for at < object.End && text[at] == '"' {
			end := closingQuote(text, at)
			if end < 0 {
				return
			}
			name := text[at+1 : end]
			if bytes.IndexByte(name, '\\') >= 0 {
				name, _ = jsontext.AppendUnquote(nil, text[at:end+1])
			}
			at = skipSpace(text, end+1)
			if at >= object.End || text[at] != ':' {
				return
			}
			start := skipSpace(text, at+1)
			value := Span{start, valueEnd(text, start)}
			if value.Empty() || !yield(name, value) {
				return
			}
			if at = skipSpace(text, value.End); at < object.End && text[at] == ',' {
				at = skipSpace(text, at+1)
			}
		}
	}
}

// Values walks the values of a JSON array in well-formed text; anything else has no values.
func Values(text []byte, array Span) func(yield func(value Span) bool) {
	return func(yield func(Span) bool) {
		if Kind(text, array) != '[' {
			return
		}
		at := skipSpace(text, array.Start+1)
		for at < array.End && text[at] != ']' {
			value := Span{at, valueEnd(text, at)}
			if value.Empty() || !yield(value) {
				return
			}
			if at = skipSpace(text, value.End); at < array.End && text[at] == ',' {
				at = skipSpace(text, at+1)
			}
		}
	}
}

// Member returns the value of a member, empty without one. Of two with the same name the later one
// counts.
func Member(text []byte, object Span, name string) Span {
	var found Span
	for n, value := range Members(text, object) {
		if string(n) == name {
			found = value
		}
	}
	return found
}

// String returns the text of a JSON string, and "" for anything else. Bytes that are not UTF-8
// become U+FFFD.
func String(text []byte, value Span) string {
	if Kind(text, value) != '"' {
		return ""
	}
	literal := value.Of(text)
	inner := literal[1 : len(literal)-1]
	if bytes.IndexByte(inner, '\\') < 0 && utf8.Valid(inner) {
		return string(inner)
	}
	unquoted, _ := jsontext.AppendUnquote(nil, literal)
	return string(unquoted)
}

// Number returns a JSON number as an integer, and 0 for anything else.
func Number(text []byte, value Span) int {
	if Kind(text, value) != '0' {
		return 0
	}
	n := 0
	for _, c := range value.Of(text) {
		if c < '0' || c > '9' || n > 1<<40 {
			break
		}
		n = n*10 + int(c-'0')
	}
	return n
}

// Raw returns a copy of the value's JSON, nil for an empty span.
func Raw(text []byte, value Span) jsontext.Value {
	if value.Empty() {
		return nil
	}
	return bytes.Clone(value.Of(text))
}
