package openaichat

import "github.com/winnowhq/winnow/wire"

// Check reports what the API would refuse in a body: JSON that does not parse, an unknown role, a
// call that is not followed by its "tool" message or the reverse, a call id that occurs twice among
// calls that wait, empty content.
func Check(body []byte) error {
	c := checker{seen: map[string]bool{}, open: map[string]bool{}}
	return c.Run(body, "chat", "messages", "message", c.message, func() {
		if len(c.open) > 0 {
			c.Fail("the last calls have no results: %v", c.open)
		}
	})
}

type checker struct {
	wire.Checker
	seen, open map[string]bool
}

func (c *checker) message(message wire.Value) {
	var role, id string
	var content, toolCalls wire.Value
	message.Read("role", &role, "content", &content, "tool_call_id", &id, "tool_calls", &toolCalls)
	if role == "tool" {
		if !c.open[id] {
			c.Fail("a result for %q, which no call before it waits for", id)
		}
		if kind := content.Kind(); kind != '"' && kind != '[' {
			c.Fail("a result without content")
		}
		delete(c.open, id)
		return
	}
	for id := range c.open {
		c.Fail("the call %q has no result yet", id)
	}
	clear(c.open)
	calls := 0
	for call := range toolCalls.Values() {
		id, name := call.Get("id").String(), call.Get("function", "name").String()
		input, quoted := Arguments(call.Get("function", "arguments"))
		if id == "" || c.seen[id] || name == "" || !quoted || input.Kind() != '{' {
			c.Fail("call %d: id %q, name %q, arguments %s", calls, id, name, input)
		}
		c.seen[id], c.open[id] = true, true
		calls++
	}
	switch {
	case role != "user" && role != "assistant" && role != "system" && role != "developer":
		c.Fail("role %q", role)
	case calls > 0 && role != "assistant":
		c.Fail("calls by the %s", role)
	case calls == 0 && empty(content):
		c.Fail("no content")
	}
}

func empty(content wire.Value) bool {
	for range content.Values() {
		return false
	}
	return content.Kind() != '"' || content.End-content.Start == len(`""`)
}
