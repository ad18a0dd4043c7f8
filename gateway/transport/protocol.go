package transport

import (
	"net/http"
	"strings"

	"github.com/winnowhq/winnow/text/span"
	"github.com/winnowhq/winnow/wire"
)

// protocol is a way to talk to a provider.
type protocol struct {
	kind     wire.Protocol
	provider string                       // as models are named: "anthropic"
	events   func(answer []byte) [][]byte // the events that an answer stands for that was not streamed
}

var providerProtocols = map[wire.Protocol]protocol{
	wire.Anthropic: {wire.Anthropic, "anthropic", messageEvents},
	wire.Chat:      {wire.Chat, "openai", chatEvents},
	wire.Responses: {wire.Responses, "openai", responseEvents},
	wire.Gemini:    {wire.Gemini, "google", geminiEvents},
}

// route tells protocol and purpose by method and address, whatever the spelling of that. Requests
// of which the provider keeps the history, or makes another one of it, are none of ours.
func route(r *http.Request) (protocol, wire.Purpose) {
	e, _ := wire.EndpointOf(r.Method, r.URL.Path)
	return providerProtocols[e.Protocol], e.Purpose
}

// addressed is the model that an address names, as Gemini's do: "…/models/MODEL:generateContent".
func addressed(path string) string {
	const models = "/models/"
	at := strings.Index(strings.ToLower(path), models)
	if at < 0 || at+len(models) > len(path) {
		return ""
	}
	name, _, _ := strings.Cut(path[at+len(models):], ":")
	return name
}

// geminiEvents are the events of an answer of Gemini: a stream that was not asked for as events is
// a list of them.
func geminiEvents(answer []byte) (events [][]byte) {
	root := wire.ValueOf(answer)
	if root.Kind() != '[' {
		return [][]byte{answer}
	}
	for event := range root.Values() {
		events = append(events, event.Bytes())
	}
	return events
}

// messageEvents are the events of an answer of the Messages API.
func messageEvents(answer []byte) [][]byte {
	root := wire.ValueOf(answer)
	events := [][]byte{span.Make("type", "message_start", "message", root.Bytes())}
	for block := range root.Get("content").Values() {
		events = append(events, span.Make("type", "content_block_start",
			"index", len(events)-1, "content_block", block.Bytes()))
	}
	return append(events,
		span.Make("type", "message_delta", "delta", root.Bytes(), "usage", root.Get("usage").Bytes(),
			contextManagement, root.Get(contextManagement).Bytes()),
		span.Make("type", "message_stop"))
}

// chatEvents are the events of an answer of Chat Completions: its message is what a stream brings
// in pieces, but for the numbers of its calls.
func chatEvents(answer []byte) [][]byte {
	root := wire.ValueOf(answer)
	var choices [][]byte
	for choice := range root.Get("choices").Values() {
		message := choice.Get("message")
		var calls [][]byte
		for call := range message.Get("tool_calls").Values() {
			calls = append(calls, span.Make("index", len(calls), "id", call.Get("id").Bytes(),
				"function", call.Get("function").Bytes()))
		}
		delta := message.Bytes()
		if calls != nil {
			delta = span.Update(delta, span.Array(calls), "tool_calls")
		}
		choices = append(choices, span.Make("index", choice.Get("index").Bytes(), "delta", delta,
			"finish_reason", choice.Get("finish_reason").Bytes()))
	}
	return [][]byte{
		span.Make("choices", span.Array(choices), "usage", root.Get("usage").Bytes(),
			"service_tier", root.Get("service_tier").Bytes()), []byte(wire.Done),
	}
}

// responseEvents are the events of an answer of the Responses API.
func responseEvents(answer []byte) [][]byte {
	root := wire.ValueOf(answer)
	var events [][]byte
	for item := range root.Get("output").Values() {
		events = append(events, span.Make("type", "response.output_item.done",
			"output_index", len(events), "item", item.Bytes()))
	}
	return append(events, span.Make("type", "response.completed", "response", root.Bytes()))
}
