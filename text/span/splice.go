package span

import (
	"bytes"
	"cmp"
	"iter"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Edit puts other bytes in the place of a span; an empty span inserts.
type Edit struct {
	Span
	With []byte
}

// Splice applies edits to a text, in the order of their places, and leaves every other byte as it
// is. Insertions at one place keep their order and come before what replaces the bytes there. Of
// edits that overlap the one that begins first counts, of edits that begin together the longest,
// and of equal ones the first. The text itself is not changed; without edits it is returned.
func Splice(text []byte, edits ...Edit) []byte {
	if len(edits) == 0 {
		return text
	}
	return bytes.Join(slices.AppendSeq(make([][]byte, 0, 2*len(edits)+1), Pieces(text, edits...)), nil)
}

// Pieces yields what Splice joins, without a copy of the text.
func Pieces(text []byte, edits ...Edit) iter.Seq[[]byte] {
	edits = sorted(edits)
	return func(yield func([]byte) bool) {
		at := 0
		for _, e := range edits {
			if e.Start < at || e.End > len(text) {
				continue
			}
			if !yield(text[at:e.Start]) || !yield(e.With) {
				return
			}
			at = max(e.Start, e.End)
		}
		yield(text[at:])
	}
}

// sorted are edits in the order in which they count.
func sorted(edits []Edit) []Edit {
	order := func(a, b Edit) int {
		if a.Start != b.Start {
			return cmp.Compare(a.Start, b.Start)
		}
		if a.Empty() != b.Empty() {
			return cmp.Compare(a.End, b.End)
		}
		return cmp.Compare(b.End, a.End)
	}
	if slices.IsSortedFunc(edits, order) {
		return edits
	}
	edits = slices.Clone(edits)
	slices.SortStableFunc(edits, order)
	return edits
}

// Replace puts other bytes in the place of one span.
func Replace(text []byte, s Span, with []byte) []byte {
	return slices.Concat(text[:s.Start], with, text[s.End:])
}

// Update returns an object in which the member at the end of path has another value; an object
// without it stays as it is.
func Update(object, value []byte, path ...string) []byte {
	if at := Find(object, All(object), path...); !at.Empty() {
		return Replace(object, at, value)
	}
	return object
}

// Set returns an object in which the member at the end of path has this value; a new member goes to
// the end, and objects on the way are made if they are missing. An object over several lines stays
// one: outer is the line feed and white space before its own line, "" if it is on one line.
func Set(object []byte, outer string, value []byte, path ...string) []byte {
	name := path[0]
	lead := leadOf(object, outer)
	found := Find(object, All(object), name)
	if len(path) > 1 {
		if inner := found.Of(object); Kind(inner) == '{' {
			return Replace(object, found, Set(inner, lead, value, path[1:]...))
		}
		return Set(object, outer, Set([]byte("{}"), "", value, path[1:]...), name)
	}
	value = Indent(value, lead)
	if !found.Empty() {
		return Replace(object, found, value)
	}
	colon := ":"
	if lead != "" {
		colon = ": "
	}
	text := slices.Concat([]byte(lead), Quote(name), []byte(colon), value)
	end := -1
	for m := range Members(object, All(object)) {
		end = m.Value.End
	}
	if end < 0 { // the first member
		return slices.Concat([]byte{'{'}, text, []byte(outer), []byte{'}'})
	}
	return Splice(object, Edit{Span{end, end}, []byte{','}}, Edit{Span{end, end}, text})
}

// Remove returns an object without the member at the end of path, however often it is there, and
// with prune also without the object that this leaves empty. What a Set added, Remove takes away to
// the byte.
func Remove(object []byte, prune bool, path ...string) []byte {
	if len(path) == 1 {
		return remove(object, path[0])
	}
	at := Find(object, All(object), path[0])
	had := at.Of(object)
	if Kind(had) != '{' {
		return object
	}
	inner := Remove(had, prune, path[1:]...)
	if len(path) == 2 && prune && Bare(inner) && !Bare(had) {
		return remove(object, path[0])
	}
	return Replace(object, at, inner)
}

func remove(object []byte, name string) []byte {
	var gone []Edit
	first, previous := 0, 0 // the beginning of the first member to remove; the end of the member before
	stay := false           // whether a member before this one stays
	for m := range Members(object, All(object)) {
		switch {
		case string(m.Name) != name:
			if !stay && len(gone) > 0 { // with the comma after it
				gone = []Edit{{Span: Span{first, m.Key.Start}}}
			}
			stay = true
		case stay: // with the comma before it
			gone = append(gone, Edit{Span: Span{previous, m.Value.End}})
		case len(gone) == 0:
			first = m.Key.Start
			gone = []Edit{{Span: Span{first, m.Value.End}}}
		}
		previous = m.Value.End
	}
	if !stay && len(gone) > 0 {
		return []byte("{}")
	}
	return Splice(object, gone...)
}

// Bare reports whether an object has no member.
func Bare(object []byte) bool {
	for range Members(object, All(object)) {
		return false
	}
	return true
}

// leadOf is the white space before each member of an object, "" if it is on one line.
func leadOf(object []byte, outer string) string {
	for m := range Members(object, All(object)) {
		if lead := object[1:m.Key.Start]; bytes.HasPrefix(lead, []byte("\n")) {
			return string(lead)
		}
		return ""
	}
	if outer == "" {
		return ""
	}
	return outer + "  "
}

// Indent indents a value as those beside it are, each of which this line feed and white space
// precedes. Without a line feed the value stays as it is.
func Indent(value []byte, lead string) []byte {
	feed := strings.LastIndexByte(lead, '\n')
	if feed < 0 || strings.Trim(lead[feed+1:], " \t") != "" {
		return value
	}
	text := jsontext.Value(bytes.Clone(value))
	indent := []jsontext.Options{jsontext.WithIndentPrefix(lead[feed+1:]), jsontext.WithIndent("  "), lenient}
	if text.Indent(indent...) != nil {
		return value
	}
	return text
}

// Array writes values as a JSON array.
func Array[V ~[]byte](values []V) []byte {
	size := len("[]")
	for _, v := range values {
		size += len(v) + len(",")
	}
	return AppendArray(make([]byte, 0, size), values)
}

// AppendArray appends values to a text as a JSON array.
func AppendArray[V ~[]byte](text []byte, values []V) []byte {
	text = append(text, '[')
	for i, v := range values {
		if i > 0 {
			text = append(text, ',')
		}
		text = append(text, v...)
	}
	return append(text, ']')
}

// Object writes an object whose members keep the order in which they are added. The zero value is
// ready.
type Object struct{ text []byte }

// Add adds a member whose value is encoded. A value that cannot be encoded becomes null.
func (o *Object) Add(name string, value any) {
	text, err := json.Marshal(value, lenient, json.Deterministic(true))
	if err != nil {
		text = []byte("null")
	}
	o.Raw(name, text)
}

// Raw adds a member whose value is JSON already; no value at all becomes null.
func (o *Object) Raw(name string, value []byte) {
	if len(value) == 0 {
		value = []byte("null")
	}
	begin := byte(',')
	if len(o.text) == 0 {
		begin = '{'
	}
	o.text = append(append(o.text, begin), Quote(name)...)
	o.text = append(append(o.text, ':'), value...)
}

// With adds members, each a name and a value. Bytes, and a jsontext.Value, are JSON already.
func (o *Object) With(members ...any) *Object {
	for i := 0; i+1 < len(members); i += 2 {
		name := members[i].(string)
		switch value := members[i+1].(type) {
		case []byte:
			o.Raw(name, value)
		case jsontext.Value:
			o.Raw(name, value)
		case string:
			o.Raw(name, Quote(value))
		default:
			o.Add(name, value)
		}
	}
	return o
}

// Make writes an object of members, each a name and a value as With takes them.
func Make(members ...any) []byte { return new(Object).With(members...).Bytes() }

// Empty reports whether no member was added.
func (o *Object) Empty() bool { return len(o.text) == 0 }

// Bytes is the object.
func (o *Object) Bytes() []byte {
	if len(o.text) == 0 {
		return []byte("{}")
	}
	return append(slices.Clip(o.text), '}')
}
