package anthropic

import (
	"errors"
	"fmt"

	"github.com/winnowhq/winnow/wire"
)

// Check reports what the API would refuse in a body: JSON that does not parse, roles that do not alternate, a first message
// that is not the user's, blank text, a call without its result in the next message or a result without its call, a call id that
// occurs twice. Messages of the role "system", which the API takes amid a conversation in a beta, are passed over.
func Check(body []byte) error {
	text, skipped := wire.Complete(body)
	if len(skipped) > 0 {
		return fmt.Errorf("anthropic body: byte %d: %s", skipped[0].Start, skipped[0].Reason)
	}
	c := checker{text: text, seen: map[string]bool{}}
	root := wire.Root(text)
	list := root
	if wire.Kind(text, root) == '{' {
		list = wire.Member(text, root, "messages")
	}
	if wire.Kind(text, list) != '[' {
		return errors.New("anthropic body: no list of messages")
	}
	for at := range wire.Values(text, list) {
		c.message(at)
	}
	if len(c.open) > 0 {
		c.fail("the last calls have no results: %v", c.open)
	}
	return errors.Join(c.problems...)
}

type checker struct {
	text     []byte
	index    int
	last     string
	seen     map[string]bool
	open     []string // calls of the message before, in order
	problems []error
}

func (c *checker) fail(format string, args ...any) {
	c.problems = append(c.problems, fmt.Errorf("anthropic body: message %d: "+format, append([]any{c.index}, args...)...))
}

func (c *checker) message(at wire.Span) {
	defer func() { c.index++ }()
	role := wire.String(c.text, wire.Member(c.text, at, "role"))
	content := wire.Member(c.text, at, "content")
	if role == "system" {
		return
	}
	if role != "user" && role != "assistant" {
		c.fail("role %q", role)
	}
	if c.last == "" && role != "user" {
		c.fail("the first message is not the user's")
	}
	if c.last == role {
		c.fail("two messages of the role %q in a row", role)
	}
	c.last = role
	d := decoder{text: c.text}
	results, blocks, ended := map[string]bool{}, 0, false
	var calls []string
	switch wire.Kind(c.text, content) {
	case '"':
		if wire.Blank(wire.String(c.text, content)) {
			c.fail("blank content")
		}
		blocks = 1
	case '[':
		for at := range wire.Values(c.text, content) {
			f := d.fields(at)
			blocks++
			switch f.kind {
			case "text":
				if wire.Blank(wire.String(c.text, f.text)) {
					c.fail("block %d: blank text", blocks-1)
				}
			case "tool_use":
				if role != "assistant" || c.seen[f.id] || f.id == "" || f.name == "" || wire.Kind(c.text, f.input) != '{' {
					c.fail("block %d: a call by the %s, id %q, name %q, input %s", blocks-1, role, f.id, f.name, f.input.Of(c.text))
				}
				c.seen[f.id] = true
				calls = append(calls, f.id)
			case "tool_result":
				if role != "user" || ended || results[f.toolUseID] {
					c.fail("block %d: a result by the %s, after other blocks: %v, id %q", blocks-1, role, ended, f.toolUseID)
				}
				results[f.toolUseID] = true
			case "":
				c.fail("block %d: no type", blocks-1)
			}
			ended = ended || f.kind != "tool_result"
		}
	}
	if blocks == 0 {
		c.fail("no content")
	}
	for _, id := range c.open {
		if !results[id] {
			c.fail("no result for the call %q", id)
		}
		delete(results, id)
	}
	for id := range results {
		c.fail("a result for %q, which the message before does not call", id)
	}
	c.open = calls
}
