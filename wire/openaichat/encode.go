// Package openaichat reads and writes conversations in the JSON of OpenAI's Chat Completions, which
// many servers speak.
package openaichat

import (
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/wire"
)

// head is a body without its elements.
func head(b wire.Body) any {
	return struct {
		Model     string         `json:"model,omitzero"`
		MaxTokens int            `json:"max_completion_tokens,omitzero"`
		Tools     jsontext.Value `json:"tools,omitzero"`
	}{b.Model, b.MaxTokens, b.Tools}
}

// Encode writes messages, already a view: an assistant's step is one message with its text and its
// calls, and one "tool" message for each call follows it. Texts of a step are joined by blank
// lines. Media that tools returned follow in one user message, under a caption: "tool" messages are
// text. The API has no place for errors; the result of a failed call is the text of its error.
// Reasoning goes along where the model of the options wrote it *and* it was read from a body that
// had it in a member of its own (reasoning_content): OpenAI refuses that member, the servers that
// need it sent it first.
//
// One more message in the view adds messages at the end of the body and changes none of those
// before, to the byte.
func Encode(messages []session.Message, o wire.Options) (wire.Body, error) {
	return new(wire.Elements).Encode(messages, o, Form)
}

// Form is how the API writes a body down.
var Form = &wire.Form{
	Head: head, List: "messages", Own: prefix, Said: user, Answered: assistant, First: first,
}

func first(b *wire.Blocks, o wire.Options) {
	if o.System != "" {
		b.Add("system", message{Role: "system", Content: o.System})
	}
}

type message struct {
	Role       string `json:"role"`
	Content    any    `json:"content"` // a string, []any, or nil beside calls
	ToolCalls  []call `json:"tool_calls,omitzero"`
	ToolCallID string `json:"tool_call_id,omitzero"`

	ReasoningContent string `json:"reasoning_content,omitzero"`
	Reasoning        string `json:"reasoning,omitzero"`

	Audio       jsontext.Value `json:"audio,omitzero"`
	Annotations jsontext.Value `json:"annotations,omitzero"`
}

type call struct {
	ID       string   `json:"id"`
	Type     string   `json:"type"`
	Function function `json:"function"`
}

type function struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

type part struct {
	Type     string    `json:"type"`
	Text     string    `json:"text,omitzero"`
	ImageURL *imageURL `json:"image_url,omitzero"`
	File     *file     `json:"file,omitzero"`
	Audio    *audio    `json:"input_audio,omitzero"`
}

type imageURL struct {
	URL string `json:"url"`
}

type file struct {
	Filename string `json:"filename,omitzero"`
	FileData string `json:"file_data,omitzero"`
	FileID   string `json:"file_id,omitzero"`
}

type audio struct {
	Data   string `json:"data"`
	Format string `json:"format"`
}

func media(m wire.Media) part {
	format, recording := m.RecordingFormat()
	id, stored := m.Stored(wire.AtOpenAI)
	switch {
	case recording:
		return part{Type: "input_audio", Audio: &audio{m.Data, format}}
	case stored && !m.Is("image"):
		return part{Type: "file", File: &file{FileID: id}}
	case !m.Common(), m.PDF() && m.Data == "":
		return part{Type: "text", Text: m.Line()}
	case m.PDF():
		return part{Type: "file", File: &file{Filename: m.Name, FileData: m.DataURL()}}
	}
	return part{Type: "image_url", ImageURL: &imageURL{m.DataURL()}}
}

func user(b *wire.Blocks, entry wire.Entry, _ wire.Options) {
	role := "user"
	if entry.System {
		role = "system"
	}
	var parts []any
	for _, piece := range entry.Pieces {
		switch {
		case piece.Media != nil:
			parts = append(parts, media(*piece.Media))
		case piece.Opaque != nil:
			parts = append(parts, piece.Opaque)
		default:
			parts = append(parts, part{Type: "text", Text: piece.Text})
		}
	}
	if len(parts) == 1 {
		if only, ok := parts[0].(part); ok && only.Type == "text" {
			b.Add(role, message{Role: role, Content: only.Text})
			return
		}
	}
	if len(parts) > 0 {
		b.Add(role, message{Role: role, Content: parts})
	}
}

// prefix begins the part type of blocks that only this format understands.
const prefix = "openai/chat."

func assistant(b *wire.Blocks, entry wire.Entry, _ wire.Options) {
	m := message{Role: "assistant"}
	var texts, thoughts []string
	var parts []any // the texts among what else there is
	others := false
	var calls []*wire.Call
	field := ""
	for _, piece := range entry.Pieces {
		switch {
		case piece.Call != nil:
			calls = append(calls, piece.Call)
			called := function{piece.Call.Name, string(piece.Call.Input)}
			m.ToolCalls = append(m.ToolCalls, call{piece.Call.ID, "function", called})
		case piece.Thought != nil:
			if piece.Thought.Field != "" && piece.Thought.Text != "" {
				field, thoughts = piece.Thought.Field, append(thoughts, piece.Thought.Text)
			}
		case piece.Opaque != nil && piece.Part.Type == prefix+"audio":
			m.Audio = wire.ValueOf(piece.Opaque).Get("audio").Raw()
		case piece.Opaque != nil && piece.Part.Type == prefix+"annotations":
			m.Annotations = wire.ValueOf(piece.Opaque).Get("annotations").Raw()
		case piece.Opaque != nil:
			parts, others = append(parts, piece.Opaque), true
		default:
			text := piece.Words()
			texts, parts = append(texts, text), append(parts, part{Type: "text", Text: text})
		}
	}
	switch {
	case others:
		m.Content = parts
	case len(texts) > 0:
		m.Content = strings.Join(texts, "\n\n")
	case len(calls) == 0 && m.Audio == nil:
		return
	}
	switch field {
	case "reasoning_content":
		m.ReasoningContent = strings.Join(thoughts, "\n\n")
	case "reasoning":
		m.Reasoning = strings.Join(thoughts, "\n\n")
	}
	b.Add(m.Role, m)
	results(b, calls)
}

func results(b *wire.Blocks, calls []*wire.Call) {
	var returned []part
	for _, c := range calls {
		if c.Original != nil {
			b.Add("tool", message{Role: "tool", Content: c.Original, ToolCallID: c.ID})
			continue
		}
		b.Add("tool", message{Role: "tool", Content: c.Result, ToolCallID: c.ID})
		for _, m := range c.Media {
			returned = append(returned, media(m))
		}
	}
	if len(returned) > 0 {
		b.Add("user", message{Role: "user", Content: append([]part{{Type: "text", Text: wire.Returned}}, returned...)})
	}
}
