package codex

import (
	"bytes"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/text/span"
)

// pivot writes a compaction: a compacted line whose replacement_history is what the product goes on
// from, and behind it the product's own state, so that it does not introduce itself to the model
// once more. marker is nil if it was written before.
func (w *writer) pivot(summary int, marker *session.Message) error {
	m := &w.change.Session.Messages[summary]
	mk := mark{}
	pivot := m.ParentID
	if marker != nil {
		mk.Messages = append(mk.Messages, *marker)
		mk.Elisions = w.elisionsOf(marker)
	}
	mk.Messages = append(mk.Messages, *m)
	mk.Elisions = append(mk.Elisions, w.elisionsOf(m)...)

	end := int32(len(w.from.lines))
	tail, _ := w.window(summary)
	history := w.history(m, end, tail)
	text, _ := summaryItems(m)
	payload := span.Make("message", text, "replacement_history", span.Array(history))
	if err := w.line("compacted", payload, &mk); err != nil {
		return err
	}
	c := w.context(end)
	for _, at := range []int32{c.world, c.turn} {
		if at < 0 || len(c.items) == 0 {
			continue
		}
		l := &w.from.lines[at]
		text := l.text(w.src)
		if err := w.line(span.String(l.typ.Of(text)), l.payload.Of(text), &mark{Pivot: pivot}); err != nil {
			return err
		}
	}
	if count := w.count(end, len(span.Array(history))); count != nil {
		return w.line("event_msg", count, &mark{Pivot: pivot})
	}
	return nil
}

// tokenBytes is how many bytes of a request the product takes for a token.
const tokenBytes = 4

// count tells the product how full the window is with so many bytes of history: when it resumes, it
// decides by the last such event whether to compact. What requests took stays as it was. It is nil
// in a file without such events.
func (w *writer) count(before int32, size int) []byte {
	for i := before - 1; i >= 0; i-- {
		l := &w.from.lines[i]
		if l.kind != eventLine || l.damaged {
			continue
		}
		payload := l.payload.Of(l.text(w.src))
		if typeOf(payload) != "token_count" || len(span.Get(payload, "info", "last_token_usage")) == 0 {
			continue
		}
		used := span.Make("input_tokens", 0, "cached_input_tokens", 0, "output_tokens", 0,
			"reasoning_output_tokens", 0, "total_tokens", size/tokenBytes)
		return span.Update(payload, used, "info", "last_token_usage")
	}
	return nil
}

// summaryItems is the text of a summary, and the items that stand for it: what was carried over
// beside it, and itself.
func summaryItems(m *session.Message) (text string, items [][]byte) {
	var texts []string
	for i := range m.Parts {
		p := &m.Parts[i]
		if p.Type != session.TextPart || p.Ignored || p.Text == "" {
			continue
		}
		if note, ok := p.Note(); ok && note.Carry {
			items = append(items, userText(p.Text, carryKind))
		} else {
			texts = append(texts, p.Text)
		}
	}
	text = strings.Join(texts, "\n\n")
	return text, append(items, userText(text, summaryKind))
}

// history is the replacement_history of a pivot: the product's instructions, what was carried over,
// the summary, the tail. at is the line before which the pivot is.
func (w *writer) history(m *session.Message, at int32, tail [][]byte) [][]byte {
	var history [][]byte
	if c := w.context(at); !slices.ContainsFunc(c.items, func(it []byte) bool {
		return slices.ContainsFunc(tail, func(t []byte) bool { return bytes.Equal(it, t) })
	}) {
		history = append(history, c.items...)
	}
	_, items := summaryItems(m)
	return slices.Concat(history, items, tail)
}

// window is what a summary leaves as it is: the items of the tail, and of what came between the
// marker and the summary. touched is true if an item of it is written anew.
func (w *writer) window(summary int) (items [][]byte, touched bool) {
	messages := w.change.Session.Messages
	marker := session.Index(messages[:summary], messages[summary].ParentID)
	if marker < 0 {
		return nil, false
	}
	from := marker
	if p := messages[marker].Marker(); p != nil && p.TailStartID != "" {
		if at := session.Index(messages[:marker], p.TailStartID); at >= 0 {
			from = at
		}
	}
	for i := from; i < summary; i++ {
		m := &messages[i]
		// The summary was made from that of an earlier pivot that the tail reaches back over.
		if i == marker || m.Marker() != nil || m.Completes() || w.undone(m) {
			continue
		}
		shown, changed := w.shownItems(m)
		items, touched = append(items, shown...), touched || changed
	}
	return items, touched
}

// shownItems is what the product sends of a message.
func (w *writer) shownItems(m *session.Message) (items [][]byte, changed bool) {
	lines, read := w.from.owned[m.ID]
	if !read {
		return w.made[m.ID], false
	}
	for _, at := range lines {
		l := &w.from.lines[at]
		text := l.text(w.src)
		if t, ok := w.changed[at]; ok {
			changed = true
			text = t
			l = new(line)
			if scanLine(text, l) != nil {
				continue
			}
		}
		switch l.kind {
		case itemLine:
			items = append(items, l.payload.Of(text))
		case agentLine: // a line of its own in the file, no response item
			if _, said, err := agentText(l.payload.Of(text)); err == nil && said != "" {
				items = append(items, userText(said, syntheticKind))
			}
		}
	}
	return items, changed
}

// context is what the product last told the model about itself: its instructions, and the lines by
// which it knows that it did. items is empty when the product is better left to say it anew.
type context struct {
	items       [][]byte
	world, turn int32
}

func (w *writer) context(before int32) context {
	c := context{world: -1, turn: -1}
	for i := before - 1; i >= 0; i-- {
		l := &w.from.lines[i]
		if w.removed[i] || l.damaged {
			continue
		}
		text := l.text(w.src)
		switch l.kind {
		case turnLine:
			if c.turn < 0 {
				c.turn = i
			}
		case worldLine:
			if full := span.Find(text, l.payload, "full"); string(full.Of(text)) != "true" {
				return context{world: -1, turn: -1} // changed since: what was said first is out of date
			}
			c.world = i
			c.items = w.said(i)
			return c
		case compactedLine:
			c.items = injected(l.payload.Of(text))
			return c
		}
	}
	for i := range before { // versions without world_state: what stands before the first word of anybody else
		l := &w.from.lines[i]
		if l.kind != itemLine || l.damaged {
			continue
		}
		payload := l.payload.Of(l.text(w.src))
		if !isInjected(payload) {
			break
		}
		c.items = append(c.items, payload)
	}
	return c
}

// said is what the product told the model right before a line.
func (w *writer) said(before int32) [][]byte {
	var items [][]byte
	for i := before - 1; i >= 0; i-- {
		l := &w.from.lines[i]
		if w.removed[i] || l.damaged {
			continue
		}
		payload := l.payload.Of(l.text(w.src))
		if l.kind == compactedLine && len(items) == 0 {
			return injected(payload)
		}
		if l.kind == compactedLine || l.kind == itemLine && !isInjected(payload) {
			break
		}
		if l.kind == itemLine {
			items = append(items, payload)
		}
	}
	slices.Reverse(items)
	return items
}

// injected finds what the product itself put into a replacement_history.
func injected(payload []byte) [][]byte {
	var c struct {
		Replacement []jsontext.Value `json:"replacement_history"`
	}
	if decode(payload, &c) != nil {
		return nil
	}
	var items [][]byte
	for _, v := range c.Replacement {
		if isInjected(v) {
			items = append(items, v)
		}
	}
	return items
}

// isInjected reports whether an item is a message that the product wrote about itself.
func isInjected(payload []byte) bool {
	var it item
	if decode(payload, &it) != nil || it.Type != "message" || it.Role != "user" && it.Role != "developer" {
		return false
	}
	found := contents(it.Content)
	for i, c := range found {
		if c.odd || it.written(i, c.Text) {
			return false
		}
		if kind := it.kind(i); kind == summaryKind || strings.HasPrefix(kind, "winnow.") {
			return false
		}
	}
	return len(found) > 0
}
