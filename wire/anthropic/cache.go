package anthropic

import (
	"slices"

	"github.com/winnowhq/winnow/wire"
)

// cacheControl is the member that asks the API to keep everything up to its block in the prompt cache for five minutes.
const cacheControl = `,"cache_control":{"type":"ephemeral"}`

// Cached returns the body with its last two messages of the user's marked for the prompt cache: the one that the request before
// this one ended with is read, the newest is written. Together with a marked system prompt that is three of the
// four marks that the API allows. A mark changes no cached content; bodies are compared before they are marked.
func (b Body) Cached() Body {
	b.Messages = slices.Clone(b.Messages)
	for i, left := len(b.Messages)-1, 2; i >= 0 && left > 0; i-- {
		text := []byte(b.Messages[i])
		root := wire.Root(text)
		if wire.String(text, wire.Member(text, root, "role")) != "user" {
			continue
		}
		var last wire.Span
		for at := range wire.Values(text, wire.Member(text, root, "content")) {
			last = at
		}
		if wire.Kind(text, last) != '{' || !wire.Member(text, last, "cache_control").Empty() {
			continue
		}
		at := wire.Span{Start: last.End - 1, End: last.End - 1}
		b.Messages[i] = wire.Splice(text, []wire.Edit{{Span: at, With: []byte(cacheControl)}})
		left--
	}
	return b
}
