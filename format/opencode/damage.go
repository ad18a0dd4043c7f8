package opencode

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/text/span"
)

func (r *reader) damage(at, end int, reason string) {
	r.doc.Damaged = append(r.doc.Damaged, format.Damage{
		Line: r.line(at), Offset: int64(at), Bytes: end - at, Reason: reason,
	})
}

// line returns the number of the line in which a byte is, 1 for the first.
func (r *reader) line(at int) int {
	if at < r.counted {
		r.counted, r.lines = 0, 0
	}
	r.lines += bytes.Count(r.src[r.counted:at], []byte("\n"))
	r.counted = at
	return 1 + r.lines
}

const expected = "an OpenCode export, which is a JSON object with info and messages"

// noExport is the error of a file in which nothing is of this format.
func (r *reader) noExport() error {
	at := r.native.start
	_, cause := r.decode(at, new(jsontext.Value))
	return &format.SyntaxError{
		Format: Name, Line: r.line(at), Offset: int64(at), Err: cause,
		Expected: expected,
	}
}

// cutAt lists the end of the file as damage, unless what it cut was listed already.
func (r *reader) cutAt(at int) {
	if n := len(r.doc.Damaged); n > 0 {
		last := r.doc.Damaged[n-1]
		if last.Offset+int64(last.Bytes) >= int64(len(r.src)) {
			return
		}
	}
	if at >= len(r.src) {
		r.damage(len(r.src), len(r.src), "the file ends before its JSON does")
		return
	}
	r.damage(at, len(r.src), "the text is no longer an export from here on")
}

// salvage decodes an object member by member into the same value, and lists those that do not fit.
// cut says that the object does not end, cause why it was not read as a whole.
func salvage[T any](r *reader, object span.Span, cut bool, into *T, what string, cause error) {
	last, listed := object.Start, len(r.doc.Damaged)
	for m := range span.Members(r.src, object) {
		if cut && m.Value.End == object.End {
			break
		}
		last = m.Value.End
		text := slices.Concat([]byte{'{'}, m.Key.Of(r.src), []byte{':'}, m.Value.Of(r.src), []byte{'}'})
		// What does not fit must not leave half of itself, not even in the unknown members.
		var alone T
		err := json.Unmarshal(text, &alone, session.ReadOptions())
		if err == nil {
			err = json.Unmarshal(text, into, session.ReadOptions())
		}
		if err != nil {
			r.damage(m.Key.Start, last, fmt.Sprintf("%s: the member %q does not fit: %s", what, m.Name, reason(err)))
		}
	}
	switch {
	case cut:
		r.damage(last, object.End, what+": the file ends inside it")
	case len(r.doc.Damaged) == listed:
		r.damage(last, object.End, what+": "+reason(cause))
	}
}

// syntactic reports whether an error says that the text is not JSON, rather than JSON that does not
// fit.
func syntactic(err error) bool {
	var s *jsontext.SyntacticError
	return errors.As(err, &s) && !span.TooDeep(err)
}

// reason says in one line what a decoder found wrong. Where it is follows from the damage.
func reason(err error) string {
	var syntax *jsontext.SyntacticError
	if errors.As(err, &syntax) && syntax.Err != nil && !span.TooDeep(err) {
		return syntax.Err.Error()
	}
	return span.Reason(err, "the file")
}
