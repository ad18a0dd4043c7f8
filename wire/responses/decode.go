package responses

import (
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/wire"
	"github.com/winnowhq/winnow/wire/openaichat"
)

// Decode reads a request body, or a bare array of items; an input that is one string is one user message. What is damaged is
// skipped and listed; it never fails.
//
// System and developer messages before the conversation belong to the system prompt, behind the instructions; those amid
// it become user messages that nobody wrote. What the assistant thought, said and called in a row is one message. Items that
// only the API understands become parts that keep their JSON.
func Decode(body []byte) *wire.Decoded {
	b, root := wire.NewBuilder(body, "openai")
	d := &decoder{Builder: b, text: b.Decoded.Text}
	switch wire.Kind(d.text, root) {
	case '[':
		b.List = root
	case '{':
		d.head(root)
	default:
		return b.Decoded
	}
	switch wire.Kind(d.text, b.List) {
	case '"':
		index := d.Element(wire.Element{Span: b.List, Role: "user", Content: b.List})
		d.Begin(session.User, index)
		d.Say(wire.String(d.text, b.List), nil, wire.Place{Element: index, Block: b.List, Text: b.List, Bare: true})
	case '[':
		for element := range wire.Values(d.text, b.List) {
			d.item(element)
		}
	}
	return b.Decoded
}

type decoder struct {
	*wire.Builder
	text    []byte
	started bool // the conversation has begun
	closed  bool // a result ended the assistant's step
}

func (d *decoder) head(root wire.Span) {
	for name, value := range wire.Members(d.text, root) {
		switch string(name) {
		case "model":
			d.Model = wire.String(d.text, value)
		case "max_output_tokens":
			d.MaxTokens = wire.Number(d.text, value)
		case "tools":
			d.Tools = wire.Raw(d.text, value)
		case "instructions":
			d.Decoded.System = wire.String(d.text, value)
		case "input":
			if kind := wire.Kind(d.text, value); kind != '[' && kind != '"' {
				d.Skip(value, "input is neither a list nor a text")
				continue
			}
			d.List = value
		}
	}
}

// fields are the members of an item that matter here.
type fields struct {
	kind, id, role, phase, callID, name, encrypted  string
	content, arguments, input, output, summary, raw wire.Span
}

func (d *decoder) fields(at wire.Span) fields {
	f := fields{raw: at}
	for name, value := range wire.Members(d.text, at) {
		switch string(name) {
		case "type":
			f.kind = wire.String(d.text, value)
		case "id":
			f.id = wire.String(d.text, value)
		case "role":
			f.role = wire.String(d.text, value)
		case "phase":
			f.phase = wire.String(d.text, value)
		case "call_id":
			f.callID = wire.String(d.text, value)
		case "name":
			f.name = wire.String(d.text, value)
		case "encrypted_content":
			f.encrypted = wire.String(d.text, value)
		case "content":
			f.content = value
		case "arguments":
			f.arguments = value
		case "input":
			f.input = value
		case "output":
			f.output = value
		case "summary":
			f.summary = value
		}
	}
	if f.kind == "" && f.role != "" {
		f.kind = "message" // the short form
	}
	return f
}

func (d *decoder) item(at wire.Span) {
	f := d.fields(at)
	e := wire.Element{Span: at, Role: f.role}
	if f.kind == "message" {
		e.Content = f.content
	}
	system := f.role == "system" || f.role == "developer"
	e.Leading = !d.started && (f.kind == "message" && system || f.kind == "additional_tools")
	index := d.Element(e)
	if e.Leading {
		d.AddSystem(d.texts(f.content))
		return
	}
	d.started = true
	place := wire.Place{Element: index, Block: at}
	switch f.kind {
	case "message":
		d.message(index, f)
	case "reasoning":
		d.step(index)
		d.reasoning(f, place)
	case "function_call":
		d.step(index)
		input, quoted := openaichat.Arguments(d.text, f.arguments)
		place.Input, place.Quoted = f.arguments, quoted
		d.Call(f.callID, f.name, input, nil, place)
	case "custom_tool_call":
		d.step(index)
		// Free text, not arguments: it is kept as the one argument "input". Its place stays unknown, as no
		// JSON can stand there.
		input := freeText(wire.String(d.text, f.input))
		d.Call(f.callID, f.name, jsontext.Value(input), wire.Metadata("openai", "field", f.kind), place)
	case "function_call_output", "custom_tool_call_output":
		d.closed = true
		d.Result(f.callID, d.result(index, f))
	case "":
		d.Skip(at, "an item without type")
	default:
		if strings.HasSuffix(f.kind, "_output") {
			d.closed = true
		}
		d.step(index)
		d.Add(wire.OpaquePart("openai", "responses."+f.kind, wire.Raw(d.text, at)), place)
	}
}

