// Package anthropic reads and writes conversations in the JSON of Anthropic's Messages API.
package anthropic

import (
	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/wire"
)

// head is a body without its elements.
func head(b wire.Body) any {
	return struct {
		Model     string         `json:"model,omitzero"`
		MaxTokens int            `json:"max_tokens,omitzero"`
		System    string         `json:"system,omitzero"`
		Tools     jsontext.Value `json:"tools,omitzero"`
	}{b.Model, b.MaxTokens, b.System, b.Tools}
}

// Encode writes messages, already a view, as the API wants them: roles alternate, the first message
// is the user's, results open the user message that follows their calls, and no text block is
// blank. Thinking goes along where the model of the options wrote and signed it. A result without
// text has no content; the API refuses empty text.
//
// The messages of the body grow at their end alone: with one more message in the view, all but the
// last message of the body stay as they are to the byte, and the last one either stays or gets more
// blocks behind those that it has. It stays whenever the added message begins a step: an
// assistant's message after the user's, or the user's after an assistant's without calls.
func Encode(messages []session.Message, o wire.Options) (wire.Body, error) {
	return new(wire.Elements).Encode(messages, o, Form)
}

// The roles of a body.
const (
	fromUser      = string(session.User)
	fromAssistant = string(session.Assistant)
)

// Form is how the API writes a body down.
var Form = &wire.Form{
	Head: head, List: "messages",
	Own: prefix, Content: "content", Said: user, Answered: assistant, Opening: fromAssistant, User: fromUser,
	Text: func(s string) any { return text(s) },
}

func user(b *wire.Blocks, entry wire.Entry, _ wire.Options) {
	for _, piece := range entry.Pieces {
		switch {
		case piece.Media != nil:
			b.Add(fromUser, media(*piece.Media))
		case piece.Opaque != nil:
			b.Raw(fromUser, piece.Opaque)
		default:
			b.Add(fromUser, text(piece.Text))
		}
	}
}

func assistant(b *wire.Blocks, entry wire.Entry, _ wire.Options) {
	var calls []*wire.Call
	for _, piece := range entry.Pieces {
		switch {
		case piece.Opaque != nil:
			b.Raw(fromAssistant, piece.Opaque)
		case piece.Thought != nil:
			thought := piece.Thought
			switch { // the API takes no thinking that it did not sign
			case thought.Redacted != "":
				b.Add(fromAssistant, block{Type: "redacted_thinking", Data: thought.Redacted})
			case thought.Signature != "":
				b.Add(fromAssistant, block{Type: "thinking", Thinking: &thought.Text, Signature: thought.Signature})
			}
		case piece.Call != nil:
			calls = append(calls, piece.Call)
			c := piece.Call
			b.Add(fromAssistant, block{Type: "tool_use", ID: c.ID, Name: c.Name, Input: c.Input})
		default:
			b.Add(fromAssistant, text(piece.Words()))
		}
	}
	for _, call := range calls {
		b.Add(fromUser, result(call))
	}
}

// prefix begins the part type of blocks that only this API understands.
const prefix = "anthropic/"

type block struct {
	Type      string         `json:"type"`
	Text      string         `json:"text,omitzero"`
	Thinking  *string        `json:"thinking,omitzero"`
	Signature string         `json:"signature,omitzero"`
	Data      string         `json:"data,omitzero"`
	ID        string         `json:"id,omitzero"`
	Name      string         `json:"name,omitzero"`
	Input     jsontext.Value `json:"input,omitzero"`
	ToolUseID string         `json:"tool_use_id,omitzero"`
	Content   any            `json:"content,omitzero"` // a string, or []block
	IsError   bool           `json:"is_error,omitzero"`
	Source    *source        `json:"source,omitzero"`
	Title     string         `json:"title,omitzero"`
}

type source struct {
	Type      string `json:"type"`
	MediaType string `json:"media_type,omitzero"`
	Data      string `json:"data,omitzero"`
	URL       string `json:"url,omitzero"`
	FileID    string `json:"file_id,omitzero"`
}

func text(s string) block { return block{Type: "text", Text: s} }

func media(m wire.Media) block {
	b := block{Type: "image", Source: &source{Type: "base64", MediaType: m.Mime, Data: m.Data}}
	if !m.Is("image") {
		b.Type, b.Title = "document", m.Name
	}
	words, plain := m.Plain()
	id, stored := m.Stored(wire.AtAnthropic)
	switch {
	case stored:
		b.Source = &source{Type: "file", FileID: id}
	case plain:
		b.Source = &source{Type: "text", MediaType: "text/plain", Data: words}
	case !m.Common():
		return text(m.Line())
	case m.URL != "":
		b.Source = &source{Type: "url", URL: m.URL}
	}
	return b
}

func result(call *wire.Call) block {
	b := block{Type: "tool_result", ToolUseID: call.ID, IsError: call.Failed}
	if call.Original != nil {
		b.Content = call.Original
		return b
	}
	if len(call.Media)+len(call.Rest) == 0 {
		if !wire.Blank(call.Result) {
			b.Content = call.Result
		}
		return b
	}
	var blocks []any
	if !wire.Blank(call.Result) {
		blocks = append(blocks, text(call.Result))
	}
	for _, m := range call.Media {
		blocks = append(blocks, media(m))
	}
	for _, raw := range call.Rest {
		blocks = append(blocks, raw)
	}
	b.Content = blocks
	return b
}
