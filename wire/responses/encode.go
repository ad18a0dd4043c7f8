// Package responses answers: how does OpenAI's Responses API write a conversation down?
package responses

import (
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/wire"
)

// Body is a request body. Items are kept apart, each as its JSON, so that two bodies can be compared item by item.
type Body struct {
	Model        string
	MaxTokens    int // written as max_output_tokens
	Instructions string
	Tools        jsontext.Value
	Input        []jsontext.Value
}

// JSON writes the body down.
func (b Body) JSON() ([]byte, error) {
	return json.Marshal(struct {
		Model        string         `json:"model,omitzero"`
		MaxTokens    int            `json:"max_output_tokens,omitzero"`
		Instructions string         `json:"instructions,omitzero"`
		Tools        jsontext.Value `json:"tools,omitzero"`
		Input        jsontext.Value `json:"input"`
	}{b.Model, b.MaxTokens, b.Instructions, b.Tools, wire.Array(b.Input)}, session.ReadOptions())
}

// Encode writes messages, already a view, as items: a step is its reasoning, texts and calls in their order, then one
// output for each call. Reasoning goes along where the model of the options wrote it and its encrypted content is known: that alone
// needs nothing that the server stored. There is no place for errors; a failed call's output is its error's text.
//
// One more message in the view adds items at the end and changes none of those before, to the byte.
func Encode(messages []session.Message, o wire.Options) (Body, error) {
	e := encoder{}
	for _, entry := range wire.Entries(messages, o, prefix) {
		if entry.Role == session.User {
			e.user(entry)
		} else {
			e.assistant(entry)
		}
	}
	return Body{o.Model, o.MaxTokens, o.System, o.Tools, e.items}, e.err
}

type encoder struct {
	items []jsontext.Value
	err   error
}

type item struct {
	Type      string `json:"type"`
	ID        string `json:"id,omitzero"`
	Role      string `json:"role,omitzero"`
	Phase     string `json:"phase,omitzero"`
	Content   []part `json:"content,omitzero"`
	CallID    string `json:"call_id,omitzero"`
	Name      string `json:"name,omitzero"`
	Arguments string `json:"arguments,omitzero"`
	Input     any    `json:"input,omitzero"`  // a string
	Output    any    `json:"output,omitzero"` // a string, or []part

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
}

func (e *encoder) add(i item) {
	raw, err := json.Marshal(i, session.ReadOptions())
	if err != nil && e.err == nil {
		e.err = err
	}
	e.items = append(e.items, raw)
}

func media(m wire.Media) part {
	switch {
	case !m.Common(), m.Data == "" && m.URL == "":
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

func (e *encoder) user(entry wire.Entry) {
	said := item{Type: "message", Role: "user"}
	if entry.System {
		said.Role = "developer"
	}
	for _, piece := range entry.Pieces {
		switch {
		case piece.Media != nil:
			said.Content = append(said.Content, media(*piece.Media))
		case piece.Opaque != nil:
			e.message(&said)
			e.items = append(e.items, piece.Opaque)
		default:
			said.Content = append(said.Content, part{Type: "input_text", Text: piece.Text})
		}
	}
	e.message(&said)
}

// message writes what was said so far as one item.
func (e *encoder) message(said *item) {
	if len(said.Content) > 0 {
		e.add(*said)
		said.Content = nil
	}
}

// prefix begins the part type of items that only this API understands.
const prefix = "openai/responses."

func (e *encoder) assistant(entry wire.Entry) {
	var calls []wire.Piece
	said := item{Type: "message", Role: "assistant"}
	thought := item{Type: "reasoning"}
	think := func() {
		if thought.Summary != nil {
			e.add(thought)
			thought = item{Type: "reasoning"}
		}
	}
	for _, piece := range entry.Pieces {
		if piece.Thought == nil {
			think()
		}
		switch {
		case piece.Thought != nil:
			e.message(&said)
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
			e.message(&said)
			calls = append(calls, piece)
			e.add(callItem(piece))
		case piece.Opaque != nil:
			e.message(&said)
			e.items = append(e.items, piece.Opaque)
		default:
			if phase := wire.ThoughtOf(piece.Part).Phase; phase != said.Phase {
				e.message(&said)
				said.Phase = phase
			}
			said.Content = append(said.Content, part{Type: "output_text", Text: piece.Text})
		}
	}
	e.message(&said)
	for _, piece := range calls {
		e.add(output(piece))
	}
}

// custom reports whether a call is to a tool with free text instead of arguments, and that text.
func custom(piece wire.Piece) (string, bool) {
	if wire.ThoughtOf(piece.Part).Field != "custom_tool_call" {
		return "", false
	}
	input := []byte(piece.Call.Input)
	value := wire.Member(input, wire.Root(input), "input")
	return wire.String(input, value), wire.Kind(input, value) == '"'
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
	i := item{Type: "function_call_output", CallID: call.ID, Output: call.Result}
	if _, ok := custom(piece); ok {
		i.Type = "custom_tool_call_output"
	}
	if len(call.Media) == 0 {
		return i
	}
	var parts []part
	if call.Result != "" {
		parts = append(parts, part{Type: "input_text", Text: call.Result})
	}
	for _, m := range call.Media {
		parts = append(parts, media(m))
	}
	i.Output = parts
	return i
}
