package gemini

import (
	"errors"
	"fmt"
	"slices"

	"github.com/winnowhq/winnow/wire"
)

// Check reports what the API would refuse in a body: JSON that does not parse, unknown roles, a first content that is not the
// user's, two of the model's in a row, calls whose responses are not all in the next content, parts that are empty.
func Check(body []byte) error {
	text, skipped := wire.Complete(body)
	if len(skipped) > 0 {
		return fmt.Errorf("gemini body: byte %d: %s", skipped[0].Start, skipped[0].Reason)
	}
	root := wire.Root(text)
	list := root
	if wire.Kind(text, root) == '{' {
		list = wire.Member(text, root, "contents")
	}
	if wire.Kind(text, list) != '[' {
		return errors.New("gemini body: no list of contents")
	}
	b, _ := wire.NewBuilder(body, "")
	c := checker{decoder: &decoder{Builder: b, text: text}}
	for at := range wire.Values(text, list) {
		c.content(at)
		c.index++
	}
	if len(c.open) > 0 {
		c.fail("the last calls have no responses: %v", c.open)
	}
	return errors.Join(c.problems...)
}

type checker struct {
	*decoder
	index    int
	last     string
	open     []string // "id name" of the calls of the content before
	problems []error
}

func (c *checker) fail(format string, args ...any) {
	c.problems = append(c.problems, fmt.Errorf("gemini body: content %d: "+format, append([]any{c.index}, args...)...))
}

func (c *checker) content(at wire.Span) {
	role := wire.String(c.text, wire.Member(c.text, at, "role"))
	switch {
	case role != "user" && role != "model":
		c.fail("role %q", role)
	case c.last == "" && role != "user":
		c.fail("the first content is not the user's")
	case c.last == "model" && role == "model":
		c.fail("two contents of the model's in a row")
	}
	c.last = role
	var calls, responses []string
	parts := 0
	for at := range wire.Values(c.text, wire.Member(c.text, at, "parts")) {
		f := c.fields(at)
		parts++
		switch {
		case !f.call.Empty():
			id, name, args := c.named(f.call, "args")
			if role != "model" || name == "" || wire.Kind(c.text, args) != '{' {
				c.fail("part %d: a call by the %s, name %q, arguments %s", parts-1, role, name, args.Of(c.text))
			}
			calls = append(calls, id+" "+name)
		case !f.response.Empty():
			id, name, value := c.named(f.response, "response")
			if role != "user" || wire.Kind(c.text, value) != '{' {
				c.fail("part %d: a response by the %s: %s", parts-1, role, value.Of(c.text))
			}
			responses = append(responses, id+" "+name)
		case !f.text.Empty() && wire.Blank(wire.String(c.text, f.text)):
			c.fail("part %d: blank text", parts-1)
		}
	}
	if parts == 0 {
		c.fail("no parts")
	}
	slices.Sort(c.open)
	slices.Sort(responses)
	if !slices.Equal(c.open, responses) {
		c.fail("responses to %q, want to %q", responses, c.open)
	}
	c.open = calls
}
