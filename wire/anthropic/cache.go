package anthropic

import (
	"slices"

	"github.com/winnowhq/winnow/wire"
)

// CacheControl is the member that asks the API to keep everything up to its block in the prompt cache for five minutes, with
// the comma before it.
const CacheControl = `,"cache_control":{"type":"ephemeral"}`

// Cached returns the body with its last two messages of the user's marked for the prompt cache: the one that the request before
// this one ended with is read, the newest is written. Together with a marked system prompt that is three of the
// four marks that the API allows. A mark changes no cached content; bodies are compared before they are marked.
func (b Body) Cached() Body {
	b.Messages = slices.Clone(b.Messages)
	marks := 0
	for i := len(b.Messages) - 1; i >= 0 && marks < 2; i-- {
		text := []byte(b.Messages[i])
		root := wire.Root(text)
		if wire.String(text, wire.Member(text, root, "role")) != "user" {
			continue
		}
		var last wire.Span
		for at := range wire.Values(text, wire.Member(text, root, "content")) {
			last = at
		}
		if edits := Mark(text, last); edits != nil {
			b.Messages[i] = wire.Splice(text, edits)
			marks++
		}
	}
	return b
}

// Mark is the edit that marks a block or a tool for the prompt cache; nil if it is not an object, or is marked already.
func Mark(text []byte, block wire.Span) []wire.Edit {
	if wire.Kind(text, block) != '{' || !wire.Member(text, block, "cache_control").Empty() {
		return nil
	}
	return []wire.Edit{{Span: wire.Span{Start: block.End - 1, End: block.End - 1}, With: []byte(CacheControl)}}
}
