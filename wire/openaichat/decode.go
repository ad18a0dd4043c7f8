package openaichat

import (
	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/text/span"
	"github.com/winnowhq/winnow/wire"
)

// Decode reads a request body, or a bare array of messages. What is damaged is skipped and listed;
// it never fails.
//
// System and developer messages before the conversation are the system prompt; later ones become
// user messages that nobody wrote. The old "function" messages are read as results of the call
// before them.
func Decode(body []byte) *wire.Decoded {
	b, root := wire.NewBuilder(body, "openai")
	d := &decoder{Builder: b}
	var tools, messages wire.Value
	root.Read("model", &d.Model, "max_tokens", &d.MaxTokens, "max_completion_tokens", &d.MaxTokens,
		"tools", &tools, "messages", &messages)
	d.Tools = tools.Raw()
	d.SetList(messages, "messages")
	for message := range d.Entries() {
		d.element(message)
	}
	return b.Decoded
}

type decoder struct {
	*wire.Builder
	started bool   // the conversation has begun
	legacy  string // id of the newest old-style function call
}

func (d *decoder) element(message wire.Value) {
	e := wire.Element{Span: message.Span}
	var content wire.Value
	var callID string
	message.Read("role", &e.Role, "content", &content, "tool_call_id", &callID)
	e.Content = content.Span
	e.Leading = !d.started && (e.Role == "system" || e.Role == "developer")
	index := d.Element(e)
	if e.Leading {
		d.AddSystem(content.Texts())
		return
	}
	d.started = true
	switch e.Role {
	case "user":
		d.Begin(session.User, index)
		d.content(index, content)
	case "system", "developer":
		d.RemarkTexts(content, index)
	case "assistant":
		d.assistant(index, message, content)
	case "tool":
		d.Result(callID, result(index, message, content))
	case "function":
		d.Result(d.legacy, result(index, message, content))
	default:
		d.Skip(message.Span, "a message without a known role")
	}
}

func result(index int, message, content wire.Value) wire.Result {
	r := wire.ReadResult(index, message, content, mediaOf)
	r.Keep(prefix, content, func(c *wire.Call) any { return c.Result })
	return r
}

func (d *decoder) content(index int, content wire.Value) {
	switch content.Kind() {
	case '"':
		d.Say(content.String(), nil, wire.Bare(index, content))
	case '[':
		returned := false
		for part := range content.Values() {
			returned = d.part(index, part, returned)
		}
	case 'n', 0:
	default:
		d.Skip(content.Span, "content that is neither text nor a list")
	}
}

// part reads a part of a message. What follows the caption of returned media is not the user's.
func (d *decoder) part(index int, part wire.Value, returned bool) bool {
	place := wire.Place{Element: index, Block: part.Span}
	kind := part.Get("type").String()
	switch kind {
	case "text", "refusal":
		text := part.Get(kind)
		place.Text = text.Span
		said := session.Part{Text: text.String()}
		if kind == "refusal" {
			said = wire.Original(said, prefix, part, nil)
		}
		d.Say(said.Text, said.Metadata, place)
		return returned || said.Text == wire.Returned
	case "":
		d.Skip(part.Span, "a part without type")
		return returned
	}
	p, ok := mediaOf(part)
	if !ok {
		p = wire.OpaquePart("openai", "chat."+kind, part.Raw())
	} else if !d.Speaks(session.User) {
		p = wire.Original(p, prefix, part, nil)
	}
	p.Synthetic = ok && returned
	d.Add(p, place)
	return returned
}

// mediaOf is the part of an image, a recording or a file whose bytes or address are known.
func mediaOf(part wire.Value) (p session.Part, ok bool) {
	switch kind := part.Get("type").String(); kind {
	case "image_url":
		p, ok = wire.AddressedMedia(part.Get(kind), "image/png") // an address need not tell the type
	case "file":
		p, ok = wire.AddressedMedia(part.Get(kind), "application/pdf")
	case "input_audio":
		p, ok = wire.Recording(part.Get(kind))
	}
	if ok {
		p = wire.Original(p, prefix, part, media(wire.MediaOf(&p)))
	}
	return p, ok
}

func (d *decoder) assistant(index int, message, content wire.Value) {
	var thought, functionCall, calls, refusal, audio, notes wire.Value
	field := ""
	for _, name := range []string{"reasoning_content", "reasoning"} {
		if at := message.Get(name); at.Kind() == '"' && at.Start > thought.Start {
			thought, field = at, name
		}
	}
	message.Read("tool_calls", &calls, "function_call", &functionCall, "refusal", &refusal, "audio", &audio,
		"annotations", &notes)
	d.Begin(session.Assistant, index)
	if !thought.Empty() {
		reasoning := session.Part{Type: session.ReasoningPart, Text: thought.String()}
		reasoning.Metadata = wire.Metadata("openai", "field", field)
		d.Add(reasoning, wire.Bare(index, thought))
	}
	d.content(index, content)
	if refusal.Kind() == '"' {
		place := wire.Bare(index, refusal)
		said := session.Part{Text: refusal.String()}
		block := span.Make("type", "refusal", "refusal", said.Text)
		d.Say(said.Text, wire.Original(said, prefix, wire.ValueOf(block), nil).Metadata, place)
	}
	for _, member := range []struct {
		kind string
		wire.Value
	}{{"audio", audio}, {"annotations", notes}} {
		if member.Kind() == '{' || member.Kind() == '[' && member.Len() > len("[]") {
			raw := span.Make(member.kind, member.Raw())
			d.Add(wire.OpaquePart("openai", "chat."+member.kind, raw), wire.Place{Element: index})
		}
	}
	if functionCall.Kind() == '{' {
		d.legacy = "function_assistant_" + d.Messages[len(d.Messages)-1].ID
		d.call(index, d.legacy, functionCall, functionCall)
	}
	for at := range calls.Values() {
		var id string
		var body wire.Value
		at.Read("id", &id, "function", &body, "custom", &body)
		if body.Kind() != '{' {
			d.Skip(at.Span, "a call without function")
			continue
		}
		d.call(index, id, at, body)
	}
}

func (d *decoder) call(index int, id string, at, body wire.Value) {
	var tool string
	var arguments wire.Value
	body.Read("name", &tool, "arguments", &arguments, "input", &arguments)
	input, quoted := Arguments(arguments)
	d.Call(id, tool, input, nil, wire.Place{Element: index, Block: at.Span, Input: arguments.Span, Quoted: quoted})
}

// Arguments reads the arguments of a call, JSON within a JSON string: the JSON if it is valid,
// otherwise the string.
func Arguments(arguments wire.Value) (input jsontext.Value, quoted bool) {
	if arguments.Kind() != '"' {
		return arguments.Raw(), false
	}
	inner := jsontext.Value(arguments.String())
	if inner.IsValid(session.ReadOptions()) {
		return inner, true
	}
	if len(inner) == 0 {
		return jsontext.Value(`{}`), true
	}
	return arguments.Raw(), true
}
