package transport

import (
	"bytes"
	"slices"

	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/format/body"
	"github.com/winnowhq/winnow/session"
)

// isAside reports whether a request is one that clients make beside their conversations, for a
// title or to sort what was said: it has no tools, and nothing was answered before. If a
// conversation begins so, it is known from its second request on.
func isAside(f *family, doc *format.Document) bool {
	d := doc.Native.(*body.Native).Decoded
	answered := slices.ContainsFunc(doc.Session.Messages, func(m session.Message) bool {
		return m.Role == session.Assistant
	})
	return len(f.lines) == 0 && !hasTools(d) && !answered
}

// holds reports whether nothing that was sent of a conversation may be left out. Of a model of
// which it is not known it is assumed that it binds its reasoning; of others the engine does what
// can be done.
func (x *exchange) holds(n *reading) bool {
	return x.line.frozen != "" || x.model.BindingUnknown && reasons(n.doc.Session.Messages) || n.isCompacted()
}

// isElsewhere reports whether the provider keeps what the conversation begins with: the request has
// only what is new. Gemini keeps it as cached content, for as long as whoever made that has said.
func isElsewhere(doc *format.Document) bool {
	root := around(doc.Native.(*body.Native).Decoded)
	for _, name := range []string{"previous_response_id", "conversation", "cachedContent", "cached_content"} {
		if kind := root.Get(name).Kind(); kind != 0 && kind != 'n' {
			return true
		}
	}
	return false
}

// isCompacted reports whether a conversation holds what the provider compacted of it, or asks for
// that. What it holds then is opaque, may be bound to what stands behind it, and is not folded.
func (n *reading) isCompacted() bool {
	return n.compacted >= 0 || around(n.doc.Native.(*body.Native).Decoded).Get("compaction").Kind() == '{'
}

// signs are where in a body something begins that counts wherever it stands, -1 where it does not
// stand: within a text its quotes would be escaped.
type signs struct {
	hour      int // a wish for a cache that lasts an hour
	compacted int // what the provider compacted, among the messages
}

// signsOf are the signs of a body. before are those of one that begins with the same bytes, as many
// as n tells.
func signsOf(n *body.Native, before signs) signs {
	d, same := n.Decoded, n.Same()
	if same == 0 {
		before = signs{-1, -1}
	}
	found := func(before, from, to int, words ...string) int {
		if 0 <= before && before < same {
			return before
		}
		from = max(from, same)
		text, first := d.Text[min(from, to):to], -1
		for _, word := range words {
			if at := bytes.Index(text, []byte(word)); at >= 0 && (first < 0 || from+at < first) {
				first = from + at
			}
		}
		return first
	}
	list := d.List
	m := signs{hour: found(before.hour, 0, len(d.Text), `"1h"`), compacted: -1}
	if found(before.compacted, list.Start, list.End, "compaction") >= 0 { // rarer than what is before it
		m.compacted = found(before.compacted, list.Start, list.End, `"type":"compaction`, `"type": "compaction`,
			`"type":"context_compaction"`, `"type": "context_compaction"`)
	}
	return m
}
