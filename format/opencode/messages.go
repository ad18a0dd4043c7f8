package opencode

import (
	"bytes"
	"errors"

	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/text/span"
)

// messages walks the list of messages and returns the position after it.
func (r *reader) messages(at int) int {
	if r.src[at] != '[' {
		end := span.End(r.src, at)
		if end < 0 {
			end, r.native.cut = len(r.src), true
		}
		r.damage(at, end, "messages is not a list")
		return end
	}
	r.identify()
	r.native.list = stretch(at, at+1)
	r.native.entries = r.native.entries[:0]
	r.doc.Session.Messages = r.doc.Session.Messages[:0]
	at++
	indent := "" // what precedes each message: no string has a line feed, so this is a message for certain
	for first := true; ; first = false {
		at = r.next(at, first)
		switch {
		case at >= len(r.src):
			r.native.cut = true
			r.cutAt(at)
			return at
		case r.src[at] == ']':
			r.native.list.End = at + 1
			return at + 1
		case r.src[at] == '}':
			// The list was never closed, the object around it is.
			r.damage(at, at, "the list of messages is not closed")
			r.native.list.End, r.native.cut = at, true
			return at
		}
		if lead := leadAt(r.src, at); indent == "" && lead != "" {
			indent = lead + "{"
		}
		r.doc.Counts.Entries++
		end := r.entry(at, indent)
		r.native.list.End = end
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
		e := entry{Span: stretch(at, at), at: -1}
		return r.lost(e, at, span.End(r.src, at), indent, "a message is a JSON object")
	}
	if found := r.firstName(at); found != "info" && found != "parts" {
		if end := span.End(r.src, at); end > 0 {
			if whole := stretch(at, end); span.Find(r.src, whole, "info").Empty() {
				return r.other(whole, indent)
			}
		}
	}
	e := entry{Span: stretch(at, at), at: -1}
	m := session.Message{Parts: []session.Part{}}
	known := false
	pos := at + 1
	for first := true; ; first = false {
		pos = r.next(pos, first)
		if pos < len(r.src) && r.src[pos] == '}' {
			e.End = pos + 1
			break
		}
		inner, ok := r.member(pos)
		if !ok {
			return r.torn(e, &m, known, pos, indent, "}")
		}
		name, value := string(inner.Name), inner.Value.Start
		if name == "parts" && r.src[value] == '[' {
			end, whole := r.parts(value+1, &e, &m, indent)
			if !whole {
				return r.torn(e, &m, known, end, indent, "]}")
			}
			pos, e.End = end, end
			continue
		}
		end := span.End(r.src, value)
		var err error
		if name == "info" {
			end, err = r.decode(value, &m.MessageInfo)
		}
		if end < 0 {
			return r.torn(e, &m, known, pos, indent, "}")
		}
		inner.Value.End = end
		switch name {
		case "info":
			if err != nil {
				m.MessageInfo = session.MessageInfo{}
				salvage(r, inner.Value, false, &m.MessageInfo, "a message's info", err)
			}
			known = m.Role == session.User || m.Role == session.Assistant || err == nil
		case "parts":
			r.damage(value, end, "parts is not a list")
		default:
			m.Unknown = r.unknown(m.Unknown, inner)
		}
		pos, e.End = end, end
	}
	if !known {
		return r.lost(e, at, e.End, indent, "the message has no info that could be read")
	}
	r.keep(e, m)
	return e.End
}

// firstName is the first member's name of the object at at.
func (r *reader) firstName(at int) string {
	if m, ok := r.member(span.Space(r.src, at+1)); ok {
		return string(m.Name)
	}
	return "info" // nothing to tell by: read it as a message, which says what is wrong with it
}

// parts walks the parts of a message. whole is false when the list does not end; end is then where
// it stopped making sense.
func (r *reader) parts(at int, e *entry, m *session.Message, indent string) (end int, whole bool) {
	e.End = at
	for first := true; ; first = false {
		at = r.next(at, first)
		switch {
		case at >= len(r.src) || r.src[at] == '}':
			return at, false
		case r.src[at] == ']':
			return at + 1, true
		}
		var p session.Part
		end, err := r.decode(at, &p)
		if err == nil && p.Type == "" {
			err = errors.New("a part has a type")
		}
		if err != nil {
			if next := r.resume(at, end, indent, err); end <= at || next > 0 && next < end {
				return at, false
			}
			e.parts = append(e.parts, piece{Span: stretch(at, end), at: -1})
			r.damage(at, end, "a part was skipped: "+reason(err))
		} else {
			e.parts = append(e.parts, piece{Span: stretch(at, end), at: len(m.Parts)})
			m.Parts = append(m.Parts, p)
		}
		at, e.End = end, end
	}
}

// seek returns where the next message begins, or -1. It knows only in a file that has
// each message on a line of its own.
func (r *reader) seek(at int, indent string) int {
	if n := bytes.Index(r.src[at:], []byte(indent)); n > 0 && indent != "" {
		return at + n + len(indent) - 1
	}
	return -1
}

// resume returns where the next message begins for certain, -1 if that is unknown, where an error
// broke the text between at and end.
func (r *reader) resume(at, end int, indent string, err error) int {
	if end > 0 && !syntactic(err) {
		return -1
	}
	return r.seek(at, indent)
}

// torn ends a message that stops in the middle: what was read of it stays.
func (r *reader) torn(e entry, m *session.Message, known bool, at int, indent, open string) int {
	end, where := r.seek(at, indent), "the text breaks off inside a message"
	if end < 0 {
		end, where = len(r.src), "the file ends inside a message"
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

// lost lists an element that is not a message, and keeps its bytes.
func (r *reader) lost(e entry, at, end int, indent, why string) int {
	if end <= at { // the text ends here, or this is not a value at all
		if end = r.seek(at, indent); end < 0 {
			end = len(r.src)
		}
		e.broken = true
	}
	e.End = end
	r.damage(at, end, "a message was skipped: "+why)
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
