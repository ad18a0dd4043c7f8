package anthropic

import (
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/wire"
)

// cacheControl is the member that asks the API to keep everything up to its block in the prompt cache for five minutes.
const cacheControl = `,"cache_control":{"type":"ephemeral"}`

// Cached returns the body with its last two messages of the user's marked for the prompt cache: the one that the request before
// this one ended with is read, the newest is written. Together with a marked system prompt that is three of the
// four marks that the API allows. A mark changes no cached content; bodies are compared before they are marked.
func (b Body) Cached() Body {
	from, marked := b.Marked()
	b.Messages = slices.Concat(b.Messages[:from], marked)
	return b
}

// Marked returns the messages of Cached from the first on that has a mark, and its position.
func (b Body) Marked() (from int, messages []jsontext.Value) {
	from = len(b.Messages)
	marks := map[int]jsontext.Value{}
	for i := len(b.Messages) - 1; i >= 0 && len(marks) < 2; i-- {
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
		from, marks[i] = i, wire.Splice(text, []wire.Edit{{Span: at, With: []byte(cacheControl)}})
	}
	messages = slices.Clone(b.Messages[from:])
	for i, marked := range marks {
		messages[i-from] = marked
	}
	return from, messages
}
