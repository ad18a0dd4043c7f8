// Package openai answers: what session is in a request to OpenAI's APIs, or to a server that speaks them? It reads and writes
// plain request bodies of Chat Completions and of Responses, bare lists of their messages or items, and JSON Lines of
// recorded requests. Which of the two a file holds is told by its content.
package openai

import (
	"io"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/format/body"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/wire"
	"github.com/winnowhq/winnow/wire/openaichat"
	"github.com/winnowhq/winnow/wire/responses"
)

// Format reads and writes bodies of both APIs. The zero value is ready; it writes sessions that come from elsewhere as Chat
// Completions, which more servers speak.
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

// Detect reports whether a file begins like a body of one of these APIs, or like a recording of requests to them.
func (Format) Detect(head []byte) bool {
	kind := body.Sniff(head)
	return kind == body.Chat || kind == body.Responses
}

// Read reads a body; body.Read says which request of a recording is the session.
func (Format) Read(src []byte) (*format.Document, error) {
	return body.Read(src, chat(), items())
}

// Write writes a change into the body that it was read from, or a new body; body.Write says what stays and what is not kept.
func (f Format) Write(w io.Writer, from *format.Document, change format.Change) error {
	if f.Responses {
		return body.Write(w, from, change, items())
	}
	return body.Write(w, from, change, chat())
}

func chat() body.Dialect {
	return body.Dialect{
		Kind: body.Chat, Format: Format{}.Name(), List: "messages", Decode: openaichat.Decode, Check: openaichat.Check,
		Encode: func(messages []session.Message, o wire.Options) ([]jsontext.Value, []byte, error) {
			b, err := openaichat.Encode(messages, o)
			if err != nil {
				return nil, nil, err
			}
			text, err := b.JSON()
			return b.Elements, text, err
		},
		Block: func(_, text string) []byte { return block("text", text) },
	}
}

func items() body.Dialect {
	return body.Dialect{
		Kind: body.Responses, Format: Format{}.Name(), List: "input", Decode: responses.Decode, Check: responses.Check,
		Encode: func(messages []session.Message, o wire.Options) ([]jsontext.Value, []byte, error) {
			b, err := responses.Encode(messages, o)
			if err != nil {
				return nil, nil, err
			}
			text, err := b.JSON()
			return b.Elements, text, err
		},
		Block: func(role, text string) []byte {
			if role == "assistant" {
				return block("output_text", text)
			}
			return block("input_text", text)
		},
	}
}

func block(kind, text string) []byte {
	return append(append([]byte(`{"type":"`+kind+`","text":`), wire.Quote(text)...), '}')
}
