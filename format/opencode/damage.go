package opencode

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/session"
)

func (r *reader) damage(at, end int, reason string) {
	r.doc.Damaged = append(r.doc.Damaged, format.Damage{
		Line: r.line(at), Offset: int64(at), Bytes: end - at, Reason: reason,
	})
}

// line returns the number of the line in which a byte stands, 1 for the first.
func (r *reader) line(at int) int {
	if at < r.counted {
		r.counted, r.lines = 0, 0
	}
	r.lines += bytes.Count(r.src[r.counted:at], []byte("\n"))
	r.counted = at
	return 1 + r.lines
}

// noExport says that nothing in the file is of this format.
func (r *reader) noExport() error {
	at := r.native.start
	_, cause := r.decode(at, new(jsontext.Value))
	return &format.SyntaxError{
		Format: Name, Line: r.line(at), Offset: int64(at), Err: cause,
		Expected: "an OpenCode export, which is a JSON object with info and messages",
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

// salvage decodes an object member by member into the same value, and lists those that do not fit. cut says that the object
// does not end, cause why it was not read as a whole.
func salvage[T any](r *reader, object span, cut bool, into *T, what string, cause error) {
	value := object.of(r.src)
	last, listed := object.start, len(r.doc.Damaged)
	for m := range partial(value) {
		if cut && m.end == len(value) {
			break
		}
		last = object.start + m.end
		name, err := jsontext.AppendQuote(nil, m.name)
		if err == nil {
			text := append(append(append(append([]byte{'{'}, name...), ':'), value[m.start:m.end]...), '}')
			var alone T // what does not fit must not leave half of itself, not even in the unknown members that are there already
			if err = json.Unmarshal(text, &alone, session.ReadOptions()); err == nil {
				err = json.Unmarshal(text, into, session.ReadOptions())
			}
		}
		if err != nil {
			r.damage(object.start+m.key, last, fmt.Sprintf("%s: the member %q does not fit: %s", what, m.name, reason(err)))
		}
	}
	switch {
	case cut:
		r.damage(last, object.end, what+": the file ends inside it")
	case len(r.doc.Damaged) == listed:
		r.damage(last, object.end, what+": "+reason(cause))
	}
}

// syntactic reports whether an error says that the text is not JSON, rather than JSON that does not fit.
func syntactic(err error) bool {
	var s *jsontext.SyntacticError
	return errors.As(err, &s) && !tooDeep(err)
}

// reason says in one line what a decoder found wrong, without the name of the type that it decoded into.
func reason(err error) string {
	if tooDeep(err) {
		return "it is nested deeper than 10,000 levels"
	}
	var s *json.SemanticError
	if errors.As(err, &s) {
		what := fmt.Sprintf("a JSON %s does not fit", kind(s.JSONKind))
		if s.JSONPointer != "" {
			what += fmt.Sprintf(" at %s", s.JSONPointer)
		}
		if s.Err != nil {
			what += ": " + s.Err.Error()
		}
		return what
	}
	var syntax *jsontext.SyntacticError
	if errors.As(err, &syntax) && syntax.Err != nil {
		return syntax.Err.Error()
	}
	return err.Error()
}

func kind(k jsontext.Kind) string {
	if k == 0 {
		return "value"
	}
	return k.String()
}

// tooDeep recognises the decoder's limit on nesting, which it has no error value for.
func tooDeep(err error) bool {
	var s *jsontext.SyntacticError
	return errors.As(err, &s) && s.Err != nil && s.Err.Error() == "exceeded max depth"
}
