package body

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/text/span"
	"github.com/winnowhq/winnow/wire"
)

// ReadRequest reads the body of a request that is known to be of a dialect. before is what was read
// of an earlier request of the same conversation, nil without any: what the two bodies begin with
// is not read again. before is used up by that, and must not be used any more.
//
// common is with how many bytes both begin; it may be less than that. same is how many messages
// are those of before.
func ReadRequest(
	src []byte, dialect Dialect, before *format.Document, common int,
) (doc *format.Document, same int, err error) {
	doc = &format.Document{Format: dialect.Format, Source: src}
	if before != nil {
		if n := before.Native.(*Native).extended(src, common); n != nil {
			doc.Counts.Entries = len(n.Decoded.Elements)
			doc.Session.Info.Title = before.Session.Info.Title
			same, _ = slices.BinarySearch(n.Decoded.Starts, n.base.at)
			fill(doc, n, same)
			return doc, same, nil
		}
	}
	doc, err = read(doc, dialect, dialect.Decode(src))
	return doc, 0, err
}

// settled says how much of a body cannot be meant otherwise by what follows: how many messages, in
// the elements before one with which an answer begins when all calls before it had their results.
type settled struct{ messages, at int }

// extended is what is in a body that begins like the one that was read, nil if it has to be read as
// a whole. What was settled in the old one is as it was; the rest is read as if nothing were before
// it.
func (n *Native) extended(src []byte, common int) *Native {
	d := n.Decoded
	if n.Dialect.Kind == wire.Gemini || len(d.Skipped) > 0 || span.Kind(d.List.Of(d.Text)) != '[' {
		return nil // Gemini's calls are named by their place
	}
	base := n.settled(common)
	if base.messages == 0 {
		return nil
	}
	rest, moved := n.rest(src, base)
	if rest == nil || len(rest.Skipped) > 0 || len(rest.Messages) == 0 ||
		rest.Messages[0].Role != session.Assistant || rest.Elements[0].Leading || rest.Starts[0] != 0 {
		return nil
	}
	calls, results := n.calledBefore(base)
	for i := range n.messages[base.messages:] {
		for j := range n.messages[base.messages+i].Parts {
			delete(d.Places, n.messages[base.messages+i].Parts[j].ID)
		}
	}
	joined := *rest
	joined.Text, joined.Places = src, d.Places
	joined.List = span.Span{Start: d.List.Start, End: rest.List.End + moved.bytes}
	joined.Elements = d.Elements[:base.at]
	for _, e := range rest.Elements {
		e.Span, e.Content = moved.span(e.Span), moved.span(e.Content)
		joined.Elements = append(joined.Elements, e)
	}
	x := &Native{Dialect: n.Dialect, Decoded: &joined, framed: n.framed, base: base, short: n.short,
		messages: n.messages[:base.messages], starts: n.starts[:base.messages]}
	user := lastUser(x.messages)
	for i := range rest.Messages {
		message, places := moved.message(rest.Messages, i, user, rest.Places)
		for id := range places {
			if _, taken := joined.Places[id]; taken {
				return nil // it is called otherwise where the whole body is read
			}
		}
		maps.Copy(joined.Places, places)
		x.messages = append(x.messages, message)
		x.starts = append(x.starts, rest.Starts[i]+base.at)
	}
	joined.Messages, joined.Starts = x.messages, x.starts
	if n.framed != nil { // the frame is before the first answer, and thus settled
		framed := base.messages - (len(n.messages) - len(d.Messages))
		joined.Messages = append(d.Messages[:framed], x.messages[base.messages:]...)
		joined.Starts = append(d.Starts[:framed], x.starts[base.messages:]...)
	}
	if d.Elements[0].Leading {
		joined.System = d.System
	}
	more, ended := called(x.messages[base.messages:])
	joined.ToolCalls, joined.ToolResults = calls+more, results+ended
	x.inPlace = n.inPlace.upTo(len(joined.Messages)-(len(x.messages)-base.messages), d.Elements[base.at-1].End)
	return x
}

// calledBefore counts the calls in what is settled, and those that ended.
func (n *Native) calledBefore(base settled) (calls, ended int) {
	if n.base.messages == 0 {
		return called(n.messages[:base.messages])
	}
	later, laterEnded := called(n.messages[base.messages:])
	return n.Decoded.ToolCalls - later, n.Decoded.ToolResults - laterEnded
}

// called counts the calls in messages, and those that ended.
func called(messages []session.Message) (calls, ended int) {
	for i := range messages {
		for j := range messages[i].Parts {
			if p := &messages[i].Parts[j]; p.Type == session.ToolPart {
				calls++
				if p.State.Final() {
					ended++
				}
			}
		}
	}
	return calls, ended
}

// lastUser is the id of the newest message of the user's, "" without one.
func lastUser(messages []session.Message) string {
	for i := len(messages) - 1; i >= 0; i-- {
		if messages[i].Role == session.User {
			return messages[i].ID
		}
	}
	return ""
}

// rest is what is in a body behind what is settled, nil if it cannot be told apart, and how it is
// moved to where it is in the body.
func (n *Native) rest(src []byte, base settled) (rest *wire.Decoded, moved mover) {
	begin := span.Space(src, n.Decoded.Elements[base.at-1].End)
	if begin >= len(src) || src[begin] != ',' {
		return nil, mover{}
	}
	begin = span.Space(src, begin+1)
	h := n.opening()
	rest = n.Dialect.Decode(slices.Concat(h.text, src[begin:]))
	if !h.restore(rest, n.Decoded) {
		h = opening{text: slices.Clone(src[:n.Decoded.List.Start+1])}
		n.short = h
		rest = n.Dialect.Decode(slices.Concat(h.text, src[begin:]))
	}
	return rest, mover{elements: base.at, bytes: begin - len(h.text), messages: base.messages}
}

// settled is what is settled of a body of which this number of bytes is as it was.
func (n *Native) settled(bytes int) (found settled) {
	d := n.Decoded
	whole, _ := slices.BinarySearchFunc(d.Elements, bytes, func(e wire.Element, bytes int) int {
		return cmp.Compare(e.End, bytes)
	})
	last := -1 // element in which what was read so far ends
	if n.base.messages > 0 && n.base.at <= whole {
		found, last = n.base, n.base.at-1
	}
	for i := found.messages; i < len(n.messages); i++ {
		m := &n.messages[i]
		if n.starts[i] > whole {
			break
		}
		if m.Role == session.Assistant && i > 0 && last < n.starts[i] && n.starts[i] > 0 {
			found = settled{i, n.starts[i]}
		}
		last = max(last, n.starts[i])
		for j := range m.Parts {
			place := d.Places[m.Parts[j].ID]
			last = max(last, place.Element, place.ResultElement)
			if m.Parts[j].Type == session.ToolPart && !m.Parts[j].State.Final() {
				return found
			}
		}
	}
	return found
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
	for _, s := range []*span.Span{&p.Block, &p.Text, &p.Input, &p.ResultBlock, &p.Result, &p.Files} {
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
