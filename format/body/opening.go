package body

import (
	"bytes"
	"slices"

	"github.com/winnowhq/winnow/text/span"
	"github.com/winnowhq/winnow/wire"
)

// opening is the beginning of a body up to its list, without the system prompt and the tools, which
// are long: they need not be read again with every request.
type opening struct {
	text          []byte // nil: not made yet
	tools, system bool   // they were taken out
}

// long is how many bytes a member of it takes before it is worth being taken out.
const long = 512

// opening is that of a body. What is read with it in front must be restored.
func (n *Native) opening() opening {
	if n.short.text != nil {
		return n.short
	}
	d := n.Decoded
	text := d.Text[:d.List.Start+1]
	n.short = opening{text: slices.Clone(text)}
	if names(d.Text[d.List.End:]) {
		return n.short
	}
	var edits []span.Edit
	for m := range span.Members(text, span.All(text)) {
		if m.Cut || m.Value.Len() < long {
			continue
		}
		switch name := string(m.Name); {
		case name == "tools" && span.Kind(m.Value.Of(text)) == '[':
			n.short.tools = true
		case name == "system" || name == "instructions":
			n.short.system = true
		default:
			continue
		}
		edits = append(edits, span.Edit{Span: m.Value, With: []byte(`[]`)})
	}
	n.short.text = span.Splice(n.short.text, edits...)
	return n.short
}

// names reports whether what is behind a list may name what was taken out before it.
func names(text []byte) bool {
	return bytes.Contains(text, []byte(`"tools"`)) || bytes.Contains(text, []byte(`"system"`)) ||
		bytes.Contains(text, []byte(`"instructions"`))
}

// restore puts back what was taken out of a body that begins like the one that was read before. It
// reports whether it could.
func (h opening) restore(rest, before *wire.Decoded) bool {
	if !h.tools && !h.system {
		return true
	}
	if rest.List.Empty() || names(rest.Text[rest.List.End:]) {
		return false
	}
	if h.tools {
		rest.Tools = before.Tools
	}
	if h.system {
		rest.System = before.System
	}
	return true
}
