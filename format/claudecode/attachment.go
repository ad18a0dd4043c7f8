package claudecode

import (
	"slices"
	"strings"

	"github.com/winnowhq/winnow/session"
)

// attachment keeps what the product put into the context beside the conversation, where the record carries a text. What the
// user typed while the model worked is one of its kinds, and is the user's.
func (b *builder) attachment(i int) {
	var texts []string
	say := func(value []byte) {
		if text := b.text(value, 0); text != "" {
			texts = append(texts, text)
		}
	}
	if prompt, synthetic, ok := b.scan.prompt(b.index.entries[i].attachment); ok {
		b.queued(i, prompt, synthetic)
		return
	}
	var carriers [][]byte
	b.scan.object(b.index.entries[i].attachment, false, func(_ bool, name, value []byte) {
		switch string(name) {
		case `"content"`, `"snippet"`, `"addedLines"`, `"text"`, `"message"`:
			carriers = append(carriers, value)
		}
	})
	for _, value := range carriers {
		say(value)
	}
	if len(texts) == 0 {
		return
	}
	m := b.begin(i, session.User)
	b.part(i, 0, session.Part{Type: session.TextPart, Text: strings.Join(texts, "\n"), Synthetic: true})
	b.aside(m)
}

// prompt is what an attachment has of what was typed while the model worked.
func (s *scanner) prompt(attachment []byte) (prompt []byte, synthetic, ok bool) {
	var kind, mode string
	var meta bool
	s.object(attachment, false, func(_ bool, name, value []byte) {
		switch string(name) {
		case `"type"`:
			kind = s.string(value)
		case `"commandMode"`:
			mode = s.string(value)
		case `"isMeta"`:
			meta = string(value) == "true"
		case `"prompt"`:
			prompt = value
		}
	})
	return prompt, meta || mode == "task-notification", kind == "queued_command"
}

// queues reports whether an attachment makes a message that the user typed.
func (s *scanner) queues(attachment []byte) bool {
	prompt, _, ok := s.prompt(attachment)
	if !ok {
		return false
	}
	blocks := s.blocks(prompt)
	return slices.ContainsFunc(blocks, func(b block) bool { return s.says(&b) })
}

// aside closes a message that does not interrupt the assistant's.
func (b *builder) aside(m int) {
	if b.user == "" {
		b.user = b.messages[m].ID
	}
}

func (b *builder) queued(i int, prompt []byte, synthetic bool) {
	begun := -1
	blocks := b.scan.blocks(prompt)
	for at := range blocks {
		var p session.Part
		switch block := &blocks[at]; block.kind {
		case "text":
			p = session.Part{Type: session.TextPart, Text: b.scan.string(block.text)}
		case "image", "document":
			p, _ = b.scan.file(block)
		}
		if p.Type == "" || p.Text == "" && p.URL == "" {
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

// text gathers the texts of a value: a string, a list of them, or what "content", "text" and "file" of an object hold.
func (b *builder) text(value []byte, depth int) string {
	if len(value) == 0 || depth > 4 {
		return ""
	}
	var inner [][]byte
	switch value[0] {
	case '"':
		return b.scan.string(value)
	case '[':
		b.scan.array(value, func(v []byte) error {
			inner = append(inner, v)
			return nil
		})
	case '{':
		b.scan.object(value, false, func(_ bool, name, v []byte) {
			switch string(name) {
			case `"content"`, `"text"`, `"file"`:
				inner = append(inner, v)
			}
		})
	}
	var texts []string
	for _, v := range inner {
		if text := b.text(v, depth+1); text != "" {
			texts = append(texts, text)
		}
	}
	return strings.Join(texts, "\n")
}
