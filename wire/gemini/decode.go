package gemini

import (
	"strconv"

	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/wire"
)

// Decode reads a request body, or a bare array of contents. What is damaged is skipped and listed; it never fails. Responses find
// their calls by id, and by name where they have none. The model is unknown unless the body says it: where its signatures
// are to go back, set the ModelID of the assistant's messages.
func Decode(body []byte) *wire.Decoded {
	b, root := wire.NewBuilder(body, "google")
	d := &decoder{Builder: b, text: b.Decoded.Text, waiting: map[string][]string{}}
	switch wire.Kind(d.text, root) {
	case '[':
		b.List = root
	case '{':
		d.head(root)
	default:
		return b.Decoded
	}
	for content := range wire.Values(d.text, b.List) {
		d.content(content)
	}
	return b.Decoded
}

type decoder struct {
	*wire.Builder
	text    []byte
	waiting map[string][]string // ids made up for calls without one, by name
}

func (d *decoder) head(root wire.Span) {
	for name, value := range wire.Members(d.text, root) {
		switch string(name) {
		case "model":
			d.Model = wire.String(d.text, value)
		case "generationConfig", "generation_config":
			for name, value := range wire.Members(d.text, value) {
				if n := string(name); n == "maxOutputTokens" || n == "max_output_tokens" {
					d.MaxTokens = wire.Number(d.text, value)
				}
			}
		case "tools":
			d.Tools = wire.Raw(d.text, value)
		case "systemInstruction", "system_instruction":
			d.Decoded.System = ""
			for at := range wire.Values(d.text, wire.Member(d.text, value, "parts")) {
				d.AddSystem(wire.String(d.text, wire.Member(d.text, at, "text")))
			}
		case "contents":
			if wire.Kind(d.text, value) != '[' {
				d.Skip(value, "contents are not a list")
				continue
			}
			d.List = value
		}
	}
}

func (d *decoder) content(at wire.Span) {
	e := wire.Element{Span: at, Role: "user"} // the API takes the user for the default
	for name, value := range wire.Members(d.text, at) {
		switch string(name) {
		case "role":
			e.Role = wire.String(d.text, value)
		case "parts":
			e.Content = value
		}
	}
	index := d.Element(e)
	switch e.Role {
	case "model":
		d.Begin(session.Assistant, index)
		for at := range wire.Values(d.text, e.Content) {
			d.part(index, at, false)
		}
	case "user", "function":
		d.user(index, e)
	default:
		d.Skip(at, "a content without a known role")
	}
}

func (d *decoder) user(index int, e wire.Element) {
	var said []wire.Span
	results := false
	for at := range wire.Values(d.text, e.Content) {
		if f := d.fields(at); wire.Kind(d.text, f.response) == '{' {
			d.response(index, at, f.response)
			results = true
		} else {
			said = append(said, at)
		}
	}
	if len(said) == 0 && results {
		return
	}
	d.Begin(session.User, index)
	returned := false
	for _, at := range said {
		returned = returned || wire.String(d.text, d.fields(at).text) == wire.Returned
		d.part(index, at, returned)
	}
}

// fields are the members of a part that matter here.
type fields struct {
	text, call, response, inline, file wire.Span
	signature                          string
	thought                            bool
	more                               bool // a member that none of these stands for
}

func (d *decoder) fields(at wire.Span) fields {
	var f fields
	for name, value := range wire.Members(d.text, at) {
		switch string(name) {
		case "text":
			f.text = value
		case "thought":
			f.thought = wire.Kind(d.text, value) == 't'
		case "thoughtSignature", "thought_signature":
			f.signature = wire.String(d.text, value)
		case "functionCall", "function_call":
			f.call = value
		case "functionResponse", "function_response":
			f.response = value
		case "inlineData", "inline_data":
			f.inline = value
		case "fileData", "file_data":
			f.file = value
		default:
			f.more = true
		}
	}
	return f
}

func (d *decoder) part(index int, at wire.Span, returned bool) {
	f := d.fields(at)
	place := wire.Place{Element: index, Block: at, Text: f.text}
	metadata := wire.Metadata("google", "thoughtSignature", f.signature)
	switch {
	case wire.Kind(d.text, f.text) == '"' && f.thought:
		d.Add(session.Part{Type: session.ReasoningPart, Text: wire.String(d.text, f.text), Metadata: metadata}, place)
	case wire.Kind(d.text, f.text) == '"':
		d.Say(wire.String(d.text, f.text), metadata, place)
	case wire.Kind(d.text, f.call) == '{':
		d.call(at, f, place)
	case !f.inline.Empty(), !f.file.Empty():
		p := d.media(f).FilePart()
		p.Synthetic = returned
		d.Add(p, place)
	case !f.text.Empty(), !f.call.Empty(), !f.response.Empty():
		d.Skip(at, "a part whose member is of the wrong kind")
	case wire.Kind(d.text, at) == '{':
		d.Add(wire.OpaquePart("gemini", "part", wire.Raw(d.text, at)), place)
	default:
		d.Skip(at, "a part that is no object")
	}
}

func (d *decoder) call(at wire.Span, f fields, place wire.Place) {
	id, name, input := d.named(f.call, "args")
	if id == "" {
		id = "call_" + strconv.Itoa(d.ToolCalls+1)
		d.waiting[name] = append(d.waiting[name], id)
	}
	place.Input = input
	d.Call(id, name, wire.Raw(d.text, input), wire.Metadata("google", "thoughtSignature", f.signature), place)
}

func (d *decoder) named(at wire.Span, member string) (id, name string, value wire.Span) {
	for n, v := range wire.Members(d.text, at) {
		switch string(n) {
		case "id":
			id = wire.String(d.text, v)
		case "name":
			name = wire.String(d.text, v)
		case member:
			value = v
		}
	}
	return id, name, value
}

func (d *decoder) response(index int, at, body wire.Span) {
	id, name, value := d.named(body, "response")
	if waiting := d.waiting[name]; id == "" && len(waiting) > 0 {
		id, d.waiting[name] = waiting[0], waiting[1:]
	}
	r := wire.Result{Place: wire.Place{ResultElement: index, ResultBlock: at, Result: value, Object: true, NoResultValue: value.Empty()}}
	// {"output": …} and {"error": …} are what the API asks for; any other object is the text itself.
	count := 0
	var output, failure wire.Span
	for n, v := range wire.Members(d.text, value) {
		count++
		switch string(n) {
		case "output", "result":
			output = v
		case "error":
			failure = v
		}
	}
	switch {
	case count == 1 && wire.Kind(d.text, output) == '"':
		r.Text = wire.String(d.text, output)
	case count == 1 && wire.Kind(d.text, failure) == '"':
		r.Text, r.Failed = wire.String(d.text, failure), true
	default:
		r.Text = string(value.Of(d.text))
	}
	d.Result(id, r)
}

func (d *decoder) media(f fields) wire.Media {
	var m wire.Media
	at := f.inline
	if at.Empty() {
		at = f.file
	}
	for name, value := range wire.Members(d.text, at) {
		switch string(name) {
		case "mimeType", "mime_type":
			m.Mime = wire.String(d.text, value)
		case "data":
			m.Data = wire.String(d.text, value)
		case "fileUri", "file_uri":
			m.URL = wire.String(d.text, value)
		case "displayName", "display_name":
			m.Name = wire.String(d.text, value)
		}
	}
	return m
}
