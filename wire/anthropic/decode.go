package anthropic

import (
	"encoding/base64"

	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/wire"
)

// Decode reads a request body, or a bare array of messages. What is damaged is skipped and listed;
// it never fails.
//
// A "system" message in the middle of the conversation becomes a user message that nobody wrote.
// Blocks that only the API understands (server tools, search results, compaction) become parts that
// keep their JSON.
func Decode(body []byte) *wire.Decoded {
	b, root := wire.NewBuilder(body, "anthropic")
	d := decoder{b}
	var tools, system, messages wire.Value
	root.Read("model", &d.Model, "max_tokens", &d.MaxTokens, "tools", &tools, "system", &system, "messages", &messages)
	d.Tools = tools.Raw()
	d.AddSystem(system.String())
	for block := range system.Values() {
		d.AddSystem(block.Get("text").String())
	}
	d.SetList(messages, "messages")
	for message := range d.Entries() {
		d.element(message)
	}
	return b.Decoded
}

type decoder struct{ *wire.Builder }

func (d decoder) element(message wire.Value) {
	e := wire.Element{Span: message.Span}
	var content wire.Value
	message.Read("role", &e.Role, "content", &content)
	e.Content = content.Span
	index := d.Element(e)
	kind := content.Kind()
	switch {
	case e.Role != "user" && e.Role != "assistant" && e.Role != "system":
		d.Skip(message.Span, "a message without a known role")
	case kind != '"' && kind != '[':
		d.Skip(message.Span, "a message without content")
	case e.Role == "system" && kind == '"':
		d.Remark(content.String(), index, wire.Bare(index, content))
	case e.Role == "system":
		for block := range content.Values() {
			text := block.Get("text")
			d.Remark(text.String(), index, wire.Place{Element: index, Block: block.Span, Text: text.Span})
		}
	case kind == '"':
		d.Begin(session.Role(e.Role), index)
		d.Say(content.String(), nil, wire.Bare(index, content))
	case e.Role == "user":
		d.user(index, content)
	default:
		d.Begin(session.Assistant, index)
		for at := range content.Values() {
			d.block(index, read(at))
		}
	}
}

// blockFields are the members of a block that matter here.
type blockFields struct {
	wire.Value
	kind, id, name, toolUseID, signature, data, title string
	text, thinking, input, content, source, mark      wire.Value
	failed                                            bool
	others                                            int // members that none of these stands for
}

func read(v wire.Value) blockFields {
	b := blockFields{Value: v}
	b.others = v.Read("type", &b.kind, "id", &b.id, "name", &b.name, "tool_use_id", &b.toolUseID,
		"signature", &b.signature, "data", &b.data, "title", &b.title, "text", &b.text, "thinking", &b.thinking,
		"input", &b.input, "content", &b.content, "source", &b.source, "is_error", &b.failed, "cache_control", &b.mark)
	return b
}

// user reads results first, whatever stands between them: the rest of the message was said after
// them.
func (d decoder) user(index int, content wire.Value) {
	var said []blockFields
	results := false
	for at := range content.Values() {
		b := read(at)
		if b.kind != "tool_result" {
			said = append(said, b)
			continue
		}
		results = true
		r := wire.ReadResult(index, at, b.content, func(at wire.Value) (session.Part, bool) { return read(at).media() })
		r.Failed = b.failed
		r.Keep(prefix, b.content, func(c *wire.Call) any { return result(c).Content })
		r.Place.NoResultValue = b.content.Kind() != '"' && b.content.Kind() != '['
		d.Result(b.toolUseID, r)
	}
	if len(said) == 0 && results {
		return
	}
	d.Begin(session.User, index)
	for _, b := range said {
		d.block(index, b)
	}
}

func (d decoder) block(index int, b blockFields) {
	place := wire.Place{Element: index, Block: b.Span}
	switch b.kind {
	case "text":
		place.Text = b.text.Span
		said := session.Part{Text: b.text.String()}
		if b.others > 0 { // citations
			said = wire.Original(said, prefix, b.Value, nil)
		}
		d.Say(said.Text, said.Metadata, place)
	case "thinking":
		place.Text = b.thinking.Span
		d.Add(thought(b.thinking.String(), b.signature), place)
	case "redacted_thinking":
		d.Add(redacted(b.data), place)
	case "tool_use":
		place.Input = b.input.Span
		d.Call(b.id, b.name, b.input.Raw(), nil, place)
	case "":
		d.Skip(b.Span, "a block without type")
	default:
		p, ok := b.media()
		if !ok || !d.Speaks(session.User) {
			p = wire.OpaquePart("anthropic", b.kind, b.Raw())
		}
		d.Add(p, place)
	}
}

func thought(text, signature string) session.Part {
	metadata := wire.Metadata("anthropic", "signature", signature)
	return session.Part{Type: session.ReasoningPart, Text: text, Metadata: metadata}
}

func redacted(data string) session.Part {
	return session.Part{Type: session.ReasoningPart, Metadata: wire.Metadata("anthropic", "redactedData", data)}
}

// media is the part of an image or a document whose bytes or address are known.
func (b blockFields) media() (session.Part, bool) {
	m := wire.Media{Name: b.title, Mime: "image/png"}
	switch b.kind {
	case "image":
	case "document":
		m.Mime = "application/pdf"
	default:
		return session.Part{}, false
	}
	var kind, id string
	b.source.Read("type", &kind, "media_type", &m.Mime, "data", &m.Data, "url", &m.URL, "file_id", &id)
	switch {
	case kind == "base64" && m.Data != "", kind == "url" && m.URL != "":
	case kind == "text" && m.Data != "":
		m.Data = base64.StdEncoding.EncodeToString([]byte(m.Data))
	case kind == "file" && id != "":
		m.At = wire.AtAnthropic + id
	default:
		return session.Part{}, false
	}
	p := m.FilePart()
	return wire.Original(p, prefix, b.Value, media(wire.MediaOf(&p))), true
}
