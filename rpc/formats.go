package rpc

import (
	"crypto/rand"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/text/span"
	"github.com/winnowhq/winnow/wire"
	"github.com/winnowhq/winnow/wire/protocols"
)

// format is one form in which messages are taken and given.
type format struct {
	name string
	protocols.Codec
	// usage is an event of a stream around a report of usage.
	usage string
}

// formats are all of them, the first for a client that names none.
var formats = []*format{
	{name: "plain", Codec: protocols.Codec{Form: plain}},
	{"anthropic", protocols.Of(wire.Anthropic), `{"type":"message_delta","usage":%s}`},
	{"openai", protocols.Of(wire.Chat), `{"usage":%s}`},
	{"responses", protocols.Of(wire.Responses), `{"type":"response.completed","response":{"usage":%s}}`},
	{"gemini", protocols.Of(wire.Gemini), `{"usageMetadata":%s}`},
}

func formatNames() []string {
	var names []string
	for _, f := range formats {
		names = append(names, f.name)
	}
	return names
}

func formatOf(name string) (*format, error) {
	if name == "" {
		return formats[0], nil
	}
	for _, f := range formats {
		if f.name == name {
			return f, nil
		}
	}
	return nil, badInput("use "+strings.Join(formatNames(), ", "), "unknown format %q", name)
}

// read reads messages, and apart from them the results of calls that earlier messages made.
func (f *format) read(list []jsontext.Value) (messages []session.Message, results []Result, err error) {
	if f.Decode == nil {
		for i, text := range list {
			m, err := read[Message](text)
			if err != nil {
				return nil, nil, badInput("see the schema: winnow engine --schema", "message %d: %v", i, err)
			}
			messages = append(messages, m.message())
		}
		return messages, nil, nil
	}
	d := f.Decode(span.Array(list))
	if len(d.Skipped) > 0 {
		return nil, nil, badInput("nothing was stored", "byte %d of the messages: %s", d.Skipped[0].Start,
			d.Skipped[0].Reason)
	}
	if d.System != "" {
		return nil, nil, badInput("send it with each request; the log has what comes after it",
			"the system prompt is not part of a log")
	}
	for i := range d.Messages {
		m := &d.Messages[i]
		if r, ok := resultOf(d, m); ok {
			results = append(results, r)
			continue
		}
		*m = session.Message{MessageInfo: session.MessageInfo{Role: m.Role, Finish: m.Finish}, Parts: m.Parts}
		for j := range m.Parts {
			p := &m.Parts[j]
			if p.Type == session.ToolPart && nameless(d, p) {
				p.CallID = "call_" + rand.Text()
			}
			p.ID, p.MessageID = "", ""
		}
		messages = append(messages, *m)
	}
	return messages, results, nil
}

// resultOf is the result that was read as a message of its own, because its call is not among the
// messages.
func resultOf(d *wire.Decoded, m *session.Message) (Result, bool) {
	if m.Role != session.Assistant || len(m.Parts) != 1 || m.Parts[0].Type != session.ToolPart {
		return Result{}, false
	}
	p := &m.Parts[0]
	place := d.Places[p.ID]
	if p.Tool != "unknown" || !place.Block.Empty() || place.ResultElement < 0 {
		return Result{}, false
	}
	r := Result{Call: p.CallID, Status: p.State.Status, Output: p.State.Output, Error: p.State.Error,
		Attachments: p.State.Attachments, kept: p.Metadata}
	for i := range r.Attachments {
		r.Attachments[i].ID, r.Attachments[i].MessageID = "", ""
	}
	if r.Call == "" { // Gemini's need none
		block := wire.Value{Span: place.ResultBlock, Text: d.Text}
		for _, name := range []string{"functionResponse", "function_response"} {
			r.tool += block.Get(name, "name").String()
		}
	}
	return r, true
}

