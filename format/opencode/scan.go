package opencode

import (
	"bytes"
	"iter"

	"github.com/go-json-experiment/json/jsontext"
)

// The outer structure of a file is walked here and not by the decoder, because a decoder stops for good at the first
// thing that it does not like: text around the JSON, a value nested deeper than it goes, the end of a file cut short.

// space returns the position of the next byte that is no white space.
func space(src []byte, at int) int {
	for at < len(src) && (src[at] == ' ' || src[at] == '\n' || src[at] == '\r' || src[at] == '\t') {
		at++
	}
	return at
}

// leadAt is the line feed and the white space before a value that begins a line, "" for one that does not.
func leadAt(src []byte, at int) string {
	n := at
	for n > 0 && (src[n-1] == ' ' || src[n-1] == '\t') {
		n--
	}
	if n == 0 || src[n-1] != '\n' {
		return ""
	}
	return string(src[n-1 : at])
}

// skip returns the position after the value at at, -1 when the text ends inside it. It matches brackets and quotes and nothing
// else, so that it goes to any depth.
func skip(src []byte, at int) int {
	depth := 0
	for at < len(src) {
		switch src[at] {
		case '"':
			if at = skipString(src, at); at < 0 {
				return -1
			}
			if depth == 0 {
				return at
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return at + 1
			}
			if depth < 0 {
				return at
			}
		case ',', ':', ' ', '\n', '\r', '\t':
			if depth == 0 {
				return at
			}
		}
		at++
	}
	if depth == 0 {
		return at // a number or a word may end where the text does
	}
	return -1
}

// skipString returns the position after the string that opens at at, -1 when it does not end.
func skipString(src []byte, at int) int {
	for at++; ; {
		n := bytes.IndexByte(src[at:], '"')
		if n < 0 {
			return -1
		}
		at += n
		slashes := 0
		for src[at-1-slashes] == '\\' {
			slashes++
		}
		at++
		if slashes%2 == 0 {
			return at
		}
	}
}

// member is one member of an object: its name, where that stands, and the range of its value.
type member struct {
	name string
	key  int
	span
}

// partial walks the members of the object at the start of src as far as it goes. The value of the last may be cut: its end is
// then the end of src.
func partial(src []byte) iter.Seq[member] {
	return func(yield func(member) bool) {
		if len(src) == 0 || src[0] != '{' {
			return
		}
		for at := 1; ; {
			at = space(src, at)
			if at < len(src) && src[at] == ',' {
				at = space(src, at+1)
			}
			if at >= len(src) || src[at] != '"' {
				return
			}
			m := member{key: at}
			end := skipString(src, at)
			if end < 0 {
				return
			}
			m.name = unquote(src[at:end])
			at = space(src, end)
			if at >= len(src) || src[at] != ':' {
				return
			}
			if m.start = space(src, at+1); m.start >= len(src) {
				return
			}
			if m.end = skip(src, m.start); m.end < 0 {
				m.end = len(src)
			}
			if m.end == m.start || !yield(m) {
				return
			}
			at = m.end
		}
	}
}

// find returns the value of a member of an object, the last where a name occurs twice.
func find(object []byte, name string) (found member, ok bool) {
	for m := range partial(object) {
		if m.name == name {
			found, ok = m, true
		}
	}
	return found, ok
}

// unquote reads a JSON string; what is no string is "".
func unquote(quoted []byte) string {
	text, err := jsontext.AppendUnquote(nil, quoted)
	if err != nil && len(text) == 0 {
		return ""
	}
	return string(text)
}

// jsonStart returns where the JSON begins, -1 without any: at once, or after the lines that the product's programs print
// before it.
func jsonStart(src []byte) int {
	at := 0
	if bytes.HasPrefix(src, []byte("\ufeff")) {
		at = 3
	}
	first := space(src, at)
	if first < len(src) && (src[first] == '{' || src[first] == '[') {
		return first
	}
	const far = 64 << 10 // a status line is short
	head := src[:min(len(src), far)]
	if status := bytes.Index(head, []byte("Exporting session")); status >= 0 {
		// The line may end without a line feed where two streams were joined.
		if n := bytes.IndexByte(head[status:], '{'); n >= 0 {
			return status + n
		}
		return -1
	}
	for at := first; ; {
		n := bytes.IndexByte(head[at:], '\n')
		if n < 0 {
			return -1
		}
		at = at + n + 1
		if at < len(head) && head[at] == '{' {
			return at
		}
	}
}

// line returns the number of the line in which a byte stands, 1 for the first.
func line(src []byte, at int) int { return 1 + bytes.Count(src[:at], []byte("\n")) }
