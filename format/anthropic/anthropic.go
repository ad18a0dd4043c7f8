// Package anthropic reads and writes requests to Anthropic's Messages API: plain request bodies,
// bare lists of their messages, and JSON Lines of recorded requests.
package anthropic

import (
	"io"

	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/format/body"
	wireanthropic "github.com/winnowhq/winnow/wire/anthropic"
)

// Format reads and writes bodies of the Messages API. The zero value is ready.
type Format struct{}

var _ format.Format = Format{}

// Name is "anthropic".
func (Format) Name() string { return "anthropic" }

// Title names the format for people.
func (Format) Title() string {
	return "Anthropic Messages request body (JSON, or JSON Lines of recorded requests)"
}

// Detect reports whether a file begins like a body of this API, or like a recording of requests to
// it.
func (Format) Detect(head []byte) bool { return body.Sniff(head) == body.Anthropic }

// Read reads a body; body.Read says which request of a recording is the session.
func (Format) Read(src []byte) (*format.Document, error) {
	return body.Read(src, dialect())
}

// Write writes a change into the body that it was read from, or a new body; body.Write says what
// stays and what is not kept.
func (Format) Write(w io.Writer, from *format.Document, change format.Change) error {
	return body.Write(w, from, change, dialect())
}

func dialect() body.Dialect {
	return body.Dialect{
		Kind: body.Anthropic, Format: Format{}.Name(), List: "messages", Merges: true,
		Decode: wireanthropic.Decode, Check: wireanthropic.Check,
		Encode: wireanthropic.Encode,
		Block:  func(_, text string) []byte { return body.TextBlock("text", text) },
	}
}
