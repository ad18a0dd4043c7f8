package anthropic

import "github.com/winnowhq/winnow/wire"

// Check reports what the API would refuse in a body: JSON that does not parse, roles that do not
// alternate, a first message that is not the user's, blank text, a call without its result in the
// next message or a result without its call, a call id that occurs twice. Messages of the role
// "system", which the API accepts in the middle of a conversation in a beta, are passed over.
func Check(body []byte) error {
	c := checker{seen: map[string]bool{}}
	return c.Run(body, "anthropic", "messages", "message", c.message, func() {
		if len(c.open) > 0 {
			c.Fail("the last calls have no results: %v", c.open)
		}
	})
}

type checker struct {
	wire.Checker
	last string
	seen map[string]bool
	open []string // calls of the message before, in order
}

func (c *checker) message(message wire.Value) {
	var role string
	var content wire.Value
	message.Read("role", &role, "content", &content)
	if role == "system" {
		return
	}
	if role != "user" && role != "assistant" {
		c.Fail("role %q", role)
	}
	if c.last == "" && role != "user" {
		c.Fail("the first message is not the user's")
	}
	if c.last == role {
		c.Fail("two messages of the role %q in a row", role)
	}
	c.last = role
	results, blocks, ended := map[string]bool{}, 0, false
	var calls []string
	if content.Kind() == '"' {
		blocks = 1
		if wire.Blank(content.String()) {
			c.Fail("blank content")
		}
	}
	for at := range content.Values() {
		b := read(at)
		switch b.kind {
		case "text":
			if wire.Blank(b.text.String()) {
				c.Fail("block %d: blank text", blocks)
			}
		case "tool_use":
			if role != "assistant" || c.seen[b.id] || b.id == "" || b.name == "" || b.input.Kind() != '{' {
				c.Fail("block %d: a call by the %s, id %q, name %q, input %s", blocks, role, b.id, b.name,
					b.input.Bytes())
			}
			c.seen[b.id] = true
			calls = append(calls, b.id)
		case "tool_result":
			if role != "user" || ended || results[b.toolUseID] {
				c.Fail("block %d: a result by the %s, after other blocks: %v, id %q", blocks, role, ended, b.toolUseID)
			}
			results[b.toolUseID] = true
		case "":
			c.Fail("block %d: no type", blocks)
		}
		ended = ended || b.kind != "tool_result"
		blocks++
	}
	if blocks == 0 {
		c.Fail("no content")
	}
	for _, id := range c.open {
		if !results[id] {
			c.Fail("no result for the call %q", id)
		}
		delete(results, id)
	}
	for id := range results {
		c.Fail("a result for %q, which the message before does not call", id)
	}
	c.open = calls
}
