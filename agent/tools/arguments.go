package tools

import (
	"fmt"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/call"
	"github.com/winnowhq/winnow/session"
)

// arguments are those of one call. Models write a number as a text and a name in another spelling; what is plainly meant is taken.
type arguments struct {
	tool string
	all  call.Arguments
}

func argumentsOf(tool string, input jsontext.Value) (arguments, error) {
	if len(input) > 0 && input.Kind() != '{' {
		return arguments{}, fmt.Errorf("%s takes a JSON object of arguments", tool)
	}
	if len(input) > 0 && !input.IsValid(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)) {
		return arguments{}, fmt.Errorf("the arguments of %s are no valid JSON; they may have been cut off: send the call again, with less in it", tool)
	}
	return arguments{tool, call.Parse(input)}, nil
}

// has reports whether one of these arguments was given. null counts as not given.
func (a arguments) has(names ...string) bool {
	for _, name := range names {
		if v := a.all.Get(name); v != nil && v.Kind() != 'n' {
			return true
		}
	}
	return false
}

// text is the first of these arguments that was given; it must be a text, which may be empty. Without one it is "" and false.
func (a arguments) text(names ...string) (string, bool, error) {
	for _, name := range names {
		v := a.all.Get(name)
		if v == nil || v.Kind() == 'n' {
			continue
		}
		var s string
		if v.Kind() != '"' || json.Unmarshal(v, &s, session.ReadOptions()) != nil {
			return "", false, fmt.Errorf("%s: the argument %q must be a text", a.tool, name)
		}
		return s, true, nil
	}
	return "", false, nil
}

// need is text for an argument that a call cannot do without. empty says whether it may be "".
func (a arguments) need(empty bool, names ...string) (string, error) {
	s, ok, err := a.text(names...)
	if err == nil && (!ok || s == "" && !empty) {
		err = fmt.Errorf("%s needs the argument %q, a text", a.tool, names[0])
	}
	return s, err
}

// whole is an argument that is a whole number, otherwise where it was not given. It must not be less than least.
func (a arguments) whole(name string, otherwise, least int) (int, error) {
	if !a.has(name) {
		return otherwise, nil
	}
	text := a.all.Text(name)
	n, err := strconv.Atoi(text)
	if f, ferr := strconv.ParseFloat(text, 64); err != nil && ferr == nil && f == float64(int(f)) {
		n, err = int(f), nil
	}
	if err != nil {
		return 0, fmt.Errorf("%s: the argument %q must be a whole number", a.tool, name)
	}
	if n < least {
		return 0, fmt.Errorf("%s: the argument %q is %d, and the least is %d", a.tool, name, n, least)
	}
	return n, nil
}

// truth is an argument that is true or false; not given, it is false.
func (a arguments) truth(names ...string) (bool, error) {
	for _, name := range names {
		switch v := a.all.Get(name); {
		case v == nil, v.Kind() == 'n':
			continue
		case v.Kind() == 't' || string(v) == `"true"`:
			return true, nil
		case v.Kind() == 'f' || string(v) == `"false"`:
			return false, nil
		default:
			return false, fmt.Errorf("%s: the argument %q must be true or false", a.tool, name)
		}
	}
	return false, nil
}
