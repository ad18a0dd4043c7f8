// Package protocols has the functions of every protocol in one table.
package protocols

import (
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/wire"
	"github.com/winnowhq/winnow/wire/anthropic"
	"github.com/winnowhq/winnow/wire/gemini"
	"github.com/winnowhq/winnow/wire/openaichat"
	"github.com/winnowhq/winnow/wire/responses"
)

// Codec reads and writes one protocol; its package says what each function does.
type Codec struct {
	Form   *wire.Form
	Encode func(messages []session.Message, o wire.Options) (wire.Body, error)
	Decode func(body []byte) *wire.Decoded
	Check  func(body []byte) error
	Stream func(hear func(text string)) wire.Stream
}

// Of is the codec of a protocol; that of an unknown one has no functions.
func Of(p wire.Protocol) Codec {
	switch p {
	case wire.Anthropic:
		return Codec{anthropic.Form, anthropic.Encode, anthropic.Decode, anthropic.Check, anthropic.Stream}
	case wire.Chat:
		return Codec{openaichat.Form, openaichat.Encode, openaichat.Decode, openaichat.Check, openaichat.Stream}
	case wire.Responses:
		return Codec{responses.Form, responses.Encode, responses.Decode, responses.Check, responses.Stream}
	case wire.Gemini:
		return Codec{gemini.Form, gemini.Encode, gemini.Decode, gemini.Check, gemini.Stream}
	}
	return Codec{}
}
