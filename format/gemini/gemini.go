// Package gemini reads and writes requests to Gemini's API: bodies of generateContent and
// streamGenerateContent, and JSON Lines of recorded requests. Bare lists of contents are Gemini
// CLI's.
package gemini

import (
	"io"

	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/format/body"
	"github.com/winnowhq/winnow/span"
	"github.com/winnowhq/winnow/wire/gemini"
)

// Format reads and writes bodies of this API. The zero value is ready. A body does not name its
// model: the address did.
type Format struct{}

var _ format.Format = Format{}

// Name is "gemini".
func (Format) Name() string { return "gemini" }

// Title names the format for people.
func (Format) Title() string {
	return "Gemini generateContent request body (JSON, or JSON Lines of recorded requests)"
}

// Detect reports whether a file begins like a body of this API, or like a recording of requests to
// it.
func (Format) Detect(head []byte) bool { return body.Sniff(head) == body.Gemini }

// Read reads a body; body.Read says which request of a recording is the session.
func (Format) Read(src []byte) (*format.Document, error) { return body.Read(src, dialect()) }

// Write writes a change into the body that it was read from, or a new body; body.Write says what
// stays and what is not kept.
func (Format) Write(w io.Writer, from *format.Document, change format.Change) error {
	return body.Write(w, from, change, dialect())
}

func dialect() body.Dialect {
	return body.Dialect{
		Kind: body.Gemini, Format: Format{}.Name(), List: "contents", Content: "parts", Merges: true,
		Decode: gemini.Decode, Check: gemini.Check, Encode: gemini.Encode,
		Block: func(_, text string) []byte { return span.Make("text", text) },
	}
}
