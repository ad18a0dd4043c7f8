package anthropic

import (
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/text/span"
	"github.com/winnowhq/winnow/wire"
)

// CacheControl is the member that asks the API to keep everything up to its block in the prompt
// cache for five minutes, with the comma before it.
const CacheControl = `,"cache_control":{"type":"ephemeral"}`

// Cached returns the messages of a body with the last two of the user's marked for the prompt
// cache: the one that the request before this one ended with is read, the newest is written.
// Together with a marked system prompt that is three of the four marks that the API allows. A mark
// changes no cached content; bodies are compared before they are marked.
func Cached(messages []jsontext.Value) []jsontext.Value {
	messages = slices.Clone(messages)
	marks := 0
	for i := len(messages) - 1; i >= 0 && marks < 2; i-- {
		message := wire.ValueOf(messages[i])
		if message.Get("role").String() != "user" {
			continue
		}
		var last wire.Value
		for block := range message.Get("content").Values() {
			last = block
		}
		if edits := Mark(last); edits != nil {
			messages[i] = span.Splice(messages[i], edits...)
			marks++
		}
	}
	return messages
}

// Mark is the edit that marks a block or a tool for the prompt cache; nil if it is not an object,
// or is marked already.
func Mark(block wire.Value) []span.Edit {
	if block.Kind() != '{' || !block.Get("cache_control").Empty() {
		return nil
	}
	return []span.Edit{{Span: span.Span{Start: block.End - 1, End: block.End - 1}, With: []byte(CacheControl)}}
}
