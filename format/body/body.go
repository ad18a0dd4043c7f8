// Package body reads and writes plain request bodies of the providers' APIs: it tells them apart,
// finds the session in a recording of many requests, and writes a change into a body in place.
package body

import (
	"cmp"
	"errors"
	"hash/fnv"
	"strconv"

	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/text/span"
	"github.com/winnowhq/winnow/wire"
	"github.com/winnowhq/winnow/wire/protocols"
)

// Dialect is one wire format, as readers and writers of bodies use it.
type Dialect struct {
	Kind   wire.Protocol
	Format string // name of the format that it belongs to
	protocols.Codec
	// Merges is set where two messages of one role in a row are refused.
	Merges bool
	// Block writes a text as a block of a message of this role, or of a result (role "tool").
	Block func(role, text string) []byte
}

// of is the value that holds the blocks of a message.
func (d *Dialect) of(message []byte) wire.Value {
	return wire.ValueOf(message).Get(cmp.Or(d.Form.Content, "content"))
}

// Native is what a document read by this package holds for its writer.
type Native struct {
	Dialect Dialect
	Decoded *wire.Decoded

	framed map[int][]span.Span // blocks of the frame, by element
	// messages of the body with the frame's among them, and the elements in which they begin
	messages []session.Message
	starts   []int

	base  settled // of the body that this one extends
	short opening
	inPlace
}

// NextID is the id that the message after the body's last one gets when a longer body is read.
func (n *Native) NextID() string { return wire.MessageID(len(n.messages) + 1) }

// Same is how many bytes the body begins with that were read with an earlier one, and were there,
// too. 0: it was read as a whole.
func (n *Native) Same() int {
	if n.base.messages == 0 {
		return 0
	}
	return n.Decoded.Elements[n.base.at-1].End
}

// Read reads a file: one request body, a bare list of messages, or JSON Lines with a recorded
// request each. Of a recording the session is the request with the longest history, and of several
// that long the last: clients send the whole history each time, and small requests for titles and
// the like between.
func Read(src []byte, dialects ...Dialect) (*format.Document, error) {
	doc := &format.Document{Format: dialects[0].Format, Source: src}
	if IsRecording(src) {
		return readRecording(doc, dialects)
	}
	dialect, decoded := decode(src, dialects)
	return read(doc, dialect, decoded)
}

func read(doc *format.Document, dialect Dialect, decoded *wire.Decoded) (*format.Document, error) {
	if decoded.List.Empty() {
		at := int64(0)
		if len(decoded.Skipped) > 0 {
			at = int64(decoded.Skipped[0].Start)
		}
		return nil, &format.SyntaxError{
			Format: doc.Format, Offset: at,
			Expected: "a request body with a list of messages (" + dialect.Form.List + "), or a list of messages",
		}
	}
	doc.Damaged = damaged(0, 0, "", decoded.Skipped)
	doc.Counts.Entries = len(decoded.Elements)
	n := &Native{Dialect: dialect, Decoded: decoded}
	n.messages, n.starts = decoded.Messages, decoded.Starts
	n.frame()
	fill(doc, n, 0)
	return doc, nil
}

// decode reads a body in the dialect that it looks like, else in the first one that finds messages
// in it.
func decode(src []byte, dialects []Dialect) (Dialect, *wire.Decoded) {
	kind := Sniff(src)
	for _, dialect := range dialects {
		if dialect.Kind == kind {
			return dialect, dialect.Decode(src)
		}
	}
	for _, dialect := range dialects {
		if decoded := dialect.Decode(src); !decoded.List.Empty() {
			return dialect, decoded
		}
	}
	return dialects[0], dialects[0].Decode(src)
}

func readRecording(doc *format.Document, dialects []Dialect) (*format.Document, error) {
	var best Native
	var bestBody []byte
	var at span.Line
	longest := 0
	for line := range span.Lines(doc.Source) {
		if line.Text.Empty() {
			continue
		}
		doc.Counts.Entries++
		r, skipped := parseRequest(line.Text.Of(doc.Source))
		doc.Damaged = append(doc.Damaged, damaged(line.Number, line.Text.Start, "", skipped)...)
		for _, dialect := range dialects {
			if r.kind != dialect.Kind {
				continue
			}
			if n := count(r.body, dialect.Form.List); n > 0 && n >= longest {
				longest, best, bestBody, at = n, Native{Dialect: dialect}, r.body, line
			}
		}
	}
	if bestBody == nil {
		return nil, &format.SyntaxError{
			Format: doc.Format, Line: 1, Expected: "recorded requests, one a line, with url and body",
			Err: errors.New("no request holds messages"),
		}
	}
	best.Decoded = best.Dialect.Decode(bestBody)
	for _, d := range damaged(at.Number, 0, "in the body of the request: ", best.Decoded.Skipped) {
		d.Offset = int64(at.Whole.Start) // the body is a text within the line
		doc.Damaged = append(doc.Damaged, d)
	}
	best.messages, best.starts = best.Decoded.Messages, best.Decoded.Starts
	best.frame()
	fill(doc, &best, 0)
	return doc, nil
}

// damaged lists what was skipped of a text that begins at a position.
func damaged(line, start int, where string, skipped []wire.Skipped) (list []format.Damage) {
	for _, s := range skipped {
		list = append(list, format.Damage{
			Line: line, Offset: int64(start + s.Start), Bytes: s.End - s.Start, Reason: where + s.Reason,
		})
	}
	return list
}

func count(body []byte, list string) int {
	text, _ := wire.Complete(body)
	elements := wire.ValueOf(text)
	if elements.Kind() == '{' {
		elements = elements.Get(list)
	}
	n := 0
	for range elements.Values() {
		n++
	}
	return n
}

// fill makes the document of what was decoded. The messages before position from belong to the
// session already; the document has its title then.
func fill(doc *format.Document, n *Native, from int) {
	d := n.Decoded
	doc.Native = n
	s := &doc.Session
	s.Messages = d.Messages
	s.Info.ID = sessionID(d)
	if d.Model != "" {
		s.Info.Model = &session.ModelRef{ID: d.Model}
	}
	for i := from; i < len(s.Messages); i++ {
		m := &s.Messages[i]
		m.SessionID = s.Info.ID
		if s.Info.Model != nil && m.Role == session.Assistant {
			s.Info.Model.ProviderID = m.ProviderID
		}
		for j := range m.Parts {
			m.Parts[j].SessionID = s.Info.ID
		}
	}
	s.Info.Title = session.Called(s.Info, s.Messages[from:])
	for _, e := range d.Elements {
		if e.Role == "user" || e.Role == "assistant" {
			doc.Counts.Messages++
		}
	}
	doc.Counts.ToolCalls, doc.Counts.ToolResults = d.ToolCalls, d.ToolResults
}

// sessionID names a session by the first message of its conversation: it stays while the
// conversation grows.
func sessionID(d *wire.Decoded) string {
	hash := fnv.New64a()
	if i := leading(d); i < len(d.Elements) {
		hash.Write(d.Elements[i].Of(d.Text))
	}
	return "body_" + strconv.FormatUint(hash.Sum64(), 16)
}
