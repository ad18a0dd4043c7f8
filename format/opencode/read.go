package opencode

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/text/span"
)

// Read understands a whole file. Text around the JSON, unknown members and part types, and what
// comes before a cut or a break are read or kept; what could not be understood is listed in the
// document.
func (Format) Read(src []byte) (*format.Document, error) {
	start := jsonStart(src)
	if start < 0 {
		return nil, &format.SyntaxError{Format: Name, Line: 1, Expected: expected}
	}
	r := &reader{
		src: src, doc: &format.Document{Format: Name, Source: src}, native: &native{start: start},
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

// decode reads the value at at and returns the position after it. Where it fails, end is where the
// value ends by its brackets, or
// -1 when it does not.
func (r *reader) decode(at int, into any) (end int, err error) {
	r.decoder.Reset(bytes.NewBuffer(r.src[at:]), session.ReadOptions())
	if err = json.UnmarshalDecode(r.decoder, into); err == nil {
		return at + int(r.decoder.InputOffset()), nil
	}
	return span.End(r.src, at), err
}

// next returns the position of the next member or element, or of the bracket that ends them. A
// comma that is missing, or is where none should be, is passed over; the writer must know.
func (r *reader) next(at int, first bool) int {
	at, odd := span.Next(r.src, at, first)
	r.native.loose = r.native.loose || odd
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
		name := string(m.Name)
		known = known || name == "info" || name == "messages"
		if name == "messages" {
			at = r.messages(m.Value.Start)
			if r.native.cut {
				break
			}
			continue
		}
		end := span.End(r.src, m.Value.Start)
		if end < 0 {
			end, r.native.cut = len(r.src), true
		}
		m.Value.End = end
		switch {
		case name == "info":
			r.native.info = m.Value
			r.info()
		case r.native.cut:
			r.damage(m.Key.Start, end, fmt.Sprintf("the file ends inside the member %q", name))
		default:
			r.doc.Session.Unknown = r.unknown(r.doc.Session.Unknown, m)
		}
		if at = end; r.native.cut {
			break
		}
	}
	if c := r.doc.Counts; !known || r.native.info.Empty() && c.Entries > 0 && c.Messages == 0 {
		return r.noExport()
	}
	return nil
}

// member reads the name of the member at a position, and where its value begins.
func (r *reader) member(at int) (m span.Member, ok bool) {
	m, ok = span.KeyAt(r.src, at)
	r.native.loose = r.native.loose || !m.Key.Empty() && !span.Valid(m.Key.Of(r.src))
	return m, ok
}

// info reads what the file says about the session.
func (r *reader) info() {
	s := &r.doc.Session
	if r.src[r.native.info.Start] != '{' {
		r.damage(r.native.info.Start, r.native.info.End, "info is not an object")
	} else if _, err := r.decode(r.native.info.Start, &s.Info); err != nil {
		s.Info = session.Info{}
		salvage(r, r.native.info, r.native.cut, &s.Info, "info", err)
	}
	r.sessionNote()
}

// unknown adds a member that the log has no field for to an object that is built up from nothing.
func (r *reader) unknown(object jsontext.Value, m span.Member) jsontext.Value {
	value := m.Value.Of(r.src)
	if !span.Valid(m.Key.Of(r.src)) || !sound(value) {
		r.damage(m.Key.Start, m.Value.End, fmt.Sprintf("the member %q is not JSON", m.Name))
		return object
	}
	if len(object) == 0 {
		object = append(object, '{')
	} else {
		object[len(object)-1] = ','
	}
	return slices.Concat(object, span.Quote(string(m.Name)), []byte{':'}, value, []byte{'}'})
}

// unmarshal decodes a value by itself.
func unmarshal(value []byte, into any) error {
	return json.Unmarshal(value, into, session.ReadOptions())
}
