package body

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/span"
	"github.com/winnowhq/winnow/wire"
)

// ReadRequest reads the body of a request that is known to be of a dialect. before is what was read
// of an earlier request of the same conversation, nil without any: what the two bodies begin with
// is not read again. before is used up by that, and must not be used any more.
//
// same is how many messages are those of before.
func ReadRequest(src []byte, dialect Dialect, before *format.Document) (doc *format.Document, same int, err error) {
	doc = &format.Document{Format: dialect.Format, Source: src}
	if before != nil {
		if n, at := before.Native.(*Native).extended(src); n != nil {
			doc.Counts.Entries = len(n.Decoded.Elements)
			fill(doc, n)
			for same < len(n.Decoded.Starts) && n.Decoded.Starts[same] < at {
				same++
			}
			return doc, same, nil
		}
	}
	doc, err = read(doc, dialect, dialect.Decode(src))
	return doc, 0, err
}

// extended is what is in a body that begins like the one that was read, nil if it has to be read as
// a whole. The elements before the one at that position are as they were.
//
// The body is read from an element on with which an answer began when everything before it was
// settled, as if what is before it was not there.
func (n *Native) extended(src []byte) (extended *Native, at int) {
	d := n.Decoded
	if n.Dialect.Kind == Gemini || len(d.Skipped) > 0 || span.Kind(d.List.Of(d.Text)) != '[' {
		return nil, 0 // Gemini's calls are named by their place
	}
	settled, at := n.settled(span.Common(d.Text, src))
	if settled == 0 {
		return nil, 0
	}
	begin := span.Space(src, d.Elements[at-1].End)
	if begin >= len(src) || src[begin] != ',' {
		return nil, 0
	}
	begin = span.Space(src, begin+1)
	cut := d.List.Start + 1
	rest := n.Dialect.Decode(slices.Concat(src[:cut], src[begin:]))
	if len(rest.Skipped) > 0 || len(rest.Messages) == 0 || rest.Messages[0].Role != session.Assistant ||
		rest.Elements[0].Leading || rest.Starts[0] != 0 {
		return nil, 0
	}
	for i := range n.messages[settled:] {
		for j := range n.messages[settled+i].Parts {
			delete(d.Places, n.messages[settled+i].Parts[j].ID)
		}
	}
	m := mover{elements: at, bytes: begin - cut, messages: settled}
	joined := *rest
	joined.Text, joined.Places = src, d.Places
	joined.List = span.Span{Start: d.List.Start, End: rest.List.End + m.bytes}
	joined.Elements = d.Elements[:at:at]
	for _, e := range rest.Elements {
		e.Span, e.Content = m.span(e.Span), m.span(e.Content)
		joined.Elements = append(joined.Elements, e)
	}
	joined.Messages, joined.Starts = n.messages[:settled:settled], n.starts[:settled:settled]
	user := ""
	for i := range joined.Messages {
		if joined.Messages[i].Role == session.User {
			user = joined.Messages[i].ID
		}
	}
	for i := range rest.Messages {
		message, places := m.message(rest.Messages, i, user, rest.Places)
		for id := range places {
			if _, taken := joined.Places[id]; taken {
				return nil, 0 // it is called otherwise where the whole body is read
			}
		}
		maps.Copy(joined.Places, places)
		joined.Messages = append(joined.Messages, message)
		joined.Starts = append(joined.Starts, rest.Starts[i]+at)
	}
	if d.Elements[0].Leading {
		joined.System = d.System
	}
	joined.ToolCalls, joined.ToolResults = 0, 0
	for i := range joined.Messages {
		for j := range joined.Messages[i].Parts {
			if p := &joined.Messages[i].Parts[j]; p.Type == session.ToolPart {
				joined.ToolCalls++
				if p.State.Final() {
					joined.ToolResults++
				}
			}
		}
	}
	return &Native{Dialect: n.Dialect, Decoded: &joined}, at
}

// settled is how many messages are as they were in a body that has so many bytes in common with
// this one, and at which element the next one begins: an answer, when all calls before it had their
// results. 0 without any.
func (n *Native) settled(bytes int) (messages, at int) {
	d := n.Decoded
	whole := 0
	for whole < len(d.Elements) && d.Elements[whole].End < bytes {
		whole++
	}
	last := -1 // element in which what was read so far ends
	for i := range n.messages {
		m := &n.messages[i]
		if n.starts[i] > whole {
			break
		}
		if m.Role == session.Assistant && i > 0 && last < n.starts[i] && n.starts[i] > 0 {
			messages, at = i, n.starts[i]
		}
		last = max(last, n.starts[i])
		for j := range m.Parts {
			place := d.Places[m.Parts[j].ID]
			last = max(last, place.Element, place.ResultElement)
			if m.Parts[j].Type == session.ToolPart && !m.Parts[j].State.Final() {
				return messages, at
			}
		}
	}
	return messages, at
}

// mover moves what was read of the rest of a body to where it is in the whole.
type mover struct{ elements, bytes, messages int }

func (m mover) span(s span.Span) span.Span {
	if s.Empty() {
		return s
	}
	return s.Shift(m.bytes)
}

func (m mover) place(p wire.Place) wire.Place {
	p.Element += m.elements
	if p.ResultElement >= 0 {
		p.ResultElement += m.elements
	}
	for _, s := range []*span.Span{&p.Block, &p.Text, &p.Input, &p.ResultBlock, &p.Result} {
		*s = m.span(*s)
	}
	p.Keep = slices.Clone(p.Keep)
	for i := range p.Keep {
		p.Keep[i] = m.span(p.Keep[i])
	}
	return p
}

// message is the i-th message of the rest with its ids and places in the whole. user is the newest
// message of the user's before the rest.
func (m mover) message(rest []session.Message, i int, user string, places map[string]wire.Place) (
	session.Message, map[string]wire.Place) {

	was, moved := &rest[i], rest[i]
	moved.ID = wire.MessageID(m.messages + i + 1)
	if moved.Role == session.Assistant {
		moved.ParentID = user
		for j := range rest[:i] {
			if rest[j].ID == was.ParentID {
				moved.ParentID = wire.MessageID(m.messages + j + 1)
			}
		}
	}
	at := make(map[string]wire.Place, len(moved.Parts))
	for j := range moved.Parts {
		p := &moved.Parts[j]
		place := m.place(places[p.ID])
		if number, own := strings.CutPrefix(p.ID, was.ID+":"); own {
			p.ID = moved.ID + ":" + number
		}
		p.MessageID = moved.ID
		at[p.ID] = place
		if p.State == nil {
			continue
		}
		for k := range p.State.Attachments {
			a := &p.State.Attachments[k]
			a.ID, a.MessageID = fmt.Sprintf("%s:%d", p.ID, k), moved.ID
		}
	}
	return moved, at
}
