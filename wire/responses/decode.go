package responses

import (
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/wire"
	"github.com/winnowhq/winnow/wire/openaichat"
)

// Decode reads a request body, or a bare array of items; an input that is one string is one user
// message. What is damaged is skipped and listed; it never fails.
//
// System and developer messages before the conversation belong to the system prompt, after the
// instructions; later ones become user messages that nobody wrote. What the assistant thought, said
// and called in a row is one message. Items that only the API understands become parts that keep
// their JSON.
func Decode(body []byte) *wire.Decoded {
	b, root := wire.NewBuilder(body, "openai")
	d := &decoder{Builder: b}
	var tools, input wire.Value
	root.Read("model", &d.Model, "max_output_tokens", &d.MaxTokens, "tools", &tools, "instructions", &d.Decoded.System,
		"input", &input)
	d.Tools = tools.Raw()
	switch kind := input.Kind(); kind {
	case '"':
		d.List = input.Span
		index := d.Element(wire.Element{Span: input.Span, Role: "user", Content: input.Span})
		d.Begin(session.User, index)
		d.Say(input.String(), nil, wire.Bare(index, input))
	case '[':
		d.List = input.Span
	case 0:
	default:
		d.Skip(input.Span, "input is neither a list nor a text")
	}
	for item := range d.Entries() {
		d.item(read(item))
	}
	return b.Decoded
}

type decoder struct {
	*wire.Builder
	started bool // the conversation has begun
	closed  bool // a result ended the assistant's step
}

// itemFields are the members of an item that matter here.
type itemFields struct {
	wire.Value
	kind, id, role, phase, callID, name, encrypted string
	content, arguments, input, output, summary     wire.Value
}

func read(v wire.Value) itemFields {
	i := itemFields{Value: v}
	v.Read("type", &i.kind, "id", &i.id, "role", &i.role, "phase", &i.phase, "call_id", &i.callID, "name", &i.name,
		"encrypted_content", &i.encrypted, "content", &i.content, "arguments", &i.arguments, "input", &i.input,
		"output", &i.output, "summary", &i.summary)
	if i.kind == "" && i.role != "" {
		i.kind = "message" // the short form
	}
	return i
}

func (d *decoder) item(i itemFields) {
	e := wire.Element{Span: i.Span, Role: i.role}
	if i.kind == "message" {
		e.Content = i.content.Span
	}
	system := i.role == "system" || i.role == "developer"
	e.Leading = !d.started && (i.kind == "message" && system || i.kind == "additional_tools")
	index := d.Element(e)
	if e.Leading {
		d.AddSystem(i.content.Texts())
		return
	}
	d.started = true
	place := wire.Place{Element: index, Block: i.Span}
	switch i.kind {
	case "message":
		d.message(index, i)
	case "reasoning":
		d.step(index)
		d.reasoning(i, place)
	case "function_call":
		d.step(index)
		input, quoted := openaichat.Arguments(i.arguments)
		place.Input, place.Quoted = i.arguments.Span, quoted
		d.Call(i.callID, i.name, input, nil, place)
	case "custom_tool_call":
		d.step(index)
		// Free text, not arguments: it is kept as the one argument "input". Its place stays
		// unknown, as it cannot hold JSON.
		input := jsontext.Value(freeText(i.input.String()))
		d.Call(i.callID, i.name, input, wire.Metadata("openai", "field", i.kind), place)
	case "function_call_output", "custom_tool_call_output":
		d.closed = true
		r := wire.ReadResult(index, i.Value, i.output, mediaOf)
		if kind := i.output.Kind(); kind != '"' && kind != '[' {
			r.Text = string(i.output.Bytes())
		}
		r.Keep(prefix, i.output, func(c *wire.Call) any { return outputOf(c) })
		d.Result(i.callID, r)
	case "":
		d.Skip(i.Span, "an item without type")
	default:
		d.closed = d.closed || strings.HasSuffix(i.kind, "_output")
		d.step(index)
		d.Add(wire.OpaquePart("openai", "responses."+i.kind, i.Raw()), place)
	}
}

// step makes sure that the assistant is speaking, in a message that no result has ended.
func (d *decoder) step(index int) {
	if d.closed || !d.Speaks(session.Assistant) {
		d.Begin(session.Assistant, index)
	}
	d.closed = false
}

func (d *decoder) message(index int, i itemFields) {
	var metadata jsontext.Value
	switch i.role {
	case "system", "developer":
		d.RemarkTexts(i.content, index)
		return
	case "user":
		d.Begin(session.User, index)
	case "assistant":
		d.step(index)
		metadata = wire.Metadata("openai", "itemId", i.id, "phase", i.phase)
	default:
		d.Skip(i.Span, "a message without a known role")
		return
	}
	if i.content.Kind() == '"' {
		d.Say(i.content.String(), metadata, wire.Bare(index, i.content))
	}
	for part := range i.content.Values() {
		d.part(index, part, metadata)
	}
}

func (d *decoder) part(index int, part wire.Value, metadata jsontext.Value) {
	place := wire.Place{Element: index, Block: part.Span}
	switch kind := part.Get("type").String(); kind {
	case "input_text", "output_text", "text", "refusal":
		text := part.Get("text")
		if kind == "refusal" {
			text = part.Get(kind)
		}
		place.Text = text.Span
		said := session.Part{Text: text.String(), Metadata: metadata}
		notes := part.Get("annotations")
		if kind == "refusal" || notes.Kind() == '[' && strings.Trim(string(notes.Bytes()), "[] \n") != "" {
			said = wire.Original(said, prefix, part, nil)
		}
		d.Say(said.Text, said.Metadata, place)
	case "":
		d.Skip(part.Span, "a part without type")
	default:
		p, ok := mediaOf(part)
		if !ok {
			p = wire.OpaquePart("openai", "responses.content."+kind, part.Raw())
		} else if !d.Speaks(session.User) {
			p = wire.Original(p, prefix, part, nil)
		}
		d.Add(p, place)
	}
}

// mediaOf is the part of an image, a recording or a file whose bytes or address are known.
func mediaOf(part wire.Value) (p session.Part, ok bool) {
	switch kind := part.Get("type").String(); kind {
	case "input_image":
		p, ok = wire.AddressedMedia(part, "image/png") // an address need not tell the type
	case "input_file":
		p, ok = wire.AddressedMedia(part, "application/pdf")
	case "input_audio":
		p, ok = wire.Recording(part.Get(kind))
	}
	if ok {
		p = wire.Original(p, prefix, part, media(wire.MediaOf(&p)))
	}
	return p, ok
}

// reasoning makes a part of each text of the summary; all of them hold the secret, so that they can
// be joined again.
func (d *decoder) reasoning(i itemFields, place wire.Place) {
	metadata := wire.Metadata("openai", "itemId", i.id, "reasoningEncryptedContent", i.encrypted)
	added := false
	for at := range i.summary.Values() {
		text := at.Get("text")
		place.Text = text.Span
		d.Add(session.Part{Type: session.ReasoningPart, Text: text.String(), Metadata: metadata}, place)
		added = true
	}
	if !added {
		d.Add(session.Part{Type: session.ReasoningPart, Metadata: metadata}, place)
	}
}
