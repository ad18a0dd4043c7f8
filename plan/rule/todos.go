package rule

import (
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/plan/call"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/text/span"
)

// Todos leaves out todo lists that a newer one replaced, in the arguments of the calls that wrote
// them and in what those gave back. A list that was written replaces all before it, one that was
// read only those that were read. One that is empty or failed replaces nothing. Lists that are kept
// item by item stay, because each call says only what it changed.
type Todos struct{ Age Age }

// Name is "todos".
func (*Todos) Name() string { return "todos" }

// Find looks at calls of todo tools.
func (r *Todos) Find(w Window) Found {
	w = w.Read()
	seen := grow(w, r, func() *lists { return &lists{} })
	return w.Propose(r.Name(), r.Age, w.open(seen.found), func(f *Finding) string {
		if f.Field == Input {
			return w.withoutList(f.Item)
		}
		return w.placeholder(f.Item, Output, "a newer list is below")
	})
}

// lists is what Todos reads off a timeline.
type lists struct {
	open  []*Item // that nothing replaced yet
	found []*Finding
}

func (s *lists) read(x *Item) {
	kind := listOf(x)
	if kind == noList {
		return
	}
	rest := s.open[:0]
	for _, old := range s.open {
		switch {
		case SameStep(old, x),
			kind == listRead && listOf(old) == listWritten,
			kind == listRead && len(x.Part.State.Output)*2 < len(old.Part.State.Output):
			rest = append(rest, old)
			continue
		}
		for _, field := range []Field{Output, Input} {
			s.found = append(s.found, &Finding{Item: old, Field: field, By: []*Item{x},
				Why: "a newer todo list replaced it"})
		}
	}
	s.open = append(rest, x)
}

type listKind int

const (
	noList listKind = iota
	listWritten
	listRead
)

// keepsList reports whether a call writes or reads a todo list as a whole.
func (x *Item) keepsList() bool { return x.Call.Tool.Is(call.Whole) || x.Call.Tool.Is(call.Reads) }

// listOf says what a call did with a whole todo list that is not empty.
func listOf(x *Item) listKind {
	if !worked(x) || !x.keepsList() {
		return noList
	}
	given, tool := false, x.Call.Tool
	for name, value := range call.Members(x.Part.State.Input) {
		switch {
		case slices.Contains(tool.Names("merge"), name) && value.Kind() == 't':
			return noList // only what changed
		case slices.Contains(tool.Names("list"), name) && (value.Kind() == '[' || value.Kind() == '"'):
			if entries(value) > 0 {
				return listWritten
			}
			given = true
		}
	}
	if output := strings.TrimSpace(x.Part.State.Output); !given && output != "" && output != "[]" && output != "{}" {
		return listRead
	}
	return noList
}

// entries counts the items of a list: of an array, or the lines of a text.
func entries(list jsontext.Value) (n int) {
	if list.Kind() == '"' {
		text, _ := call.Unquote(list)
		if text = strings.TrimSpace(text); text == "" {
			return 0
		}
		return strings.Count(text, "\n") + 1
	}
	for range span.Values(list, span.All(list)) {
		n++
	}
	return n
}

// withoutList are the arguments of a call with one short text in place of its list, "" when it has
// none. A list stays a list, and a text a text; the other members stay to the byte.
func (w Window) withoutList(x *Item) string {
	return Replace(x.Part, func(name string, value jsontext.Value) jsontext.Value {
		n := 0
		if slices.Contains(x.Call.Tool.Names("list"), name) && (value.Kind() == '[' || value.Kind() == '"') {
			n = entries(value)
		}
		if n == 0 {
			return value
		}
		marker, _ := jsontext.AppendQuote(nil,
			w.opening()+w.handleOf(x)+": "+strconv.Itoa(n)+" todos left out; a newer list is below]")
		if value.Kind() == '[' {
			return slices.Concat(jsontext.Value("["), marker, jsontext.Value("]"))
		}
		return marker
	})
}

// Replace returns the arguments of a call with other values for some of them; a value that is nil
// goes with its name. It is "" when nothing changed, and when the arguments are no JSON object.
func Replace(p *session.Part, with func(name string, value jsontext.Value) jsontext.Value) string {
	if p.State == nil || !p.State.Input.IsValid() {
		return ""
	}
	text, changed := []byte{'{'}, false
	for name, value := range call.Members(p.State.Input) {
		now := with(name, value)
		changed = changed || string(now) != string(value)
		if now == nil {
			continue
		}
		if len(text) > 1 {
			text = append(text, ',')
		}
		text, _ = jsontext.AppendQuote(text, name)
		text = append(append(text, ':'), now...)
	}
	if !changed {
		return ""
	}
	return string(append(text, '}'))
}
