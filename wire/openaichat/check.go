package openaichat

import (
	"errors"
	"fmt"

	"github.com/winnowhq/winnow/wire"
)

// Check reports what the API would refuse in a body: JSON that does not parse, an unknown role, a call that is not followed
// by its "tool" message or the reverse, a call id that occurs twice among calls that wait, empty content.
func Check(body []byte) error {
	text, skipped := wire.Complete(body)
	if len(skipped) > 0 {
		return fmt.Errorf("chat body: byte %d: %s", skipped[0].Start, skipped[0].Reason)
	}
	root := wire.Root(text)
	list := root
	if wire.Kind(text, root) == '{' {
		list = wire.Member(text, root, "messages")
	}
	if wire.Kind(text, list) != '[' {
		return errors.New("chat body: no list of messages")
	}
	c := checker{text: text, seen: map[string]bool{}, open: map[string]bool{}}
	for at := range wire.Values(text, list) {
		c.message(at)
		c.index++
	}
	if len(c.open) > 0 {
		c.fail("the last calls have no results: %v", c.open)
	}
	return errors.Join(c.problems...)
}

type checker struct {
	text       []byte
	index      int
	seen, open map[string]bool
	problems   []error
}

func (c *checker) fail(format string, args ...any) {
	c.problems = append(c.problems, fmt.Errorf("chat body: message %d: "+format, append([]any{c.index}, args...)...))
}

func (c *checker) message(at wire.Span) {
	role := wire.String(c.text, wire.Member(c.text, at, "role"))
	content := wire.Member(c.text, at, "content")
	if role == "tool" {
		id := wire.String(c.text, wire.Member(c.text, at, "tool_call_id"))
		if !c.open[id] {
			c.fail("a result for %q, which no call before it waits for", id)
		}
		if kind := wire.Kind(c.text, content); kind != '"' && kind != '[' {
			c.fail("a result without content")
		}
		delete(c.open, id)
		return
	}
	for id := range c.open {
		c.fail("the call %q has no result yet", id)
	}
	clear(c.open)
	calls := 0
	for at := range wire.Values(c.text, wire.Member(c.text, at, "tool_calls")) {
		id := wire.String(c.text, wire.Member(c.text, at, "id"))
		function := wire.Member(c.text, at, "function")
		name := wire.String(c.text, wire.Member(c.text, function, "name"))
		input, quoted := Arguments(c.text, wire.Member(c.text, function, "arguments"))
		if id == "" || c.seen[id] || name == "" || !quoted || input.Kind() != '{' {
			c.fail("call %d: id %q, name %q, arguments %s", calls, id, name, input)
		}
		c.seen[id], c.open[id] = true, true
		calls++
	}
	switch {
	case role != "user" && role != "assistant" && role != "system" && role != "developer":
		c.fail("role %q", role)
	case calls > 0 && role != "assistant":
		c.fail("calls by the %s", role)
	case calls == 0 && empty(c.text, content):
		c.fail("no content")
	}
}

func empty(text []byte, content wire.Span) bool {
	switch wire.Kind(text, content) {
	case '"':
		return content.End-content.Start == 2
	case '[':
		for range wire.Values(text, content) {
			return false
		}
	}
	return true
}
