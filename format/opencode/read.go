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

// Read understands a whole file. Text around the JSON, members and part types that are not known, and whatever stands before a
// cut or a break are read or kept; what could not be understood is listed in the document.
func (Format) Read(src []byte) (*format.Document, error) {
	start := jsonStart(src)
	if start < 0 {
		return nil, &format.SyntaxError{Format: Name, Line: 1, Expected: "an OpenCode export, which is a JSON object with info and messages"}
	}
	r := &reader{
		src: src, doc: &format.Document{Format: Name, Source: src}, native: &native{start: start, list: span{-1, -1}, info: span{-1, -1}},
		decoder: jsontext.NewDecoder(bytes.NewBuffer(nil)),
	}
	r.doc.Native = r.native
	r.doc.Session.Messages = []session.Message{}
	if src[start] == '[' {
		if err := r.shared(); err != nil {
			return nil, err
		}
	} else if err := r.root(); err != nil {
		return nil, err
	}
	r.finish()
	return r.doc, nil
}

// reader is one pass over a file.
type reader struct {
	src     []byte
	doc     *format.Document
	native  *native
	decoder *jsontext.Decoder
	notes   []noted
	ids     map[string]string // ids of the file → ids that they were made from
	unnamed int               // messages without an id so far
}

func (r *reader) damage(at, end int, reason string) {
	r.doc.Damaged = append(r.doc.Damaged, format.Damage{
		Line: line(r.src, at), Offset: int64(at), Bytes: end - at, Reason: reason,
	})
}

// decode reads the value at at and returns the position after it. Where it fails, end is where the value ends by its brackets, or
// -1 when it does not.
func (r *reader) decode(at int, into any) (end int, err error) {
	r.decoder.Reset(bytes.NewBuffer(r.src[at:]), session.ReadOptions())
	if err = json.UnmarshalDecode(r.decoder, into); err == nil {
		return at + int(r.decoder.InputOffset()), nil
	}
	return skip(r.src, at), err
}

// root walks the outer object.
func (r *reader) root() error {
	r.native.end = len(r.src)
	at := r.native.start + 1
	known := false
	for first := true; ; first = false {
		at = space(r.src, at)
		if at < len(r.src) && r.src[at] == ',' && !first {
			at = space(r.src, at+1)
		}
		if at < len(r.src) && r.src[at] == '}' {
			r.native.end = at + 1
			break
		}
		m, ok := r.member(at)
		if !ok {
			r.native.cut = true
			if known {
				r.cutAt(at)
			}
			break
		}
		switch m.name {
		case "info":
			known = true
			end := skip(r.src, m.start)
			if end < 0 {
				end = len(r.src)
				r.native.cut = true
			}
			r.native.info = span{m.start, end}
			r.info()
			at = end
		case "messages":
			known = true
			at = r.messages(m.start)
		default:
			end := skip(r.src, m.start)
			if end < 0 {
				r.native.cut = true
				r.damage(m.key, len(r.src), fmt.Sprintf("the file ends inside the member %q", m.name))
				end = len(r.src)
			} else {
				r.doc.Session.Unknown = appendMember(r.doc.Session.Unknown, m.name, r.src[m.start:end])
			}
			at = end
		}
		if r.native.cut {
			break
		}
	}
	if !known {
		return r.noExport()
	}
	return nil
}

