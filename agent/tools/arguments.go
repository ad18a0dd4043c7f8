package tools

import (
	"fmt"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/plan/call"
	"github.com/winnowhq/winnow/session"
)

// arguments are those of one call. Models write a number as a string and a name in another
// spelling; what is plainly meant is taken. err is the first thing that was wrong.
type arguments struct {
	tool string
	all  call.Arguments
	err  error
}

func argumentsOf(tool string, input jsontext.Value) *arguments {
	a := &arguments{tool: tool}
	switch {
	case len(input) > 0 && input.Kind() != '{':
		a.err = fmt.Errorf("the arguments of %s must be a JSON object", tool)
	case len(input) > 0 && !input.IsValid(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)):
		a.err = fmt.Errorf("the arguments of %s are not valid JSON; they may have been cut off: "+
			"send the call again, with less in it", tool)
	default:
		a.all = call.Parse(input)
	}
	return a
}

// get is the value of the first of these arguments that was given, or nil. null
// counts as not given.
func (a *arguments) get(names ...string) jsontext.Value {
	for _, name := range names {
		if v := a.all.Get(name); v != nil && v.Kind() != 'n' {
			return v
		}
	}
	return nil
}

func (a *arguments) fail(name, what string) {
	if a.err == nil {
		a.err = fmt.Errorf("%s: the argument %q %s", a.tool, name, what)
	}
}

// text is the first of these arguments that was given; it must be a string. It is "" if there is
// none.
func (a *arguments) text(names ...string) (s string) {
	if v := a.get(names...); v != nil && (v.Kind() != '"' || json.Unmarshal(v, &s, session.ReadOptions()) != nil) {
		a.fail(names[0], "must be a string")
	}
	return s
}

// need is text for an argument that a call cannot do without. It must not be "".
func (a *arguments) need(names ...string) string {
	s := a.text(names...)
	if s == "" {
		a.missing(names[0])
	}
	return s
}

// given is need for an argument that may be "".
func (a *arguments) given(names ...string) string {
	if a.get(names...) == nil {
		a.missing(names[0])
	}
	return a.text(names...)
}

func (a *arguments) missing(name string) {
	if a.err == nil {
		a.err = fmt.Errorf("%s needs the argument %q, a string", a.tool, name)
	}
}

// whole is an argument that is a whole number and at least least. It is otherwise if it is not
// given.
func (a *arguments) whole(name string, otherwise, least int) int {
	if a.get(name) == nil {
		return otherwise
	}
	text := a.all.Text(name)
	n, err := strconv.Atoi(text)
	if f, ferr := strconv.ParseFloat(text, 64); err != nil && ferr == nil && f == float64(int(f)) {
		n, err = int(f), nil
	}
	switch {
	case err != nil:
		a.fail(name, "must be a whole number")
	case n < least:
		a.fail(name, fmt.Sprintf("is %d, but must be at least %d", n, least))
	}
	return n
}

// truth is an argument that is true or false; it is false if it is not given.
func (a *arguments) truth(names ...string) bool {
	v := a.get(names...)
	switch string(v) {
	case "true", `"true"`:
		return true
	case "", "false", `"false"`:
	default:
		a.fail(names[0], "must be true or false")
	}
	return false
}
