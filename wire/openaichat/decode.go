package openaichat

import (
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/wire"
)

// Decode reads a request body, or a bare array of messages. What is damaged is skipped and listed; it never fails.
//
// System and developer messages before the conversation are the system prompt; those amid it become user messages that
// nobody wrote. The old "function" messages are read as results of the call before them.
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
	for element := range wire.Values(d.text, b.List) {
		d.element(element)
	}
	return b.Decoded
}

type decoder struct {
	*wire.Builder
	text    []byte
	started bool   // the conversation has begun
	legacy  string // id of the newest old-style function call
}

func (d *decoder) head(root wire.Span) {
	for name, value := range wire.Members(d.text, root) {
		switch string(name) {
		case "model":
			d.Model = wire.String(d.text, value)
		case "max_tokens", "max_completion_tokens":
			d.MaxTokens = wire.Number(d.text, value)
		case "tools":
			d.Tools = wire.Raw(d.text, value)
		case "messages":
			if wire.Kind(d.text, value) != '[' {
				d.Skip(value, "messages are not a list")
				continue
			}
			d.List = value
		}
	}
}

// fields are the members of a message that matter here.
type fields struct {
	callID, name, thoughtField   string
	thought, calls, functionCall wire.Span
}

func (d *decoder) element(at wire.Span) {
	e := wire.Element{Span: at}
	var f fields
	for name, value := range wire.Members(d.text, at) {
		switch string(name) {
		case "role":
			e.Role = wire.String(d.text, value)
		case "content":
			e.Content = value
		case "tool_call_id":
			f.callID = wire.String(d.text, value)
		case "name":
			f.name = wire.String(d.text, value)
		case "reasoning_content", "reasoning":
			if wire.Kind(d.text, value) == '"' {
				f.thought, f.thoughtField = value, string(name)
			}
		case "tool_calls":
			f.calls = value
		case "function_call":
			f.functionCall = value
		}
	}
	e.Leading = !d.started && (e.Role == "system" || e.Role == "developer")
	index := d.Element(e)
	if e.Leading {
		d.AddSystem(d.texts(e.Content))
		return
	}
	d.started = true
	switch e.Role {
	case "user":
		d.Begin(session.User, index)
		d.content(index, e)
	case "system", "developer":
		place := wire.Place{Element: index, Block: e.Content, Bare: true}
		if wire.Kind(d.text, e.Content) == '"' {
			place.Text = e.Content
		}
		d.Remark(d.texts(e.Content), index, place)
	case "assistant":
		d.assistant(index, e, f)
	case "tool":
		d.result(index, e, f.callID)
	case "function":
		d.result(index, e, d.legacy)
	default:
		d.Skip(at, "a message without a known role")
	}
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

func (d *decoder) content(index int, e wire.Element) {
	switch wire.Kind(d.text, e.Content) {
	case '"':
		d.Say(wire.String(d.text, e.Content), nil, wire.Place{Element: index, Block: e.Content, Text: e.Content, Bare: true})
	case '[':
		returned := false
		for at := range wire.Values(d.text, e.Content) {
			returned = d.part(index, at, returned)
		}
	case 'n', 0:
	default:
		d.Skip(e.Content, "content that is neither text nor a list")
	}
}

// part reads a part of a message. What follows the caption of returned media is not the user's.
func (d *decoder) part(index int, at wire.Span, returned bool) bool {
	place := wire.Place{Element: index, Block: at}
	kind := wire.String(d.text, wire.Member(d.text, at, "type"))
	switch kind {
	case "text", "refusal":
		place.Text = wire.Member(d.text, at, kind)
		text := wire.String(d.text, place.Text)
		d.Say(text, nil, place)
		return returned || text == wire.Returned
	case "image_url", "file":
		if p, ok := d.media(kind, wire.Member(d.text, at, kind)); ok {
			p.Synthetic = returned
			d.Add(p, place)
			return returned
		}
	case "":
		d.Skip(at, "a part without type")
		return returned
	}
	d.Add(wire.OpaquePart("openai", "chat."+kind, wire.Raw(d.text, at)), place)
	return returned
}

func (d *decoder) media(kind string, at wire.Span) (session.Part, bool) {
	var address, name string
	mime := "image/png" // of an address that does not tell
	if kind == "file" {
		mime = "application/pdf"
	}
	for member, value := range wire.Members(d.text, at) {
		switch string(member) {
		case "url", "file_data":
			address = wire.String(d.text, value)
		case "filename":
			name = wire.String(d.text, value)
		}
	}
	return wire.ParseDataURL(address, mime, name).FilePart(), address != ""
}

func (d *decoder) assistant(index int, e wire.Element, f fields) {
	d.Begin(session.Assistant, index)
	if !f.thought.Empty() {
		d.Add(session.Part{
			Type: session.ReasoningPart, Text: wire.String(d.text, f.thought), Metadata: wire.Metadata("openai", "field", f.thoughtField),
		}, wire.Place{Element: index, Block: f.thought, Text: f.thought, Bare: true})
	}
	d.content(index, e)
	if wire.Kind(d.text, f.functionCall) == '{' {
		d.legacy = "function_" + e.Role + "_" + d.Messages[len(d.Messages)-1].ID
		d.call(index, d.legacy, f.functionCall, f.functionCall)
	}
	for at := range wire.Values(d.text, f.calls) {
		var id string
		var body wire.Span
		for name, value := range wire.Members(d.text, at) {
			switch string(name) {
			case "id":
				id = wire.String(d.text, value)
			case "function", "custom":
				body = value
			}
		}
		if wire.Kind(d.text, body) != '{' {
			d.Skip(at, "a call without function")
			continue
		}
		d.call(index, id, at, body)
	}
}

func (d *decoder) call(index int, id string, at, body wire.Span) {
	var tool string
	var arguments wire.Span
	for name, value := range wire.Members(d.text, body) {
		switch string(name) {
		case "name":
			tool = wire.String(d.text, value)
		case "arguments", "input":
			arguments = value
		}
	}
	input, quoted := Arguments(d.text, arguments)
	d.Call(id, tool, input, nil, wire.Place{Element: index, Block: at, Input: arguments, Quoted: quoted})
}

// Arguments reads the arguments of a call, JSON within a JSON string: the JSON where it is some, else the string.
func Arguments(text []byte, arguments wire.Span) (input jsontext.Value, quoted bool) {
	if wire.Kind(text, arguments) != '"' {
		return wire.Raw(text, arguments), false
	}
	inner := jsontext.Value(wire.String(text, arguments))
	if inner.IsValid(session.ReadOptions()) {
		return inner, true
	}
	if len(inner) == 0 {
		return jsontext.Value(`{}`), true
	}
	return wire.Raw(text, arguments), true
}

func (d *decoder) result(index int, e wire.Element, id string) {
	r := wire.Result{Text: d.texts(e.Content), Place: wire.Place{ResultElement: index, ResultBlock: e.Span, Result: e.Content}}
	switch wire.Kind(d.text, e.Content) {
	case '[':
		for at := range wire.Values(d.text, e.Content) {
			kind := wire.String(d.text, wire.Member(d.text, at, "type"))
			if p, ok := d.media(kind, wire.Member(d.text, at, kind)); ok && (kind == "image_url" || kind == "file") {
				r.Attachments = append(r.Attachments, p)
			} else if kind != "text" {
				r.Place.Keep = append(r.Place.Keep, at)
			}
		}
	case '"':
	case 0:
		r.Place.NoResultValue = true
	}
	d.Result(id, r)
}
