package opencode

import (
	"bytes"
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

	counted, lines int // line feeds before a position, so that each is counted once
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

// next returns the position of the next member or element, or of the bracket that ends them. A comma that is missing or stands where
// none should is passed over; the writer must know.
func (r *reader) next(at int, first bool) int {
	at = space(r.src, at)
	comma := at < len(r.src) && r.src[at] == ','
	if comma {
		at = space(r.src, at+1)
	}
	if end := at < len(r.src) && (r.src[at] == '}' || r.src[at] == ']'); at < len(r.src) && comma == (first || end) {
		r.native.loose = true
	}
	return at
}

// root walks the outer object.
func (r *reader) root() error {
	r.native.end = len(r.src)
	at := r.native.start + 1
	known := false
	for first := true; ; first = false {
		at = r.next(at, first)
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
				m.end = end
				r.doc.Session.Unknown = r.unknown(r.doc.Session.Unknown, m)
			}
			at = end
		}
		if r.native.cut {
			break
		}
	}
	if c := r.doc.Counts; !known || r.native.info.start < 0 && c.Entries > 0 && c.Messages == 0 {
		return r.noExport()
	}
	return nil
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
	name, err := jsontext.AppendUnquote(nil, r.src[at:end])
	if err != nil {
		r.native.loose = true
	}
	m.key, m.name = at, string(name)
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
	if r.src[r.native.info.start] != '{' {
		r.damage(r.native.info.start, r.native.info.end, "info is not an object")
	} else if _, err := r.decode(r.native.info.start, &s.Info); err != nil {
		s.Info = session.Info{}
		salvage(r, r.native.info, r.native.cut, &s.Info, "info", err)
	}
	r.sessionNote()
}

// unknown adds a member that the log has no field for to an object that is built up from nothing.
func (r *reader) unknown(object jsontext.Value, m member) jsontext.Value {
	value := m.of(r.src)
	quoted, err := jsontext.AppendQuote(nil, m.name)
	if err != nil || !sound(value) {
		r.damage(m.key, m.end, fmt.Sprintf("the member %q is no JSON", m.name))
		return object
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
