package transport

import (
	"slices"

	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/format/body"
	"github.com/winnowhq/winnow/plan/pivot"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/text/span"
	"github.com/winnowhq/winnow/wire"
)

// maxMarks is how many cache marks a request to Anthropic may have.
const maxMarks = 4

// marked is a body with one more cache mark if something in the middle of it is left out for the
// first time: in front of that, so that the provider finds there what its cache still has. It looks
// for it at marks, and back from them over 20 blocks; the client's marks are at the end, behind the
// change. Without it the whole conversation would be written again.
//
// The mark is no content: neither the cache nor signatures depend on where it is. A request that
// has as many marks as it may have stays as it is.
func marked(edited []byte, doc *format.Document, answered int, state store.State) []byte {
	n := doc.Native.(*body.Native)
	at := changedAt(n.Decoded, answered, state)
	if n.Dialect.Kind != wire.Anthropic || at <= 0 {
		return edited
	}
	root := wire.ValueOf(edited)
	elements := slices.Collect(root.Get(n.Dialect.Form.List).Values())
	at -= len(n.Decoded.Elements) - len(elements) // what is folded stands in front of it
	for at--; at >= 0 && at < len(elements); at-- {
		block, found := last(elements[at])
		if !found {
			continue
		}
		marks, next := marksOf(root, block.Start)
		if marks >= maxMarks || next.Empty() || !block.Get("cache_control").Empty() {
			return edited
		}
		with := slices.Concat([]byte(`,"cache_control":`), next.Bytes())
		return span.Splice(edited, span.Edit{Span: span.Span{Start: block.End - 1, End: block.End - 1}, With: with})
	}
	return edited
}

// changedAt is the element of a body in which the first thing is that was left out since the newest
// answer, and that the cache has; -1 if there is none. answered counts the messages up to that
// answer.
func changedAt(d *wire.Decoded, answered int, state store.State) int {
	at := -1
	for _, r := range slices.Backward(state.Receipts) {
		if r.Log < answered {
			break
		}
		if r.Kind != pivot.Pruning || r.Rewritten == 0 {
			continue
		}
		for _, e := range r.Committed {
			place, known := d.Places[e.Part]
			in := place.Element
			if e.Field == rule.Output || e.Field == rule.Error || e.Field == rule.Attachments {
				in = place.ResultElement
			}
			if known && (at < 0 || in < at) {
				at = in
			}
		}
	}
	return at
}

// last is the last block of a message, if that may be marked.
func last(message wire.Value) (block wire.Value, ok bool) {
	for block = range message.Get("content").Values() {
	}
	switch block.Get("type").String() {
	case "text":
		ok = block.Get("text").String() != ""
	case "tool_use", "tool_result", "image", "document":
		ok = true
	}
	return block, ok
}

// marksOf is how many cache marks a request has, and the first one behind a place.
func marksOf(root wire.Value, place int) (n int, next wire.Value) {
	look := func(blocks wire.Value) {
		for block := range blocks.Values() {
			if mark := block.Get("cache_control"); mark.Kind() == '{' {
				if n++; mark.Start > place && (next.Empty() || mark.Start < next.Start) {
					next = mark
				}
			}
		}
	}
	look(root.Get("tools"))
	look(root.Get("system"))
	for message := range root.Get("messages").Values() {
		look(message.Get("content"))
	}
	if mark := root.Get("cache_control"); mark.Kind() == '{' { // stands for one on the last block
		if n++; next.Empty() {
			next = mark
		}
	}
	return n, next
}
