package call

import (
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/plan/shell"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/text/span"
)

// Examined is how many bytes of one text are looked at: half from its head, half from its tail. 128
// KiB holds the longest output that the agents in use send to a model whole.
const Examined = 128 << 10

// Bound cuts a text to its head and its tail where it is longer than Examined.
func Bound(text string) string {
	if len(text) <= Examined {
		return text
	}
	return text[:Examined/2] + "\n" + text[len(text)-Examined/2:]
}

// Arguments are the members of a call's input in their order. Where two have one name the last
// counts. The values may be views of the input: do not change them.
type Arguments []Argument

// Argument is one of them.
type Argument struct {
	Name  string
	Value jsontext.Value
}

// Get is the argument of this name, nil without one.
func (a Arguments) Get(name string) jsontext.Value {
	for i := len(a) - 1; i >= 0; i-- {
		if a[i].Name == name {
			return a[i].Value
		}
	}
	return nil
}

// Parse reads the arguments of a call; what is not JSON has none.
func Parse(input jsontext.Value) Arguments {
	a, _ := parse(input)
	return a
}

// parse also says whether they are the members as Members walks them.
func parse(input jsontext.Value) (a Arguments, plain bool) {
	if input.Kind() != '{' {
		if input.Kind() == '"' { // some products keep the Arguments as a text
			return Arguments{{"input", input}}, false
		}
		return nil, false
	}
	a = make(Arguments, 0, 4)
	_, end, plain := plainMembers(input, func(name string, value jsontext.Value) bool {
		a = append(a, Argument{name, value})
		return true
	})
	if plain && span.Space(input, end) == len(input) {
		return a, true
	}
	var all map[string]jsontext.Value
	if json.Unmarshal(input, &all, session.ReadOptions()) != nil {
		return nil, false
	}
	return sorted(all), false
}

func sorted(decoded map[string]jsontext.Value) Arguments {
	a := make(Arguments, 0, len(decoded))
	for _, name := range slices.Sorted(maps.Keys(decoded)) {
		a = append(a, Argument{name, decoded[name]})
	}
	return a
}

// Text is the first of these members that is a text, or a list of texts (joined by blanks).
func (a Arguments) Text(names ...string) string {
	for _, name := range names {
		value := a.Get(name)
		if value == nil {
			continue
		}
		switch value.Kind() {
		case '"':
			text, ok := Unquote(value)
			if !ok {
				text = decoded(value)
			}
			if text != "" {
				return text
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

// decoded is the text of a JSON string that Unquote does not understand, "" of anything else.
func decoded(value jsontext.Value) (text string) {
	if json.Unmarshal(value, &text, session.ReadOptions()) != nil {
		return ""
	}
	return text
}

// List is a member that is a list of objects; a text that holds such a list counts too.
func (a Arguments) List(names ...string) []Arguments {
	for _, name := range names {
		value := a.Get(name)
		if value == nil {
			continue
		}
		if value.Kind() == '"' {
			var s string
			if json.Unmarshal(value, &s, session.ReadOptions()) != nil {
				continue
			}
			value = jsontext.Value(s)
		}
		var all []map[string]jsontext.Value
		if json.Unmarshal(value, &all, session.ReadOptions()) == nil && len(all) > 0 {
			list := make([]Arguments, len(all))
			for i := range all {
				list[i] = sorted(all[i])
			}
			return list
		}
	}
	return nil
}

// Has reports whether there is an argument of this name.
func (a Arguments) Has(name string) bool { return a.Get(name) != nil }

// texts is a list of texts, or the one text that stands in its place.
func (a Arguments) texts(name string) []string {
	var all []string
	if value := a.Get(name); value.Kind() == '[' && json.Unmarshal(value, &all, session.ReadOptions()) == nil {
		return all
	}
	return []string{a.Text(name)}
}

// argv is a command that was sent as a list of words. A shell that is asked to run a text gives
// that text.
func (a Arguments) argv(names ...string) string {
	for _, name := range names {
		value := a.Get(name)
		if value == nil {
			continue
		}
		if value.Kind() != '[' {
			return a.Text(name)
		}
		var words []string
		if json.Unmarshal(value, &words, session.ReadOptions()) != nil || len(words) == 0 {
			continue
		}
		if len(words) == 3 && shell.IsShell(words[0]) && strings.HasPrefix(words[1], "-") &&
			strings.HasSuffix(words[1], "c") {
			return words[2]
		}
		if len(words) == 1 || strings.Contains(words[0], "patch") || shell.Foreign(words[0]) {
			return strings.Join(words, " ")
		}
		return shell.Join(words)
	}
	return ""
}
