package body

import (
	"io"
	"slices"

	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/text/span"
	"github.com/winnowhq/winnow/wire"
	"github.com/winnowhq/winnow/wire/protocols"
)

// AnthropicBody reads and writes requests to Anthropic's Messages API: plain request bodies, bare
// lists of their messages, and JSON Lines of recorded requests. The zero value is ready.
type AnthropicBody struct{}

// OpenAIBody reads and writes requests to OpenAI's APIs, or to a server that speaks them: plain
// request bodies of Chat Completions and of Responses, bare lists of their messages or items, and
// JSON Lines of recorded requests. Which of the two a file holds is told by its content. The zero
// value is ready; it writes sessions that come from elsewhere as Chat Completions, which more
// servers speak.
type OpenAIBody struct {
	// Responses makes new bodies requests to the Responses API.
	Responses bool
}

// GeminiBody reads and writes requests to Gemini's API: bodies of generateContent and
// streamGenerateContent, and JSON Lines of recorded requests. Bare lists of contents are Gemini
// CLI's. The zero value is ready. A body does not name its model: the address did.
type GeminiBody struct{}

var (
	_ format.Format = AnthropicBody{}
	_ format.Format = OpenAIBody{}
	_ format.Format = GeminiBody{}
)

// Name is "anthropic".
func (AnthropicBody) Name() string { return "anthropic" }

// Name is "openai".
func (OpenAIBody) Name() string { return "openai" }

// Name is "gemini".
func (GeminiBody) Name() string { return "gemini" }

// Title names the format for people.
func (AnthropicBody) Title() string {
	return "Anthropic Messages request body (JSON, or JSON Lines of recorded requests)"
}

// Title names the format for people.
func (OpenAIBody) Title() string {
	return "OpenAI Chat Completions or Responses request body (JSON, or JSON Lines of recorded requests)"
}

// Title names the format for people.
func (GeminiBody) Title() string {
	return "Gemini generateContent request body (JSON, or JSON Lines of recorded requests)"
}

// Detect reports whether a file begins like a body of this API, or like a recording of requests to
// it.
func (AnthropicBody) Detect(head []byte) bool { return Sniff(head) == wire.Anthropic }

// Detect reports whether a file begins like a body of one of these APIs, or like a recording of
// requests to them.
func (OpenAIBody) Detect(head []byte) bool {
	kind := Sniff(head)
	return kind == wire.Chat || kind == wire.Responses
}

// Detect reports whether a file begins like a body of this API, or like a recording of requests to
// it.
func (GeminiBody) Detect(head []byte) bool { return Sniff(head) == wire.Gemini }

// Read reads a body; the function Read says which request of a recording is the session.
func (AnthropicBody) Read(src []byte) (*format.Document, error) {
	return Read(src, dialectOf(wire.Anthropic))
}

// Read reads a body; the function Read says which request of a recording is the session.
func (OpenAIBody) Read(src []byte) (*format.Document, error) {
	return Read(src, dialectOf(wire.Chat), dialectOf(wire.Responses))
}

// Read reads a body; the function Read says which request of a recording is the session.
func (GeminiBody) Read(src []byte) (*format.Document, error) {
	return Read(src, dialectOf(wire.Gemini))
}

// Write writes a change into the body that it was read from, or a new body; the function Write says
// what stays and what is not kept.
func (AnthropicBody) Write(w io.Writer, from *format.Document, change format.Change) error {
	return Write(w, from, change, dialectOf(wire.Anthropic))
}

// Write writes a change into the body that it was read from, or a new body; the function Write says
// what stays and what is not kept.
func (f OpenAIBody) Write(w io.Writer, from *format.Document, change format.Change) error {
	if f.Responses {
		return Write(w, from, change, dialectOf(wire.Responses))
	}
	return Write(w, from, change, dialectOf(wire.Chat))
}

// Write writes a change into the body that it was read from, or a new body; the function Write says
// what stays and what is not kept.
func (GeminiBody) Write(w io.Writer, from *format.Document, change format.Change) error {
	return Write(w, from, change, dialectOf(wire.Gemini))
}

// Of is the dialect of a wire format; ok is false for an unknown kind.
func Of(kind wire.Protocol) (d Dialect, ok bool) {
	if !slices.Contains(wire.Protocols(), kind) {
		return Dialect{}, false
	}
	return dialectOf(kind), true
}

func dialectOf(kind wire.Protocol) Dialect {
	d := Dialect{Kind: kind, Codec: protocols.Of(kind), Format: OpenAIBody{}.Name(),
		Block: func(_, text string) []byte { return textBlock("text", text) }}
	switch kind {
	case wire.Anthropic:
		d.Format, d.Merges = AnthropicBody{}.Name(), true
	case wire.Responses:
		d.Block = func(role, text string) []byte {
			if role == "assistant" {
				return textBlock("output_text", text)
			}
			return textBlock("input_text", text)
		}
	case wire.Gemini:
		d.Format, d.Merges = GeminiBody{}.Name(), true
		d.Block = func(_, text string) []byte { return span.Make("text", text) }
	}
	return d
}

// textBlock writes a text as a block of this type.
func textBlock(kind, text string) []byte { return span.Make("type", kind, "text", text) }
