package llmtest

import (
	"strings"

	"github.com/winnowhq/winnow/wire"
)

// Protocol is a way in which a conversation goes over the wire.
type Protocol = wire.Protocol

const (
	Anthropic = wire.Anthropic // Messages, POST …/messages
	Chat      = wire.Chat      // Chat Completions, POST …/chat/completions
	Responses = wire.Responses // POST …/responses
	Gemini    = wire.Gemini    // POST …/models/MODEL:generateContent and :streamGenerateContent
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
