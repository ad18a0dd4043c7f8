package wire

import (
	"errors"
	"fmt"
)

// Checker collects what a provider would refuse in a body.
type Checker struct {
	api, element string
	index        int // of the element that is checked
	problems     []error
}

// Run checks each element of a body's list, which may be the body itself; end is called behind the
// last. The errors name the API and its elements: "anthropic", "message".
func (c *Checker) Run(body []byte, api, list, element string, each func(Value), end func()) error {
	c.api, c.element = api, element
	text, skipped := Complete(body)
	if len(skipped) > 0 {
		return fmt.Errorf("%s body: byte %d: %s", api, skipped[0].Start, skipped[0].Reason)
	}
	elements := ValueOf(text)
	if elements.Kind() == '{' {
		elements = elements.Get(list)
	}
	if elements.Kind() != '[' {
		return fmt.Errorf("%s body: no list of %ss", api, element)
	}
	for v := range elements.Values() {
		each(v)
		c.index++
	}
	end()
	return errors.Join(c.problems...)
}

// Fail notes a problem of the element that is checked.
func (c *Checker) Fail(format string, args ...any) {
	c.problems = append(c.problems, fmt.Errorf("%s body: %s %d: %s", c.api, c.element, c.index,
		fmt.Sprintf(format, args...)))
}
