package llmtest

import (
	"strings"

	"github.com/winnowhq/winnow/wire"
	"github.com/winnowhq/winnow/wire/anthropic"
	"github.com/winnowhq/winnow/wire/gemini"
	"github.com/winnowhq/winnow/wire/openaichat"
	"github.com/winnowhq/winnow/wire/responses"
)

// Protocol is a way in which a conversation goes over the wire.
type Protocol string

const (
	Anthropic Protocol = "anthropic"        // Messages, POST …/messages
	Chat      Protocol = "openai-chat"      // Chat Completions, POST …/chat/completions
	Responses Protocol = "openai-responses" // POST …/responses
	Gemini    Protocol = "gemini"           // POST …/models/MODEL:generateContent and :streamGenerateContent
)

// Protocols lists all of them.
func Protocols() []Protocol { return []Protocol{Anthropic, Chat, Responses, Gemini} }

// route is what a path asks for.
type route struct {
	protocol Protocol
	model    string // of Gemini, where the path names it
	stream   bool   // of Gemini
	count    bool   // only count the tokens of the prompt
}

// routeOf reads a path; anything before the provider's own part of it is ignored.
func routeOf(path string) (route, bool) {
	path = strings.TrimSuffix(path, "/")
	for _, r := range []struct {
		suffix string
		route
	}{
		{"/messages", route{protocol: Anthropic}},
		{"/messages/count_tokens", route{protocol: Anthropic, count: true}},
		{"/chat/completions", route{protocol: Chat}},
		{"/responses", route{protocol: Responses}},
		{"/responses/input_tokens", route{protocol: Responses, count: true}},
	} {
		if strings.HasSuffix(path, r.suffix) {
			return r.route, true
		}
	}
	_, last, found := strings.Cut(path, "/models/")
	model, method, called := strings.Cut(last, ":")
	r := route{protocol: Gemini, model: model, stream: method == "streamGenerateContent",
		count: method == "countTokens"}
	return r, found && called && model != "" && (r.stream || r.count || method == "generateContent")
}

func (p Protocol) decode(body []byte) *wire.Decoded {
	switch p {
	case Anthropic:
		return anthropic.Decode(body)
	case Chat:
		return openaichat.Decode(body)
	case Responses:
		return responses.Decode(body)
	}
	return gemini.Decode(body)
}

func (p Protocol) order(body []byte) error {
	switch p {
	case Anthropic:
		return anthropic.Check(body)
	case Chat:
		return openaichat.Check(body)
	case Responses:
		return responses.Check(body)
	}
	return gemini.Check(body)
}
