package call

import (
	"bytes"
	"cmp"
	_ "embed"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/session"
)

//go:embed products.txt
var productsFile string

// products are the tools of products.txt by product and by what they do.
var products = parseProducts(productsFile)

// tool is a tool of a product: its name, and the spellings of its arguments.
type tool struct {
	name      string
	needs     string // the argument without which it does nothing
	arguments map[string]string
}

// Translate gives a call in the words of a product: the name of its tool that does the same, and the
// input with its spellings of the arguments. Arguments that products.txt does not name stay as they
// are. The call stays as it is, and ok is false, if the product has no such tool, or the input does
// not fit it.
func Translate(product string, p *session.Part) (name string, input jsontext.Value, ok bool) {
	if p.State == nil {
		return p.Tool, nil, false
	}
	t := ToolOf(p.Tool)
	switch Name(p.Tool) {
	case "toolsearch", "tool_search", "lsp", "codesearch": // they search no files of the project
		return p.Tool, p.State.Input, false
	}
	to, known := products[product][t.does()]
	if !known {
		return p.Tool, p.State.Input, false
	}
	if input, ok = to.takes(t, p.State.Input); !ok {
		return p.Tool, p.State.Input, false
	}
	return to.name, input, true
}

// does names the work of a tool in the words of products.txt; "" if the table has no word for it.
func (t *Tool) does() string {
	if t.Is(inList) || t.Is(alien) || t.Is(Patch) || t.Is(Commands) || t.Is(makes) {
		return ""
	}
	switch {
	case t.Op == Search && t.Is(Lists):
		return "find"
	case t.Op == Fetch && !t.Is(getsPage):
		return ""
	}
	return string(t.Op)
}

// takes is the input of a call of another tool that does the same, false if it lacks a member that the
// tool must have, has one twice, or has several edits where the tool makes one.
func (to tool) takes(t *Tool, input jsontext.Value) (jsontext.Value, bool) {
	var members []member
	d := jsontext.NewDecoder(bytes.NewReader(input))
	if d.PeekKind() != '{' {
		return nil, false
	}
	for _, _ = d.ReadToken(); d.PeekKind() == '"'; {
		name, _ := d.ReadToken()
		m := member{name: name.String()}
		value, err := d.ReadValue()
		if err != nil {
			return nil, false
		}
		m.value = slices.Clone(value)
		members = append(members, m)
	}
	members, ok := to.edits(t, members)
	if !ok {
		return nil, false
	}
	var made []string
	for i := range members {
		for argument, spelling := range to.arguments {
			name := members[i].name
			folder := argument == "query" && slices.Contains(t.Names("path"), name)
			if !folder && !slices.Contains(made, argument) && slices.Contains(t.Names(argument), name) {
				members[i].name = spelling
				if argument == "command" && members[i].value.Kind() == '[' { // {"command": ["bash", "-lc", "ls"]}
					members[i].value, _ = jsontext.AppendQuote(nil, Parse(input).argv(t.Names("command")...))
				}
				made = append(made, argument)
				break
			}
		}
	}
	seen := map[string]bool{}
	for _, m := range members {
		if seen[m.name] {
			return nil, false // it has the argument in two spellings
		}
		seen[m.name] = true
	}
	return object(members), slices.Contains(made, to.needs)
}

type member struct {
	name  string
	value jsontext.Value
}

func object(members []member) jsontext.Value {
	var b bytes.Buffer
	e := jsontext.NewEncoder(&b)
	_ = e.WriteToken(jsontext.BeginObject)
	for _, m := range members {
		_ = e.WriteToken(jsontext.String(m.name))
		_ = e.WriteValue(m.value)
	}
	_ = e.WriteToken(jsontext.EndObject)
	return bytes.TrimSpace(b.Bytes())
}

// edits puts an edit where the tool wants it: in a list, or beside the path. Of several none is left
// out: a tool that makes one cannot take them.
func (to tool) edits(t *Tool, members []member) ([]member, bool) {
	if to.arguments["old"] == "" {
		return members, true
	}
	list := func(m member) bool { return slices.Contains(t.Names("list"), m.name) && m.value.Kind() == '[' }
	at := slices.IndexFunc(members, list)
	wanted := to.arguments["list"]
	switch {
	case at < 0 && wanted == "":
		return members, true
	case at >= 0 && wanted == "":
		var each []jsontext.Value
		if json.Unmarshal(members[at].value, &each) != nil || len(each) != 1 {
			return nil, false
		}
		var one map[string]jsontext.Value
		if json.Unmarshal(each[0], &one) != nil {
			return nil, false
		}
		rest := slices.Delete(members, at, at+1)
		for _, argument := range []string{"old", "new"} {
			for _, name := range t.Names(argument) {
				if v := one[name]; v != nil {
					rest = append(rest, member{name, v})
					break
				}
			}
		}
		return rest, true
	case at >= 0:
		var each []map[string]jsontext.Value
		if json.Unmarshal(members[at].value, &each) != nil {
			return nil, false
		}
		return members, !slices.ContainsFunc(each, func(one map[string]jsontext.Value) bool {
			return one[to.arguments["old"]] == nil // in the words of another product
		})
	}
	var one, rest []member
	for _, m := range members {
		switch {
		case slices.Contains(t.Names("old"), m.name):
			one = append(one, member{to.arguments["old"], m.value})
		case slices.Contains(t.Names("new"), m.name):
			one = append(one, member{to.arguments["new"], m.value})
		default:
			rest = append(rest, m)
		}
	}
	if len(one) != 2 {
		return nil, false
	}
	value := append(append(jsontext.Value{'['}, object(one)...), ']')
	return append(rest, member{wanted, value}), true
}

// parseProducts reads a table of products as products.txt describes it.
func parseProducts(text string) map[string]map[string]tool {
	all, product := map[string]map[string]tool{}, ""
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		switch does, rest, found := strings.Cut(line, ": "); {
		case line == "" || line[0] == '#':
		case line[0] == '[':
			product = strings.Trim(line, "[]")
			all[product] = map[string]tool{}
		case found:
			words := strings.Fields(rest)
			t := tool{name: words[0], arguments: map[string]string{}}
			for _, word := range words[1:] {
				argument, spelling, _ := strings.Cut(word, "=")
				t.arguments[argument] = spelling
				t.needs = cmp.Or(t.needs, argument)
			}
			all[product][does] = t
		}
	}
	return all
}
