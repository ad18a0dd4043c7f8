// Package body answers: whose file is a request body? It holds what the formats of plain request bodies share: telling
// them apart, finding the session in a recording of many requests, and writing a change into a body in place.
package body

import (
	"bytes"
	"errors"
	"hash/fnv"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/rule"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/wire"
)

// Dialect is one wire format, as readers and writers of bodies use it.
type Dialect struct {
	Kind   Kind
	Decode func(body []byte) *wire.Decoded
	// Encode returns the elements of the list of messages, and the whole body.
	Encode func(messages []session.Message, o wire.Options) ([]jsontext.Value, []byte, error)
	Check  func(body []byte) error
	// List is the member that holds the messages.
	List string
	// Merges is set where two messages of one role in a row are refused.
	Merges bool
	// Block writes a text as a block of a message of this role, or of a result (role "tool").
	Block func(role, text string) []byte
}

// Native is what a document read by this package holds for its writer.
type Native struct {
	Dialect Dialect
	Decoded *wire.Decoded
}

// Read reads a file: one request body, a bare list of messages, or JSON Lines with a recorded request each. Of a recording
// the session is the request with the longest history, the last of those that are equally long: clients send the whole
// history each time, and small requests for titles and the like between.
func Read(name string, src []byte, dialects ...Dialect) (*format.Document, error) {
	doc := &format.Document{Format: name, Source: src}
	if IsRecording(src) {
		return readRecording(doc, dialects)
	}
	kind := Sniff(src)
	dialect := dialects[0]
	for _, d := range dialects {
		if d.Kind == kind {
			dialect = d
		}
	}
	decoded := dialect.Decode(src)
	if decoded.List.Empty() {
		at := int64(0)
		if len(decoded.Skipped) > 0 {
			at = int64(decoded.Skipped[0].Start)
		}
		return nil, &format.SyntaxError{
			Format: name, Offset: at, Expected: "a request body with a list of messages (" + dialect.List + "), or a list of messages",
		}
	}
	for _, s := range decoded.Skipped {
		doc.Damaged = append(doc.Damaged, format.Damage{Offset: int64(s.Start), Bytes: s.End - s.Start, Reason: s.Reason})
	}
	doc.Counts.Entries = len(decoded.Elements)
	fill(doc, &Native{Dialect: dialect, Decoded: decoded})
	return doc, nil
}

func readRecording(doc *format.Document, dialects []Dialect) (*format.Document, error) {
	var best Native
	var bestBody []byte
	line, longest, bestLine, bestOffset := 0, 0, 0, 0
	for at := 0; at < len(doc.Source); {
		end := len(doc.Source)
		if newline := bytes.IndexByte(doc.Source[at:], '\n'); newline >= 0 {
			end = at + newline
		}
		line++
		text := bytes.TrimSpace(doc.Source[at:end])
		start := at
		at = end + 1
		if len(text) == 0 {
			continue
		}
		doc.Counts.Entries++
		r, skipped := parseRequest(text)
		for _, s := range skipped {
			doc.Damaged = append(doc.Damaged, format.Damage{Line: line, Offset: int64(start + s.Start), Bytes: s.End - s.Start, Reason: s.Reason})
		}
		for _, dialect := range dialects {
			if r.kind != dialect.Kind {
				continue
			}
			if n := count(r.body, dialect.List); n > 0 && n >= longest {
				longest, best, bestBody, bestLine, bestOffset = n, Native{Dialect: dialect}, r.body, line, start
			}
		}
	}
	if bestBody == nil {
		return nil, &format.SyntaxError{Format: doc.Format, Line: 1, Expected: "recorded requests, one a line, with url and body", Err: errors.New("no request holds messages")}
	}
	best.Decoded = best.Dialect.Decode(bestBody)
	for _, s := range best.Decoded.Skipped {
		doc.Damaged = append(doc.Damaged, format.Damage{Line: bestLine, Offset: int64(bestOffset), Bytes: s.End - s.Start, Reason: "in the body of the request: " + s.Reason})
	}
	fill(doc, &best)
	return doc, nil
}

func count(body []byte, list string) int {
	text, _ := wire.Complete(body)
	root := wire.Root(text)
	if wire.Kind(text, root) == '{' {
		root = wire.Member(text, root, list)
	}
	n := 0
	for range wire.Values(text, root) {
		n++
	}
	return n
}

// fill makes the document of what was decoded.
func fill(doc *format.Document, n *Native) {
	d := n.Decoded
	doc.Native = n
	s := &doc.Session
	s.Messages = d.Messages
	s.Info.ID = sessionID(d)
	if d.Model != "" {
		s.Info.Model = &session.ModelRef{ID: d.Model}
	}
	for i := range s.Messages {
		m := &s.Messages[i]
		m.SessionID = s.Info.ID
		if s.Info.Model != nil && m.Role == session.Assistant {
			s.Info.Model.ProviderID = m.ProviderID
		}
		for j := range m.Parts {
			m.Parts[j].SessionID = s.Info.ID
		}
		if s.Info.Title == "" && m.Written() {
			s.Info.Title = rule.Shorten(oneLine(m.Text()), 60)
		}
	}
	for i := range d.Elements {
		if role := d.Elements[i].Role; role == "user" || role == "assistant" {
			doc.Counts.Messages++
		}
	}
	doc.Counts.ToolCalls, doc.Counts.ToolResults = d.ToolCalls, d.ToolResults
}

func oneLine(text string) string { return string(bytes.Join(bytes.Fields([]byte(text)), []byte(" "))) }

// sessionID names a session by the first message of its conversation: it stays while the conversation grows.
func sessionID(d *wire.Decoded) string {
	hash := fnv.New64a()
	for i := range d.Elements {
		if !d.Elements[i].Leading {
			hash.Write(d.Elements[i].Of(d.Text))
			break
		}
	}
	return "body_" + strconv.FormatUint(hash.Sum64(), 16)
}
