package responses

import (
	"github.com/winnowhq/winnow/wire"
	"github.com/winnowhq/winnow/wire/openaichat"
)

// Check reports what the API would refuse in a body: JSON that does not parse, a call without its
// output or the reverse, a call id that occurs twice, reasoning that nothing follows, a message
// without content. Items of unknown types are passed over.
func Check(body []byte) error {
	if text, cut := wire.Complete(body); len(cut) == 0 && wire.ValueOf(text).Get("input").Kind() == '"' {
		return nil
	}
	c := checker{calls: map[string]bool{}}
	return c.Run(body, "responses", "input", "item", c.item, func() {
		for id, waits := range c.calls {
			if waits {
				c.Fail("the call %q has no output", id)
			}
		}
		if c.thinks {
			c.Fail("nothing follows the last reasoning")
		}
	})
}

type checker struct {
	wire.Checker
	calls  map[string]bool // true while the output is missing
	thinks bool            // reasoning waits for what it led to
}

func (c *checker) item(at wire.Value) {
	i := read(at)
	if c.thinks && (i.kind == "function_call_output" || i.role == "user") {
		c.Fail("reasoning was not followed by what it led to")
	}
	c.thinks = i.kind == "reasoning"
	switch i.kind {
	case "function_call", "custom_tool_call":
		input, quoted := openaichat.Arguments(i.arguments)
		if _, twice := c.calls[i.callID]; twice || i.callID == "" || i.name == "" ||
			i.kind == "function_call" && (!quoted || input.Kind() != '{') {
			c.Fail("call id %q, name %q, arguments %s", i.callID, i.name, input)
		}
		c.calls[i.callID] = true
	case "function_call_output", "custom_tool_call_output":
		if !c.calls[i.callID] {
			c.Fail("an output for %q, which no call before it waits for", i.callID)
		}
		c.calls[i.callID] = false
		if kind := i.output.Kind(); kind != '"' && kind != '[' {
			c.Fail("an output without text")
		}
	case "message":
		if i.role != "user" && i.role != "assistant" && i.role != "system" && i.role != "developer" {
			c.Fail("role %q", i.role)
		}
		for range i.content.Values() {
			return
		}
		if i.content.Kind() != '"' || wire.Blank(i.content.String()) {
			c.Fail("no content")
		}
	case "":
		c.Fail("no type")
	}
}
