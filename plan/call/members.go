package call

import (
	"bytes"
	"unicode/utf8"
	"unsafe"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/text/span"
)

// Members walks the members of a JSON object in their order, those of one name too; anything else
// has none, and one that is damaged has those before the damage. Names are unquoted, values as they
// were written; both are views of the object: do not change them.
func Members(object jsontext.Value) func(yield func(name string, value jsontext.Value) bool) {
	return func(yield func(string, jsontext.Value) bool) {
		if at, _, plain := plainMembers(object, yield); !plain {
			decodedMembers(object, at, yield)
		}
	}
}

// plainMembers walks the members of an object that is written the way everybody does, up to end. It
// stops where something is unusual, and says how many it gave.
func plainMembers(b jsontext.Value, yield func(string, jsontext.Value) bool) (given, end int, plain bool) {
	i := span.Space(b, 0)
	if i == len(b) || b[i] != '{' {
		return 0, 0, true
	}
	i = span.Space(b, i+1)
	for i < len(b) && b[i] == '"' {
		end, easy := stringEnd(b, i)
		if end < 0 || !easy || !utf8.Valid(b[i:end]) {
			return given, 0, false
		}
		name := view(b[i+1 : end-1])
		if i = span.Space(b, end); i == len(b) || b[i] != ':' {
			return given, 0, false
		}
		i = span.Space(b, i+1)
		if end = valueEnd(b, i); end < 0 {
			return given, 0, false
		}
		if !yield(name, b[i:end:end]) {
			return given, 0, true
		}
		given++
		if i = span.Space(b, end); i < len(b) && b[i] == ',' {
			if i = span.Space(b, i+1); i < len(b) && b[i] == '"' {
				continue
			}
			return given, 0, false
		}
		break
	}
	return given, i + 1, i < len(b) && b[i] == '}'
}

// decodedMembers walks the members of any object, behind those that were given already.
func decodedMembers(object jsontext.Value, given int, yield func(string, jsontext.Value) bool) {
	if object.Kind() != '{' {
		return
	}
	dec := jsontext.NewDecoder(bytes.NewBuffer(object), session.ReadOptions())
	if _, err := dec.ReadToken(); err != nil {
		return
	}
	for dec.PeekKind() == '"' {
		name, err := dec.ReadToken()
		if err != nil {
			return
		}
		key := name.String()
		value, err := dec.ReadValue()
		if err != nil {
			return
		}
		if given--; given < 0 && !yield(key, value) {
			return
		}
	}
}

// valueEnd is where the value that begins at i ends, -1 where that is not plain.
func valueEnd(b []byte, i int) int {
	if i == len(b) {
		return -1
	}
	if b[i] == '"' {
		end, _ := stringEnd(b, i)
		return end
	}
	depth, j := 0, i
	for j < len(b) {
		switch b[j] {
		case '"':
			if j, _ = stringEnd(b, j); j < 0 {
				return -1
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		}
		if depth < 0 || depth == 0 && (b[j] == ',' || b[j] <= ' ') {
			break
		}
		j++
		if depth == 0 && (b[j-1] == '}' || b[j-1] == ']') {
			break
		}
	}
	if !jsontext.Value(b[i:j]).IsValid(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)) {
		return -1
	}
	return j
}

// stringEnd is the position behind the string that begins at i, -1 where it is not well-formed.
// easy is set when nothing in it is escaped.
func stringEnd(b []byte, i int) (end int, easy bool) {
	easy = true
	for i++; i < len(b); i++ {
		for i+8 <= len(b) {
			eight := eightAt(b, i)
			if marks := below(eight, ' ') | equal(eight, '"') | equal(eight, '\\'); marks != 0 {
				i += first(marks)
				break
			}
			i += 8
		}
		if i == len(b) {
			break
		}
		switch c := b[i]; {
		case c == '"':
			return i + 1, easy
		case c < ' ':
			return -1, false
		case c == '\\':
			easy = false
			if i++; i == len(b) {
				return -1, false
			}
			switch b[i] {
			case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
			default:
				return -1, false // \u, which has rules of its own, among them
			}
		}
	}
	return -1, false
}

// Unquote is the text of a JSON string, and false for anything else and for what is not UTF-8.
// Where nothing is escaped it is a view of the string: do not change it.
func Unquote(value jsontext.Value) (text string, ok bool) {
	if n := len(value); n >= 2 && value[0] == '"' {
		if end, easy := stringEnd(value, 0); end == n && utf8.Valid(value) {
			if value = value[1 : n-1]; !easy {
				value = unescaped(value)
			}
			return view(value), true
		}
	}
	unquoted, err := jsontext.AppendUnquote(make([]byte, 0, len(value)), value)
	return view(unquoted), err == nil
}

// unescaped is what stands between the quotes of a string in which stringEnd found nothing unusual.
func unescaped(b []byte) []byte {
	out := make([]byte, 0, len(b))
	for {
		at := bytes.IndexByte(b, '\\')
		if at < 0 {
			return append(out, b...)
		}
		c := b[at+1]
		switch c {
		case 'b':
			c = '\b'
		case 'f':
			c = '\f'
		case 'n':
			c = '\n'
		case 'r':
			c = '\r'
		case 't':
			c = '\t'
		}
		out, b = append(append(out, b[:at]...), c), b[at+2:]
	}
}

// view shows bytes as a string without copying them.
func view(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }
