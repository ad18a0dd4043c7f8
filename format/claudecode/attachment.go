package claudecode

import (
	"slices"
	"strings"

	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/text/span"
)

// attachment keeps what the product put into the context beside the conversation, where the record
// carries a text. What the user typed while the model worked is one of its kinds, and is the
// user's.
func (b *builder) attachment(i int) {
	e := &b.index.entries[i]
	attachment := e.of(e.Attachment)
	if prompt, synthetic, ok := prompt(attachment); ok {
		b.queued(i, prompt, synthetic)
		return
	}
	var texts []string
	for m := range span.Members(attachment, span.All(attachment)) {
		switch string(m.Name) {
		case "content", "snippet", "addedLines", "text", "message":
			texts = gather(texts, m.Value.Of(attachment), 0)
		}
	}
	if len(texts) == 0 {
		return
	}
	m := b.begin(i, session.User)
	b.part(i, 0, session.Part{Type: session.TextPart, Text: strings.Join(texts, "\n"), Synthetic: true})
	b.aside(m)
}

// prompt is what an attachment has of what was typed while the model worked.
func prompt(attachment []byte) (prompt []byte, synthetic, ok bool) {
	var queued struct {
		Kind   string    `json:"type"`
		Mode   string    `json:"commandMode"`
		Meta   bool      `json:"isMeta"`
		Prompt span.Span `json:"prompt"`
	}
	if span.Kind(attachment) != '{' || span.Decode(attachment, &queued) != nil || queued.Kind != "queued_command" {
		return nil, false, false
	}
	return queued.Prompt.Of(attachment), queued.Meta || queued.Mode == "task-notification", true
}

// queues reports whether an attachment makes a message that the user typed.
func queues(attachment []byte) bool {
	prompt, _, ok := prompt(attachment)
	return ok && slices.ContainsFunc(blocks(prompt), func(b block) bool { return b.says() })
}

// aside closes a message that does not interrupt the assistant's.
func (b *builder) aside(m int) {
	if b.user == "" {
		b.user = b.messages[m].ID
	}
}

func (b *builder) queued(i int, prompt []byte, synthetic bool) {
	begun := -1
	for at, block := range blocks(prompt) {
		p, ok := block.part()
		if !ok {
			continue
		}
		if begun < 0 {
			begun = b.begin(i, session.User)
		}
		p.Synthetic = synthetic
		b.part(i, at, p)
	}
	if begun >= 0 {
		b.end(begun)
	}
}

// gather adds the texts of a value: a string, a list of them, or what "content", "text" and "file"
// of an object hold.
func gather(texts []string, value []byte, depth int) []string {
	const deepest = 4
	if depth > deepest {
		return texts
	}
	if text := span.String(value); text != "" {
		return append(texts, text)
	}
	for at := range span.Values(value, span.All(value)) {
		texts = gather(texts, at.Of(value), depth+1)
	}
	for m := range span.Members(value, span.All(value)) {
		switch string(m.Name) {
		case "content", "text", "file":
			texts = gather(texts, m.Value.Of(value), depth+1)
		}
	}
	return texts
}