// noExport says that nothing in the file is of this format.
func (r *reader) noExport() error {
	at := r.native.start
	_, cause := r.decode(at, new(jsontext.Value))
	return &format.SyntaxError{
		Format: Name, Line: line(r.src, at), Offset: int64(at), Err: cause,
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

// member reads a name and the colon after it.
func (r *reader) member(at int) (m member, ok bool) {
	if at >= len(r.src) || r.src[at] != '"' {
		return m, false
	}
	end := skipString(r.src, at)
	if end < 0 {
		return m, false
	}
	m.key, m.name = at, unquote(r.src[at:end])
	at = space(r.src, end)
	if at >= len(r.src) || r.src[at] != ':' {
		return m, false
	}
	m.start = space(r.src, at+1)
	return m, m.start < len(r.src)
}

// info reads what the file says about the session.
func (r *reader) info() {
	s := &r.doc.Session
	if _, err := r.decode(r.native.info.start, &s.Info); err != nil {
		s.Info = session.Info{}
		r.salvage(r.native.info, r.native.cut, &s.Info, "info")
	}
	r.sessionNote()
}

// salvage decodes an object member by member into the same value, and lists those that do not fit. cut says that the object
// does not end.
func (r *reader) salvage(object span, cut bool, into any, what string) {
	value := object.of(r.src)
	last := object.start
	for m := range partial(value) {
		if cut && m.end == len(value) {
			break
		}
		last = object.start + m.end
		name, err := jsontext.AppendQuote(nil, m.name)
		if err == nil {
			text := append(append(append([]byte{'{'}, name...), ':'), value[m.start:m.end]...)
			err = json.Unmarshal(append(text, '}'), into, session.ReadOptions())
		}
		if err != nil {
			r.damage(object.start+m.key, last, fmt.Sprintf("%s: the member %q does not fit: %s", what, m.name, reason(err)))
		}
	}
	if cut {
		r.damage(last, object.end, what+": the file ends inside it")
	}
}

// messages walks the list of messages and returns the position after it.
func (r *reader) messages(at int) int {
	if r.src[at] != '[' {
		end := skip(r.src, at)
		if end < 0 {
			end, r.native.cut = len(r.src), true
		}
		r.damage(at, end, "messages is not a list")
		return end
	}
	r.native.list = span{at, at + 1}
	r.native.entries = r.native.entries[:0]
	r.doc.Session.Messages = r.doc.Session.Messages[:0]
	at++
	indent := "" // what stands before each message; a line feed is in no string, so that it marks a message for certain
	for {
		at = space(r.src, at)
		if at < len(r.src) && r.src[at] == ',' {
			at = space(r.src, at+1)
		}
		switch {
		case at >= len(r.src):
			r.native.cut = true
			r.cutAt(at)
			return at
		case r.src[at] == ']':
			r.native.list.end = at + 1
			return at + 1
		case r.src[at] == '}':
			// The list was never closed, the object around it is.
			r.damage(at, at, "the list of messages is not closed")
			r.native.list.end, r.native.cut = at, true
			return at
		}
		if lead := leadAt(r.src, at); indent == "" && lead != "" {
			indent = lead + "{"
		}
		r.doc.Counts.Entries++
		end := r.entry(at, indent)
		r.native.list.end = end
		at = end
		if n := len(r.native.entries); n > 0 && r.native.entries[n-1].open != "" && end >= len(r.src) {
			r.native.cut = true
			return end
		}
	}
}

// entry reads one element of the list and returns the position after it.
func (r *reader) entry(at int, indent string) int {
	if r.src[at] != '{' {
		return r.lost(entry{span: span{at, at}, at: -1}, at, skip(r.src, at), indent, errors.New("a message is a JSON object"))
	}
	if found := firstName(r.src, at); found != "info" && found != "parts" {
		if end := skip(r.src, at); end > 0 {
			if _, ok := find(r.src[at:end], "info"); !ok {
				return r.other(span{at, end}, indent)
			}
		}
	}
	e := entry{span: span{at, at}, at: -1}
	m := session.Message{Parts: []session.Part{}}
	known := false
	pos := at + 1
	for {
		pos = space(r.src, pos)
		if pos < len(r.src) && r.src[pos] == ',' {
			pos = space(r.src, pos+1)
		}
		if pos < len(r.src) && r.src[pos] == '}' {
			e.end = pos + 1
			break
		}
		inner, ok := r.member(pos)
		if !ok {
			return r.torn(e, &m, known, pos, indent, "}")
		}
		switch inner.name {
		case "info":
			end, err := r.decode(inner.start, &m.MessageInfo)
			if err != nil {
				if end < 0 {
					return r.torn(e, &m, known, pos, indent, "}")
				}
				m.MessageInfo = session.MessageInfo{}
				r.salvage(span{inner.start, end}, false, &m.MessageInfo, "a message's info")
			}
			known = m.Role == session.User || m.Role == session.Assistant || err == nil
			pos, e.end = end, end
		case "parts":
			if r.src[inner.start] != '[' {
				end := skip(r.src, inner.start)
				if end < 0 {
					return r.torn(e, &m, known, pos, indent, "}")
				}
				r.damage(inner.start, end, "parts is not a list")
				pos, e.end = end, end
				continue
			}
			end, whole := r.parts(inner.start+1, &e, &m, indent)
			if !whole {
				return r.torn(e, &m, known, end, indent, "]}")
			}
			pos, e.end = end, end
		default:
			end := skip(r.src, inner.start)
			if end < 0 {
				return r.torn(e, &m, known, pos, indent, "}")
			}
			m.Unknown = appendMember(m.Unknown, inner.name, r.src[inner.start:end])
			pos, e.end = end, end
		}
	}
	if !known {
		return r.lost(e, at, e.end, indent, errors.New("the message has no info that could be read"))
	}
	r.keep(e, m)
	return e.end
}

// firstName is the first member's name of the object at at.
func firstName(src []byte, at int) string {
	for m := range partial(src[at:min(len(src), at+4096)]) {
		return m.name
	}
	return "info" // nothing to tell by: read it as a message, which says what is wrong with it
}

// parts walks the parts of a message. whole is false when the list does not end; end is then where it stopped making sense.
func (r *reader) parts(at int, e *entry, m *session.Message, indent string) (end int, whole bool) {
	e.end = at
	for {
		at = space(r.src, at)
		if at < len(r.src) && r.src[at] == ',' {
			at = space(r.src, at+1)
		}
		if at >= len(r.src) {
			return at, false
		}
		if r.src[at] == ']' {
			return at + 1, true
		}
		if r.src[at] == '}' {
			return at, false
		}
		var p session.Part
		end, err := r.decode(at, &p)
		if err == nil && p.Type == "" {
			err = errors.New("a part has a type")
		}
		if err != nil {
			if next := r.next(at, end, indent, err); end < 0 || next > 0 && next < end {
				return at, false
			}
			e.parts = append(e.parts, piece{span{at, end}, -1, syntactic(err)})
			r.damage(at, end, "a part was skipped: "+reason(err))
		} else {
			e.parts = append(e.parts, piece{span{at, end}, len(m.Parts), false})
			m.Parts = append(m.Parts, p)
		}
		at, e.end = end, end
	}
}

// next returns where the next message begins for certain, -1 when that is not known, where an error broke the text
// between at and end.
func (r *reader) next(at, end int, indent string, err error) int {
	if indent == "" || end > 0 && !syntactic(err) {
		return -1
	}
	if n := bytes.Index(r.src[at:], []byte(indent)); n > 0 {
		return at + n + len(indent) - 1
	}
	return -1
}

// syntactic reports whether an error says that the text is not JSON, rather than JSON that does not fit.
func syntactic(err error) bool {
	var s *jsontext.SyntacticError
	return errors.As(err, &s) && !tooDeep(err)
}

// torn ends a message that stops in the middle: what was read of it stays.
func (r *reader) torn(e entry, m *session.Message, known bool, at int, indent, open string) int {
	end := len(r.src)
	if indent != "" {
		if n := bytes.Index(r.src[at:], []byte(indent)); n >= 0 {
			end = at + n + len(indent) - 1
		}
	}
	where := "the text breaks off inside a message"
	if end == len(r.src) {
		where = "the file ends inside a message"
	}
	r.damage(at, end, where)
	e.open = open
	if known {
		r.keep(e, *m)
	} else {
		e.at, e.broken = -1, true
		r.native.entries = append(r.native.entries, e)
	}
	return end
}

// lost lists an element that is no message, and keeps its bytes.
func (r *reader) lost(e entry, at, end int, indent string, err error) int {
	if end <= at { // the text ends here, or this is no value at all
		end = len(r.src)
		if n := bytes.Index(r.src[at:], []byte(indent)); indent != "" && n > 0 {
			end = at + n + len(indent) - 1
		}
		e.broken = true
	}
	e.end = end
	r.damage(at, end, "a message was skipped: "+reason(err))
	r.native.entries = append(r.native.entries, e)
	return end
}

// keep appends a message that was read.
func (r *reader) keep(e entry, m session.Message) {
	e.at = len(r.doc.Session.Messages)
	r.complete(&m)
	r.native.entries = append(r.native.entries, e)
	r.doc.Session.Messages = append(r.doc.Session.Messages, m)
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

// appendMember adds a member to an object that is built up from nothing.
func appendMember(object jsontext.Value, name string, value []byte) jsontext.Value {
	quoted, err := jsontext.AppendQuote(nil, name)
	if err != nil && len(quoted) == 0 || !jsontext.Value(value).IsValid(session.ReadOptions()) {
		return object // it stays in the source
	}
	if len(object) == 0 {
		object = append(object, '{')
	} else {
		object[len(object)-1] = ','
	}
	object = append(append(append(object, quoted...), ':'), value...)
	return append(object, '}')
}

// decodeValue decodes a value that stands alone.
func decodeValue(value []byte, into any) (int, error) {
	return len(value), json.Unmarshal(value, into, session.ReadOptions())
}
