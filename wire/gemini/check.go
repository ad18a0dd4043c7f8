package gemini

import (
	"slices"

	"github.com/winnowhq/winnow/wire"
)

// Check reports what the API would refuse in a body: JSON that does not parse, unknown roles, a
// first content that is not the user's, two of the model's in a row, calls whose responses are not
// all in the next content, parts that are empty.
func Check(body []byte) error {
	var c checker
	return c.Run(body, "gemini", "contents", "content", c.content, func() {
		if len(c.open) > 0 {
			c.Fail("the last calls have no responses: %v", c.open)
		}
	})
}

type checker struct {
	wire.Checker
	last string
	open []string // "id name" of the calls of the content before
}

func (c *checker) content(content wire.Value) {
	role := content.Get("role").String()
	switch {
	case role != "user" && role != "model":
		c.Fail("role %q", role)
	case c.last == "" && role != "user":
		c.Fail("the first content is not the user's")
	case c.last == "model" && role == "model":
		c.Fail("two contents of the model's in a row")
	}
	c.last = role
	var calls, responses []string
	parts := 0
	for at := range content.Get("parts").Values() {
		p := read(at)
		switch {
		case !p.call.Empty():
			call := readCall(p.call)
			if role != "model" || call.name == "" || call.args.Kind() != '{' {
				c.Fail("part %d: a call by the %s, name %q, arguments %s", parts, role, call.name, call.args.Bytes())
			}
			calls = append(calls, call.id+" "+call.name)
		case !p.response.Empty():
			response := readCall(p.response)
			if role != "user" || response.response.Kind() != '{' {
				c.Fail("part %d: a response by the %s: %s", parts, role, response.response.Bytes())
			}
			responses = append(responses, response.id+" "+response.name)
		case !p.text.Empty() && wire.Blank(p.text.String()):
			c.Fail("part %d: blank text", parts)
		}
		parts++
	}
	if parts == 0 {
		c.Fail("no parts")
	}
	slices.Sort(c.open)
	slices.Sort(responses)
	if !slices.Equal(c.open, responses) {
		c.Fail("responses to %q, want to %q", responses, c.open)
	}
	c.open = calls
}
