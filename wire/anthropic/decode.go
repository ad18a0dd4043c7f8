package anthropic

import (
	"strings"

	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/wire"
)

// Decode reads a request body, or a bare array of messages. What is damaged is skipped and listed; it never fails.
//
// A "system" message amid the conversation becomes a user message that nobody wrote. Blocks that only the API understands
// (server tools, search results, compaction) become parts that keep their JSON.
func Decode(body []byte) *wire.Decoded {
	b, root := wire.NewBuilder(body, "anthropic")
	d := decoder{b, b.Decoded.Text}
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
	text []byte
}

func (d decoder) head(root wire.Span) {
	for name, value := range wire.Members(d.text, root) {
		switch string(name) {
		case "model":
			d.Model = wire.String(d.text, value)
		case "max_tokens":
			d.MaxTokens = wire.Number(d.text, value)
		case "tools":
			d.Tools = wire.Raw(d.text, value)
		case "system":
			d.System = ""
			d.AddSystem(wire.String(d.text, value))
			for block := range wire.Values(d.text, value) {
				d.AddSystem(wire.String(d.text, wire.Member(d.text, block, "text")))
			}
		case "messages":
			if wire.Kind(d.text, value) != '[' {
				d.Skip(value, "messages are not a list")
				continue
			}
			d.List = value
		}
	}
}

func (d decoder) element(at wire.Span) {
	e := wire.Element{Span: at}
	for name, value := range wire.Members(d.text, at) {
		switch string(name) {
		case "role":
			e.Role = wire.String(d.text, value)
		case "content":
			e.Content = value
		}
	}
	index := d.Element(e)
	kind := wire.Kind(d.text, e.Content)
	switch {
	case e.Role != "user" && e.Role != "assistant" && e.Role != "system":
		d.Skip(at, "a message without a known role")
	case kind != '"' && kind != '[':
		d.Skip(at, "a message without content")
	case e.Role == "system":
		d.system(index, e)
	case kind == '"':
		d.Begin(session.Role(e.Role), index)
		d.Say(wire.String(d.text, e.Content), nil, wire.Place{Element: index, Block: e.Content, Text: e.Content, Bare: true})
	case e.Role == "user":
		d.user(index, e)
	default:
		d.assistant(index, e)
	}
}

func (d decoder) system(index int, e wire.Element) {
	if wire.Kind(d.text, e.Content) == '"' {
		d.Remark(wire.String(d.text, e.Content), index, wire.Place{Element: index, Block: e.Content, Text: e.Content, Bare: true})
		return
	}
	for at := range wire.Values(d.text, e.Content) {
		value := wire.Member(d.text, at, "text")
		d.Remark(wire.String(d.text, value), index, wire.Place{Element: index, Block: at, Text: value})
	}
}

// fields are the members of a block that matter here.
type fields struct {
	kind, id, name, toolUseID, signature, data, title string
	text, thinking, input, content, source            wire.Span
	failed                                            bool
}

func (d decoder) fields(at wire.Span) fields {
	var f fields
	for name, value := range wire.Members(d.text, at) {
		switch string(name) {
		case "type":
			f.kind = wire.String(d.text, value)
		case "id":
			f.id = wire.String(d.text, value)
		case "name":
			f.name = wire.String(d.text, value)
		case "tool_use_id":
			f.toolUseID = wire.String(d.text, value)
		case "signature":
			f.signature = wire.String(d.text, value)
		case "data":
			f.data = wire.String(d.text, value)
		case "title":
			f.title = wire.String(d.text, value)
		case "text":
			f.text = value
		case "thinking":
			f.thinking = value
		case "input":
			f.input = value
		case "content":
			f.content = value
		case "source":
			f.source = value
		case "is_error":
			f.failed = wire.Kind(d.text, value) == 't'
		}
	}
	return f
}

// user reads results first, whatever stands between them: the rest of the message was said after them.
func (d decoder) user(index int, e wire.Element) {
	var said []wire.Span
	results := false
	for at := range wire.Values(d.text, e.Content) {
		f := d.fields(at)
		if f.kind != "tool_result" {
			said = append(said, at)
			continue
		}
		results = true
		d.Result(f.toolUseID, d.result(index, at, f))
	}
	if len(said) == 0 && results {
		return
	}
	d.Begin(session.User, index)
	for _, at := range said {
		d.block(index, at)
	}
}

func (d decoder) assistant(index int, e wire.Element) {
	d.Begin(session.Assistant, index)
	for at := range wire.Values(d.text, e.Content) {
		d.block(index, at)
	}
}

func (d decoder) block(index int, at wire.Span) {
	f := d.fields(at)
	place := wire.Place{Element: index, Block: at}
	switch f.kind {
	case "text":
		place.Text = f.text
		d.Say(wire.String(d.text, f.text), nil, place)
	case "thinking":
		place.Text = f.thinking
		d.Add(session.Part{
			Type: session.ReasoningPart, Text: wire.String(d.text, f.thinking),
			Metadata: wire.Metadata("anthropic", "signature", f.signature),
		}, place)
	case "redacted_thinking":
		d.Add(session.Part{Type: session.ReasoningPart, Metadata: wire.Metadata("anthropic", "redactedData", f.data)}, place)
	case "tool_use":
		place.Input = f.input
		d.Call(f.id, f.name, wire.Raw(d.text, f.input), nil, place)
	case "image", "document":
		if m, ok := d.media(f); ok {
			d.Add(m.FilePart(), place)
			return
		}
		d.opaque(f.kind, at, place)
	case "":
		d.Skip(at, "a block without type")
	default:
		d.opaque(f.kind, at, place)
	}
}

func (d decoder) opaque(kind string, at wire.Span, place wire.Place) {
	d.Add(wire.OpaquePart("anthropic", kind, wire.Raw(d.text, at)), place)
}

func (d decoder) media(f fields) (wire.Media, bool) {
	m := wire.Media{Name: f.title, Mime: "image/png"}
	if f.kind == "document" {
		m.Mime = "application/pdf"
	}
	var kind string
	for name, value := range wire.Members(d.text, f.source) {
		switch string(name) {
		case "type":
			kind = wire.String(d.text, value)
		case "media_type":
			m.Mime = wire.String(d.text, value)
		case "data":
			m.Data = wire.String(d.text, value)
		case "url":
			m.URL = wire.String(d.text, value)
		}
	}
	return m, kind == "base64" && m.Data != "" || kind == "url" && m.URL != ""
}

func (d decoder) result(index int, at wire.Span, f fields) wire.Result {
	r := wire.Result{Failed: f.failed, Place: wire.Place{ResultElement: index, ResultBlock: at, Result: f.content}}
	switch wire.Kind(d.text, f.content) {
	case '"':
		r.Text = wire.String(d.text, f.content)
	case '[':
		var texts []string
		for at := range wire.Values(d.text, f.content) {
			inner := d.fields(at)
			if m, ok := d.media(inner); ok && (inner.kind == "image" || inner.kind == "document") {
				r.Attachments = append(r.Attachments, m.FilePart())
			} else if inner.kind == "text" {
				texts = append(texts, wire.String(d.text, inner.text))
			} else {
				r.Place.Keep = append(r.Place.Keep, at)
			}
		}
		r.Text = strings.Join(texts, "\n")
	default:
		r.Place.NoResultValue = true
	}
	return r
}
