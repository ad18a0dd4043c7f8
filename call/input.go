package call

import (
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/session"
)

// Examined is how many bytes of one text are looked at: half from its head, half from its tail. 128 KiB holds the
// longest output that the agents in use send to a model whole.
const Examined = 128 << 10

// Bound cuts a text to its head and its tail where it is longer than Examined.
func Bound(text string) string {
	if len(text) <= Examined {
		return text
	}
	return text[:Examined/2] + "\n" + text[len(text)-Examined/2:]
}

// Arguments are the members of a call's input. The values may be views of it, which nobody may change.
type Arguments map[string]jsontext.Value

func Parse(input jsontext.Value) Arguments {
	if input.Kind() != '{' {
		if input.Kind() == '"' { // some products keep the Arguments as a text
			return Arguments{"input": input}
		}
		return nil
	}
	a := make(Arguments, 4)
	if _, end, plain := plainMembers(input, func(name string, value jsontext.Value) bool { a[name] = value; return true }); plain && blanks(input, end) == len(input) {
		return a
	}
	a = nil
	if json.Unmarshal(input, &a, session.ReadOptions()) != nil {
		return nil
	}
	return a
}

// text is the first of these members that is a text, or a list of texts (joined by blanks).
func (a Arguments) Text(names ...string) string {
	for _, name := range names {
		value, ok := a[name]
		if !ok {
			continue
		}
		switch value.Kind() {
		case '"':
			s, ok := Unquote(value)
			if ok && s != "" {
				return s
			}
			if !ok && json.Unmarshal(value, &s, session.ReadOptions()) == nil && s != "" {
				return s
			}
		case '[':
			var words []string
			if json.Unmarshal(value, &words, session.ReadOptions()) == nil && len(words) > 0 {
				return strings.Join(words, " ")
			}
		case '0':
			return string(value)
		}
	}
	return ""
}

// list is a member that is a list of objects; a text that holds such a list counts too.
func (a Arguments) List(names ...string) []Arguments {
	for _, name := range names {
		value, ok := a[name]
		if !ok {
			continue
		}
		if value.Kind() == '"' {
			var s string
			if json.Unmarshal(value, &s, session.ReadOptions()) != nil {
				continue
			}
			value = jsontext.Value(s)
		}
		var all []Arguments
		if json.Unmarshal(value, &all, session.ReadOptions()) == nil && len(all) > 0 {
			return all
		}
	}
	return nil
}

func (a Arguments) Has(name string) bool { _, ok := a[name]; return ok }

// argv is a command that was sent as a list of words. A shell that is asked to run a text gives that text.
func (a Arguments) argv(names ...string) string {
	for _, name := range names {
		value, ok := a[name]
		if !ok {
			continue
		}
		if value.Kind() != '[' {
			return a.Text(name)
		}
		var words []string
		if json.Unmarshal(value, &words, session.ReadOptions()) != nil || len(words) == 0 {
			continue
		}
		if len(words) == 3 && strings.HasPrefix(words[1], "-") && strings.HasSuffix(words[1], "c") {
			return words[2]
		}
		return strings.Join(words, " ")
	}
	return ""
}
