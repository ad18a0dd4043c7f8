// Package gemini reads and writes conversations in the JSON of Google's Gemini API.
package gemini

import (
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/text/span"
	"github.com/winnowhq/winnow/wire"
)

type instruction struct {
	Parts []part `json:"parts"`
}

type config struct {
	MaxOutputTokens int `json:"maxOutputTokens"`
}

// head is a body without its contents. The API has the model in the URL.
func head(b wire.Body) any {
	h := struct {
		System *instruction   `json:"systemInstruction,omitzero"`
		Tools  jsontext.Value `json:"tools,omitzero"`
		Config *config        `json:"generationConfig,omitzero"`
	}{Tools: b.Tools}
	if b.System != "" {
		h.System = &instruction{[]part{{Text: b.System}}}
	}
	if b.MaxTokens > 0 {
		h.Config = &config{b.MaxTokens}
	}
	return h
}

// skipSignature replaces the signature of a call that Gemini did not make itself. Models from
// Gemini 3 on refuse the first call of a step without signature; Google documents this value for
// calls that come from elsewhere.
const skipSignature = "skip_thought_signature_validator"

// Encode writes messages, already a view: what the model says in a row is one content, and the
// responses to its calls are one content of the user's that follows at once. Media that tools
// returned follow the responses, under a caption. The user's messages are contents of their own.
// Thought signatures go along where the model of the options wrote them.
//
// One more message in the view leaves all but the last content as they are to the byte; the last
// one grows at its end when it is the model's and the model goes on.
func Encode(messages []session.Message, o wire.Options) (wire.Body, error) {
	return new(wire.Elements).Encode(messages, o, Form)
}

// The roles of a body.
const (
	fromUser  = "user"
	fromModel = "model"
)

// Form is how the API writes a body down.
var Form = &wire.Form{
	Head: head, List: "contents",
	Own: prefix, Content: "parts", Said: user, Answered: model, Opening: fromModel, User: fromUser,
	Text: func(s string) any { return part{Text: s} },
}

// prefix begins the part type of parts that only this API understands.
const prefix = "gemini/"

type part struct {
	Text      string  `json:"text,omitzero"`
	Thought   bool    `json:"thought,omitzero"`
	Inline    *inline `json:"inlineData,omitzero"`
	File      *file   `json:"fileData,omitzero"`
	Call      *call   `json:"functionCall,omitzero"`
	Response  any     `json:"functionResponse,omitzero"` // a response, or as it came
	Signature string  `json:"thoughtSignature,omitzero"`
}

type inline struct {
	MimeType string `json:"mimeType"`
	Data     string `json:"data"`
}

type file struct {
	MimeType string `json:"mimeType,omitzero"`
	FileURI  string `json:"fileUri"`
}

type call struct {
	ID   string         `json:"id"`
	Name string         `json:"name"`
	Args jsontext.Value `json:"args"`
}

type response struct {
	ID       string           `json:"id,omitzero"`
	Name     string           `json:"name"`
	Response result           `json:"response"`
	Parts    []jsontext.Value `json:"parts,omitzero"`
}

type result struct {
	Output *string `json:"output,omitzero"`
	Error  *string `json:"error,omitzero"`
}

func media(m wire.Media) part {
	switch {
	case m.URL != "", m.AtGoogle():
		return part{File: &file{m.Mime, m.DataURL()}}
	case m.Data != "" && takes(m):
		return part{Inline: &inline{m.Mime, m.Data}}
	}
	return part{Text: m.Line()}
}

// takes reports whether the API takes the bytes of a media of this type.
func takes(m wire.Media) bool {
	switch m.Mime {
	case "image/heic", "image/heif":
		return true
	case "image/gif":
		return false
	}
	return m.Common() || m.Is("audio") || m.Is("video")
}

func user(b *wire.Blocks, entry wire.Entry, _ wire.Options) {
	b.Apart()
	for _, piece := range entry.Pieces {
		switch {
		case piece.Media != nil:
			b.Add(fromUser, media(*piece.Media))
		case piece.Opaque != nil:
			b.Raw(fromUser, piece.Opaque)
		default:
			b.Add(fromUser, part{Text: piece.Text})
		}
	}
}

func model(b *wire.Blocks, entry wire.Entry, o wire.Options) {
	stub := strings.HasPrefix(o.Model, "gemini-3") // the first call needs a signature
	var calls []*wire.Call
	for _, piece := range entry.Pieces {
		signature := ""
		if entry.Same && piece.Part != nil {
			signature = wire.ThoughtOf(piece.Part).Google
		}
		switch {
		case piece.Thought != nil:
			if signature != "" && !wire.Blank(piece.Thought.Text) {
				b.Add(fromModel, part{Text: piece.Thought.Text, Thought: true, Signature: signature})
			}
		case piece.Call != nil:
			if signature == "" && stub && len(calls) == 0 {
				signature = skipSignature
			}
			calls = append(calls, piece.Call)
			b.Add(fromModel, part{Call: &call{piece.Call.ID, piece.Call.Name, piece.Call.Input}, Signature: signature})
		case piece.Opaque != nil:
			b.Raw(fromModel, piece.Opaque)
		case piece.Media != nil:
			b.Add(fromModel, media(*piece.Media))
		default:
			b.Add(fromModel, part{Text: piece.Text, Signature: signature})
		}
	}
	if len(calls) > 0 {
		b.Apart()
		responses(b, calls)
	}
}

// answer is the response to a call, without its media.
func answer(c *wire.Call) response {
	r := response{ID: c.ID, Name: c.Name, Response: result{Output: &c.Result}, Parts: c.Rest}
	if c.Failed {
		r.Response = result{Error: &c.Result}
	}
	return r
}

func responses(b *wire.Blocks, calls []*wire.Call) {
	var returned []wire.Media
	for _, c := range calls {
		if c.Original.Kind() == '{' { // it has its media in itself
			raw := span.Set(c.Original, "", span.Quote(c.Name), "name")
			b.Add(fromUser, part{Response: jsontext.Value(span.Set(raw, "", span.Quote(c.ID), "id"))})
			continue
		}
		b.Add(fromUser, part{Response: answer(c)})
		returned = append(returned, c.Media...)
	}
	if len(returned) > 0 {
		b.Add(fromUser, part{Text: wire.Returned})
	}
	for _, m := range returned {
		b.Add(fromUser, media(m))
	}
}