// step makes sure that the assistant is speaking, in a message that no result has ended.
func (d *decoder) step(index int) {
	if d.closed || !d.Speaks(session.Assistant) {
		d.Begin(session.Assistant, index)
	}
	d.closed = false
}

func (d *decoder) message(index int, f fields) {
	switch f.role {
	case "system", "developer":
		place := wire.Place{Element: index, Block: f.content, Bare: true}
		if wire.Kind(d.text, f.content) == '"' {
			place.Text = f.content
		}
		d.Remark(d.texts(f.content), index, place)
		return
	case "user":
		d.Begin(session.User, index)
	case "assistant":
		d.step(index)
	default:
		d.Skip(f.raw, "a message without a known role")
		return
	}
	metadata := wire.Metadata("openai", "itemId", f.id, "phase", f.phase)
	if f.role == "user" {
		metadata = nil
	}
	if wire.Kind(d.text, f.content) == '"' {
		d.Say(wire.String(d.text, f.content), metadata, wire.Place{Element: index, Block: f.content, Text: f.content, Bare: true})
		return
	}
	for at := range wire.Values(d.text, f.content) {
		d.part(index, at, metadata)
	}
}

func (d *decoder) part(index int, at wire.Span, metadata jsontext.Value) {
	place := wire.Place{Element: index, Block: at}
	kind := wire.String(d.text, wire.Member(d.text, at, "type"))
	switch kind {
	case "input_text", "output_text", "text", "refusal":
		name := "text"
		if kind == "refusal" {
			name = kind
		}
		place.Text = wire.Member(d.text, at, name)
		d.Say(wire.String(d.text, place.Text), metadata, place)
	case "input_image", "input_file":
		if p, ok := d.media(kind, at); ok {
			d.Add(p, place)
		} else {
			d.Add(session.Part{Type: session.FilePart, Filename: "a stored file"}, place)
		}
	default:
		d.Skip(at, "a part of an unknown type")
	}
}

func (d *decoder) media(kind string, at wire.Span) (session.Part, bool) {
	var address, name string
	mime := "image/png" // of an address that does not tell
	if kind == "input_file" {
		mime = "application/pdf"
	}
	for member, value := range wire.Members(d.text, at) {
		switch string(member) {
		case "image_url", "file_data", "file_url":
			if text := wire.String(d.text, value); text != "" {
				address = text
			}
		case "filename":
			name = wire.String(d.text, value)
		}
	}
	return wire.ParseDataURL(address, mime, name).FilePart(), address != ""
}

func (d *decoder) texts(content wire.Span) string {
	if wire.Kind(d.text, content) == '"' {
		return wire.String(d.text, content)
	}
	var texts []string
	for at := range wire.Values(d.text, content) {
		if text := wire.String(d.text, wire.Member(d.text, at, "text")); text != "" {
			texts = append(texts, text)
		}
	}
	return strings.Join(texts, "\n")
}

// reasoning makes a part of each text of the summary; the secret stands in all of them, so that they find together again.
func (d *decoder) reasoning(f fields, place wire.Place) {
	metadata := wire.Metadata("openai", "itemId", f.id, "reasoningEncryptedContent", f.encrypted)
	added := false
	for at := range wire.Values(d.text, f.summary) {
		place.Text = wire.Member(d.text, at, "text")
		d.Add(session.Part{Type: session.ReasoningPart, Text: wire.String(d.text, place.Text), Metadata: metadata}, place)
		added = true
	}
	if !added {
		d.Add(session.Part{Type: session.ReasoningPart, Metadata: metadata}, place)
	}
}

func (d *decoder) result(index int, f fields) wire.Result {
	r := wire.Result{Place: wire.Place{ResultElement: index, ResultBlock: f.raw, Result: f.output}}
	switch wire.Kind(d.text, f.output) {
	case '"':
		r.Text = wire.String(d.text, f.output)
	case '[':
		r.Text = d.texts(f.output)
		for at := range wire.Values(d.text, f.output) {
			kind := wire.String(d.text, wire.Member(d.text, at, "type"))
			if p, ok := d.media(kind, at); ok && (kind == "input_image" || kind == "input_file") {
				r.Attachments = append(r.Attachments, p)
			} else if kind != "input_text" && kind != "output_text" && kind != "text" {
				r.Place.Keep = append(r.Place.Keep, at)
			}
		}
	case 0:
		r.Place.NoResultValue = true
	default:
		r.Text = string(f.output.Of(d.text))
	}
	return r
}
