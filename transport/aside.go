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
func (x *exchange) holds(doc *format.Document) bool {
	return x.line.frozen != "" || x.model.BindingUnknown && reasons(doc.Session.Messages) || isCompacted(doc)
}

// isElsewhere reports whether the provider keeps what the conversation begins with: the request has
// only what is new.
func isElsewhere(doc *format.Document) bool {
	root := around(doc.Native.(*body.Native).Decoded)
	for _, name := range []string{"previous_response_id", "conversation"} {
		if kind := root.Get(name).Kind(); kind != 0 && kind != 'n' {
			return true
		}
	}
	return false
}

// isCompacted reports whether a conversation holds what the provider compacted of it, or asks for
// that. What it holds then is opaque, may be bound to what stands behind it, and is not folded.
func isCompacted(doc *format.Document) bool {
	d := doc.Native.(*body.Native).Decoded
	for _, mark := range []string{`"type":"compaction`, `"type": "compaction`, `"type":"context_compaction"`,
		`"type": "context_compaction"`} {
		if bytes.Contains(d.List.Of(d.Text), []byte(mark)) { // within a text its quotes would be escaped
			return true
		}
	}
	return around(d).Get("compaction").Kind() == '{'
}
