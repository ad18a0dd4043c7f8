package responses

import (
	"errors"
	"fmt"

	"github.com/winnowhq/winnow/wire"
	"github.com/winnowhq/winnow/wire/openaichat"
)

// Check reports what the API would refuse in a body: JSON that does not parse, a call without its output or the reverse, a call id that
// occurs twice, reasoning that nothing follows, a message without content. Items of types that it does not know are passed over.
func Check(body []byte) error {
	text, skipped := wire.Complete(body)
	if len(skipped) > 0 {
		return fmt.Errorf("responses body: byte %d: %s", skipped[0].Start, skipped[0].Reason)
	}
	root := wire.Root(text)
	list := root
	if wire.Kind(text, root) == '{' {
		list = wire.Member(text, root, "input")
	}
	if wire.Kind(text, list) == '"' {
		return nil
	}
	if wire.Kind(text, list) != '[' {
		return errors.New("responses body: no list of items")
	}
	b, _ := wire.NewBuilder(body, "")
	c := checker{decoder: &decoder{Builder: b, text: text}, calls: map[string]bool{}}
	for at := range wire.Values(text, list) {
		c.item(at)
		c.index++
	}
	for id, waits := range c.calls {
		if waits {
			c.fail("the call %q has no output", id)
		}
	}
	if c.thinks {
		c.fail("nothing follows the last reasoning")
	}
	return errors.Join(c.problems...)
}

type checker struct {
	*decoder
	index    int
	calls    map[string]bool // true while the output is missing
	thinks   bool            // reasoning waits for what it led to
	problems []error
}

func (c *checker) fail(format string, args ...any) {
	c.problems = append(c.problems, fmt.Errorf("responses body: item %d: "+format, append([]any{c.index}, args...)...))
}

func (c *checker) item(at wire.Span) {
	f := c.fields(at)
	if c.thinks && (f.kind == "function_call_output" || f.role == "user") {
		c.fail("reasoning was not followed by what it led to")
	}
	c.thinks = f.kind == "reasoning"
	switch f.kind {
	case "function_call", "custom_tool_call":
		input, quoted := openaichat.Arguments(c.text, f.arguments)
		if _, twice := c.calls[f.callID]; twice || f.callID == "" || f.name == "" || f.kind == "function_call" && (!quoted || input.Kind() != '{') {
			c.fail("call id %q, name %q, arguments %s", f.callID, f.name, input)
		}
		c.calls[f.callID] = true
	case "function_call_output", "custom_tool_call_output":
		if !c.calls[f.callID] {
			c.fail("an output for %q, which no call before it waits for", f.callID)
		}
		c.calls[f.callID] = false
		if kind := wire.Kind(c.text, f.output); kind != '"' && kind != '[' {
			c.fail("an output without text")
		}
	case "message":
		if f.role != "user" && f.role != "assistant" && f.role != "system" && f.role != "developer" {
			c.fail("role %q", f.role)
		}
		for range wire.Values(c.text, f.content) {
			return
		}
		if wire.Kind(c.text, f.content) != '"' || wire.Blank(wire.String(c.text, f.content)) {
			c.fail("no content")
		}
	case "":
		c.fail("no type")
	}
}
