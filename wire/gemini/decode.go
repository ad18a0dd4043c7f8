package gemini

import (
	"strconv"

	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/text/span"
	"github.com/winnowhq/winnow/wire"
)

// Decode reads a request body, or a bare array of contents. What is damaged is skipped and listed;
// it never fails. Responses find their calls by id, or by name if they have none. The model is
// unknown unless the body says it: if its signatures are to go back, set the ModelID of the
// assistant's messages.
func Decode(body []byte) *wire.Decoded {
	b, root := wire.NewBuilder(body, "google")
	d := &decoder{Builder: b, waiting: map[string][]string{}}
	var config, tools, system, contents wire.Value
	root.Read("model", &d.Model, "generationConfig", &config, "generation_config", &config, "tools", &tools,
		"systemInstruction", &system, "system_instruction", &system, "contents", &contents)
	config.Read("maxOutputTokens", &d.MaxTokens, "max_output_tokens", &d.MaxTokens)
	d.Tools = tools.Raw()
	for part := range system.Get("parts").Values() {
		d.AddSystem(part.Get("text").String())
	}
	d.SetList(contents, "contents")
	for content := range d.Entries() {
		d.content(content)
	}
	return b.Decoded
}

type decoder struct {
	*wire.Builder
	waiting map[string][]string // ids made up for calls without one, by name
}

func (d *decoder) content(content wire.Value) {
	e := wire.Element{Span: content.Span, Role: "user"} // the API takes the user for the default
	var parts wire.Value
	content.Read("role", &e.Role, "parts", &parts)
	e.Content = parts.Span
	index := d.Element(e)
	switch e.Role {
	case "model":
		d.Begin(session.Assistant, index)
		for at := range parts.Values() {
			d.part(index, read(at), false)
		}
	case "user", "function":
		d.user(index, parts)
	default:
		d.Skip(content.Span, "a content without a known role")
	}
}

func (d *decoder) user(index int, parts wire.Value) {
	var said []partFields
	results := false
	for at := range parts.Values() {
		if p := read(at); p.response.Kind() == '{' {
			d.response(index, p)
			results = true
		} else {
			said = append(said, p)
		}
	}
	if len(said) == 0 && results {
		return
	}
	d.Begin(session.User, index)
	returned := false
	for _, p := range said {
		returned = returned || p.text.String() == wire.Returned
		d.part(index, p, returned)
	}
}

// partFields are the members of a part that matter here.
type partFields struct {
	wire.Value
	text, call, response, inline, file wire.Value
	signature                          string
	thought                            bool
	others                             int // members that none of these stands for
}

func read(v wire.Value) partFields {
	p := partFields{Value: v}
	p.others = v.Read("text", &p.text, "thought", &p.thought,
		"thoughtSignature", &p.signature, "thought_signature", &p.signature,
		"functionCall", &p.call, "function_call", &p.call,
		"functionResponse", &p.response, "function_response", &p.response,
		"inlineData", &p.inline, "inline_data", &p.inline, "fileData", &p.file, "file_data", &p.file)
	return p
}

func (d *decoder) part(index int, p partFields, returned bool) {
	place := wire.Place{Element: index, Block: p.Span, Text: p.text.Span}
	metadata := wire.Metadata("google", "thoughtSignature", p.signature)
	switch {
	case p.text.Kind() == '"' && p.thought:
		d.Add(session.Part{Type: session.ReasoningPart, Text: p.text.String(), Metadata: metadata}, place)
	case p.text.Kind() == '"':
		said := session.Part{Text: p.text.String(), Metadata: metadata}
		if p.others > 0 {
			said = wire.Original(said, prefix, p.Value, nil)
		}
		d.Say(said.Text, said.Metadata, place)
	case p.call.Kind() == '{':
		c := readCall(p.call)
		if c.id == "" {
			c.id = "call_" + strconv.Itoa(d.ToolCalls+1)
			d.waiting[c.name] = append(d.waiting[c.name], c.id)
		}
		place.Input = c.args.Span
		d.Call(c.id, c.name, c.args.Raw(), metadata, place)
	case p.inline.Kind() == '{', p.file.Kind() == '{':
		file := p.media()
		file.Synthetic = returned
		d.Add(file, place)
	case !p.text.Empty(), !p.call.Empty(), !p.response.Empty(), !p.inline.Empty(), !p.file.Empty():
		d.Skip(p.Span, "a part whose member is of the wrong kind")
	case p.Kind() == '{':
		d.Add(wire.OpaquePart("gemini", "part", p.Raw()), place)
	default:
		d.Skip(p.Span, "a part that is not an object")
	}
}

// callFields are the members of a call, or of a response to one.
type callFields struct {
	id, name              string
	args, response, parts wire.Value
}

func readCall(v wire.Value) (c callFields) {
	v.Read("id", &c.id, "name", &c.name, "args", &c.args, "response", &c.response, "parts", &c.parts)
	return c
}

func (d *decoder) response(index int, p partFields) {
	c := readCall(p.response)
	id := c.id
	if waiting := d.waiting[c.name]; c.id == "" && len(waiting) > 0 {
		c.id, d.waiting[c.name] = waiting[0], waiting[1:]
	}
	r := wire.Result{Place: wire.Place{
		ResultElement: index, ResultBlock: p.Span, Result: c.response.Span, Object: true,
		NoResultValue: c.response.Empty(),
	}}
	// {"output": …} and {"error": …} are what the API asks for; any other object is the text
	// itself.
	var output, failure wire.Value
	c.response.Read("output", &output, "result", &output, "error", &failure)
	alone := c.response.Read() == 1
	switch {
	case alone && output.Kind() == '"':
		r.Text = output.String()
	case alone && failure.Kind() == '"':
		r.Text, r.Failed = failure.String(), true
	default:
		r.Text = string(c.response.Bytes())
	}
	for at := range c.parts.Values() {
		file := read(at).media()
		if !file.IsMedia() { // blocks with more than media stay
			r.Attachments, r.Place.Files = nil, span.Span{}
			break
		}
		r.Attachments, r.Place.Files = append(r.Attachments, file), c.parts.Span
	}
	if c.response.Kind() == '{' {
		r.Keep(prefix, p.response, func(call *wire.Call) any {
			call.ID, call.Name = id, c.name
			return answer(call)
		})
	}
	d.Result(c.id, r)
}

func (p partFields) media() session.Part {
	var m wire.Media
	v := p.inline
	if v.Empty() {
		v = p.file
	}
	v.Read("mimeType", &m.Mime, "mime_type", &m.Mime, "data", &m.Data, "fileUri", &m.URL, "file_uri", &m.URL,
		"displayName", &m.Name, "display_name", &m.Name)
	file := m.FilePart()
	return wire.Original(file, prefix, p.Value, media(wire.MediaOf(&file)))
}
