// Package responses reads and writes conversations in the JSON of OpenAI's Responses API.
package responses

import (
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/wire"
)

// head is a body without its elements.
func head(b wire.Body) any {
	return struct {
		Model        string         `json:"model,omitzero"`
		MaxTokens    int            `json:"max_output_tokens,omitzero"`
		Instructions string         `json:"instructions,omitzero"`
		Tools        jsontext.Value `json:"tools,omitzero"`
	}{b.Model, b.MaxTokens, b.System, b.Tools}
}

// Encode writes messages, already a view, as items: a step is its reasoning, texts and calls in
// their order, then one output for each call. Reasoning goes along where the model of the options
// wrote it and its encrypted content is known: that alone needs nothing that the server stored. The
// API has no place for errors; the output of a failed call is the text of its error.
//
// One more message in the view adds items at the end and changes none of those before, to the byte.
func Encode(messages []session.Message, o wire.Options) (wire.Body, error) {
	return new(wire.Elements).Encode(messages, o, Form)
}

// Form is how the API writes a body down.
var Form = &wire.Form{
	Head: head, List: "input", Own: prefix, Said: user, Answered: assistant,
}

type item struct {
	Type      string `json:"type"`
	ID        string `json:"id,omitzero"`
	Role      string `json:"role,omitzero"`
	Phase     string `json:"phase,omitzero"`
	Content   []any  `json:"content,omitzero"` // each a part, or as it came
	CallID    string `json:"call_id,omitzero"`
	Name      string `json:"name,omitzero"`
	Arguments string `json:"arguments,omitzero"`
	Input     any    `json:"input,omitzero"`  // a string
	Output    any    `json:"output,omitzero"` // a string, or []any

	Summary   *[]part `json:"summary,omitzero"`
	Encrypted string  `json:"encrypted_content,omitzero"`
}

type part struct {
	Type     string `json:"type"`
	Text     string `json:"text,omitzero"`
	ImageURL string `json:"image_url,omitzero"`
	Filename string `json:"filename,omitzero"`
	FileData string `json:"file_data,omitzero"`
	FileURL  string `json:"file_url,omitzero"`
	FileID   string `json:"file_id,omitzero"`
}

func media(m wire.Media) part {
	id, stored := m.Stored(wire.AtOpenAI)
	switch {
	case stored && m.Is("image"):
		return part{Type: "input_image", FileID: id}
	case stored:
		return part{Type: "input_file", FileID: id}
	case !m.Common():
		return part{Type: "input_text", Text: m.Line()}
	case m.PDF() && m.URL != "":
		return part{Type: "input_file", FileURL: m.URL}
	case m.PDF():
		name := m.Name
		if name == "" {
			name = "file.pdf"
		}
		return part{Type: "input_file", Filename: name, FileData: m.DataURL()}
	}
	return part{Type: "input_image", ImageURL: m.DataURL()}
}

func user(b *wire.Blocks, entry wire.Entry, _ wire.Options) {
	said := item{Type: "message", Role: "user"}
	if entry.System {
		said.Role = "developer"
	}
	for _, piece := range entry.Pieces {
		switch {
		case piece.Media != nil:
			said.Content = append(said.Content, media(*piece.Media))
		case piece.Opaque != nil && within(piece):
			said.Content = append(said.Content, piece.Opaque)
		case piece.Opaque != nil:
			message(b, &said)
			b.Raw("", piece.Opaque)
		default:
			said.Content = append(said.Content, part{Type: "input_text", Text: piece.Text})
		}
	}
	message(b, &said)
}

// within reports whether a block as it came belongs into a message, and is no item of its own.
func within(piece wire.Piece) bool {
	return !strings.HasPrefix(string(piece.Part.Type), prefix) ||
		strings.HasPrefix(string(piece.Part.Type), prefix+"content.")
}

// message writes what was said so far as one item.
func message(b *wire.Blocks, said *item) {
	if len(said.Content) > 0 {
		b.Add("", *said)
		said.Content = nil
	}
}

// prefix begins the part type of items that only this API understands.
const prefix = "openai/responses."

func assistant(b *wire.Blocks, entry wire.Entry, _ wire.Options) {
	var calls []wire.Piece
	said := item{Type: "message", Role: "assistant"}
	thought := item{Type: "reasoning"}
	think := func() {
		if thought.Summary != nil {
			b.Add("", thought)
			thought = item{Type: "reasoning"}
		}
	}
	for _, piece := range entry.Pieces {
		if piece.Thought == nil {
			think()
		}
		switch {
		case piece.Thought != nil:
			message(b, &said)
			t := piece.Thought
			if t.Encrypted == "" {
				continue
			}
			if thought.Summary != nil && thought.Encrypted != t.Encrypted {
				think()
			}
			if thought.Summary == nil {
				thought.ID, thought.Encrypted, thought.Summary = t.ItemID, t.Encrypted, &[]part{}
			}
			if t.Text != "" {
				*thought.Summary = append(*thought.Summary, part{Type: "summary_text", Text: t.Text})
			}
		case piece.Call != nil:
			message(b, &said)
			calls = append(calls, piece)
			b.Add("", callItem(piece))
		case piece.Opaque != nil && !within(piece):
			message(b, &said)
			b.Raw("", piece.Opaque)
		default:
			if phase := wire.ThoughtOf(piece.Part).Phase; phase != said.Phase {
				message(b, &said)
				said.Phase = phase
			}
			if piece.Opaque != nil {
				said.Content = append(said.Content, piece.Opaque)
			} else {
				said.Content = append(said.Content, part{Type: "output_text", Text: piece.Words()})
			}
		}
	}
	message(b, &said)
	for _, piece := range calls {
		b.Add("", output(piece))
	}
}

// custom reports whether a call is to a tool with free text instead of arguments, and that text.
func custom(piece wire.Piece) (string, bool) {
	if wire.ThoughtOf(piece.Part).Field != "custom_tool_call" {
		return "", false
	}
	text := wire.ValueOf(piece.Call.Input).Get("input")
	return text.String(), text.Kind() == '"'
}

func callItem(piece wire.Piece) item {
	call := piece.Call
	if input, ok := custom(piece); ok {
		return item{Type: "custom_tool_call", CallID: call.ID, Name: call.Name, Input: input}
	}
	return item{Type: "function_call", CallID: call.ID, Name: call.Name, Arguments: string(call.Input)}
}

func output(piece wire.Piece) item {
	call := piece.Call
	i := item{Type: "function_call_output", CallID: call.ID, Output: outputOf(call)}
	if _, ok := custom(piece); ok {
		i.Type = "custom_tool_call_output"
	}
	return i
}

// outputOf is the result of a call: a text, or a list of texts and media.
func outputOf(call *wire.Call) any {
	switch {
	case call.Original != nil:
		return call.Original
	case len(call.Media)+len(call.Rest) == 0:
		return call.Result
	}
	var parts []any
	if call.Result != "" {
		parts = append(parts, part{Type: "input_text", Text: call.Result})
	}
	for _, m := range call.Media {
		parts = append(parts, media(m))
	}
	for _, raw := range call.Rest {
		parts = append(parts, raw)
	}
	return parts
}
