package anthropic

import (
	"bytes"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/wire"
	messages "github.com/winnowhq/winnow/wire/anthropic"
)

const cacheControl = `"cache_control":{"type":"ephemeral"}`

// maxMarks is how many marks for the prompt cache the API takes in one request.
const maxMarks = 4

// around writes a body without its messages.
func around(b messages.Body) ([]byte, error) {
	b.Messages = nil
	return b.JSON()
}

// marked writes a body without its messages, and those in two lists, with marks for the prompt cache: at the last two messages of the user's, at the system prompt and at the last
// tool, in this order of precedence where the tools bring marks of their own.
func marked(b messages.Body) (body []byte, plain, marked []jsontext.Value, err error) {
	left := maxMarks - bytes.Count(b.Tools, []byte(`"cache_control"`))
	plain = b.Messages
	if left >= 2 {
		var from int
		from, marked = b.Marked()
		plain = plain[:from]
		left -= 2
	}
	if body, err = around(b); err != nil || left <= 0 {
		return body, plain, marked, err
	}
	var edits []wire.Edit
	root := wire.Root(body)
	if system := wire.Member(body, root, "system"); !system.Empty() {
		block := slices.Concat([]byte(`[{"type":"text","text":`), system.Of(body), []byte(`,`+cacheControl+`}]`))
		edits = append(edits, wire.Edit{Span: system, With: block})
		left--
	}
	var last wire.Span
	for tool := range wire.Values(body, wire.Member(body, root, "tools")) {
		last = tool
	}
	if left > 0 && wire.Kind(body, last) == '{' && wire.Member(body, last, "cache_control").Empty() {
		edits = append(edits, wire.Edit{Span: wire.Span{Start: last.End - 1, End: last.End - 1}, With: []byte("," + cacheControl)})
	}
	return wire.Splice(body, edits), plain, marked, nil
}
