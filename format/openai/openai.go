// Package openai reads and writes requests to OpenAI's APIs, or to a server that speaks them: plain
// request bodies of Chat Completions and of Responses, bare lists of their messages or items, and
// JSON Lines of recorded requests. Which of the two a file holds is told by its content.
package openai

import (
	"io"

	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/format/body"
	"github.com/winnowhq/winnow/wire/openaichat"
	"github.com/winnowhq/winnow/wire/responses"
)

// Format reads and writes bodies of both APIs. The zero value is ready; it writes sessions that
// come from elsewhere as Chat Completions, which more servers speak.
type Format struct {
	// Responses makes new bodies requests to the Responses API.
	Responses bool
}

var _ format.Format = Format{}

// Name is "openai".
func (Format) Name() string { return "openai" }

// Title names the format for people.
func (Format) Title() string {
	return "OpenAI Chat Completions or Responses request body (JSON, or JSON Lines of recorded requests)"
}

// Detect reports whether a file begins like a body of one of these APIs, or like a recording of
// requests to them.
func (Format) Detect(head []byte) bool {
	kind := body.Sniff(head)
	return kind == body.Chat || kind == body.Responses
}

// Read reads a body; body.Read says which request of a recording is the session.
func (Format) Read(src []byte) (*format.Document, error) {
	return body.Read(src, chat(), items())
}

// Write writes a change into the body that it was read from, or a new body; body.Write says what
// stays and what is not kept.
func (f Format) Write(w io.Writer, from *format.Document, change format.Change) error {
	if f.Responses {
		return body.Write(w, from, change, items())
	}
	return body.Write(w, from, change, chat())
}

func chat() body.Dialect {
	return body.Dialect{
		Kind: body.Chat, Format: Format{}.Name(), List: "messages", Decode: openaichat.Decode, Check: openaichat.Check,
		Encode: openaichat.Encode,
		Block:  func(_, text string) []byte { return body.TextBlock("text", text) },
	}
}

func items() body.Dialect {
	return body.Dialect{
		Kind: body.Responses, Format: Format{}.Name(), List: "input", Decode: responses.Decode, Check: responses.Check,
		Encode: responses.Encode,
		Block: func(role, text string) []byte {
			if role == "assistant" {
				return body.TextBlock("output_text", text)
			}
			return body.TextBlock("input_text", text)
		},
	}
}