// nameless reports whether the id of a call was made up while it was read. Gemini's calls need
// none, and two lists would have the same.
func nameless(d *wire.Decoded, p *session.Part) bool {
	block := wire.Value{Span: d.Places[p.ID].Block, Text: d.Text}
	for _, name := range []string{"functionCall", "function_call"} {
		if call := block.Get(name); call.Kind() == '{' {
			return call.Get("id").Empty()
		}
	}
	return false
}

func (m Message) message() session.Message {
	info := session.MessageInfo{ID: m.ID, Role: m.Role, Finish: m.Finish}
	made := session.Message{MessageInfo: info, Parts: m.parts()}
	if by := reference(m.Model); by != nil && m.Role == session.Assistant {
		made.ProviderID, made.ModelID = by.ProviderID, by.ID
	} else if by != nil {
		made.Model = &session.ModelRef{ProviderID: by.ProviderID, ModelID: by.ID}
	}
	return made
}

func (m Message) parts() []session.Part {
	if m.Text == "" {
		return m.Parts
	}
	return slices.Concat([]session.Part{{Type: session.TextPart, Text: m.Text}}, m.Parts)
}

// usageOf reads a report of usage.
func usageOf(as string, report jsontext.Value) (session.Usage, error) {
	f, err := formatOf(as)
	if err != nil {
		return session.Usage{}, err
	}
	if wire.ValueOf(report).Kind() != '{' {
		return session.Usage{}, badInput("give usage or rejection", "usage is not an object")
	}
	if f.Stream == nil {
		return read[session.Usage](report)
	}
	stream := f.Stream(nil)
	stream.Take(fmt.Appendf(nil, f.usage, report))
	return stream.Answer().Usage, nil
}

// plain is the form of hosts that translate messages themselves: an object for each side of the
// exchange, with its role and parts of the types text, file, reasoning and tool. A part is what it
// is in a log, as far as a model gets to see it.
var plain = &wire.Form{
	Head: func(wire.Body) any { return struct{}{} }, List: "messages", Content: "parts",
	Said: said, Answered: answered,
}

// shown is a part of a plain message.
type shown struct {
	Type     session.PartType   `json:"type"`
	Text     string             `json:"text,omitzero"`
	Mime     string             `json:"mime,omitzero"`
	Filename string             `json:"filename,omitzero"`
	URL      string             `json:"url,omitzero"`
	CallID   string             `json:"callID,omitzero"`
	Tool     string             `json:"tool,omitzero"`
	State    *session.ToolState `json:"state,omitzero"`
	Metadata jsontext.Value     `json:"metadata,omitzero"`
}

func attached(m *wire.Media) session.Part {
	return session.Part{Type: session.FilePart, Mime: m.Mime, Filename: m.Name, URL: m.DataURL()}
}

func said(b *wire.Blocks, e wire.Entry, _ wire.Options) {
	b.Apart()
	for _, piece := range e.Pieces {
		b.Add(string(session.User), shownOf(piece))
	}
}

func answered(b *wire.Blocks, e wire.Entry, _ wire.Options) {
	b.Apart()
	for _, piece := range e.Pieces {
		b.Add(string(session.Assistant), shownOf(piece))
	}
}

func shownOf(piece wire.Piece) shown {
	switch {
	case piece.Media != nil:
		p := attached(piece.Media)
		return shown{Type: p.Type, Mime: p.Mime, Filename: p.Filename, URL: p.URL}
	case piece.Thought != nil:
		return shown{Type: session.ReasoningPart, Text: piece.Thought.Text, Metadata: piece.Part.Metadata}
	case piece.Call != nil:
		c := piece.Call
		state := &session.ToolState{Status: session.Completed, Input: c.Input, Output: c.Result}
		if c.Failed {
			state.Status, state.Output, state.Error = session.Failed, "", c.Result
		}
		for i := range c.Media {
			state.Attachments = append(state.Attachments, attached(&c.Media[i]))
		}
		return shown{Type: session.ToolPart, CallID: c.ID, Tool: c.Name, State: state}
	}
	return shown{Type: session.TextPart, Text: piece.Text}
}
