package call

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/winnowhq/winnow/session"
)

// Todos is what a call did to a todo list.
type Todos struct {
	// Form is Whole where Items are all of the list, Adds where they come behind it, and Modifies
	// where they say what changed of the items with their IDs.
	Form  Form
	Items []Todo
}

// Todo is an item of a todo list as a call has it. What the call does not say is "".
type Todo struct{ ID, Text, Status string }

// TodosOf is what a call did to a todo list; ok is false for one that only read it, or did
// something else.
func TodosOf(p *session.Part) (did Todos, ok bool) {
	t, a, _ := used(p)
	if t.Op != Plan {
		return did, false
	}
	one := Todo{t.Text(a, "id"), t.Text(a, "item"), t.Text(a, "status")}
	switch {
	case t.Is(Adds):
		one.ID = created(p.State.Output)
		return Todos{Adds, []Todo{one}}, one.Text != ""
	case t.Is(Modifies):
		return Todos{Modifies, []Todo{one}}, one.ID != ""
	case !t.Is(Whole) || slices.Contains([]string{"read", "view", "list"}, t.Text(a, "verb")):
		return did, false
	}
	did.Form = Whole
	for _, name := range t.Names("merge") {
		if a.Get(name).Kind() == 't' {
			did.Form = Modifies
		}
	}
	at := slices.IndexFunc(t.Names("list"), a.Has)
	if at < 0 {
		return did, false
	}
	name := t.Names("list")[at]
	for _, item := range a.List(name) {
		did.Items = append(did.Items, Todo{t.Text(item, "id"), t.Text(item, "item"), t.Text(item, "status")})
	}
	if did.Items == nil {
		did.Items = written(strings.Join(a.texts(name), "\n"))
	}
	return did, true
}

// created is the number or name that a result gives to a new item: "Task #3 created", "Created task
// a1b2c3: …"; "" where it gives none.
func created(output string) string {
	words := strings.Fields(Cut(output, 300))
	for i, word := range words {
		if id, ok := strings.CutPrefix(word, "#"); ok && id != "" {
			return strings.Trim(id, ".,:;")
		}
		if strings.EqualFold(word, "task") && i+1 < len(words) && strings.HasSuffix(words[i+1], ":") {
			return strings.TrimSuffix(words[i+1], ":")
		}
	}
	return ""
}

// written are the items of a list in text: "- [x] one", "2. [in_progress] two", "☐ three". Where no
// line has a box, each line is an item.
func written(text string) []Todo {
	var boxes, all []Todo
	for line := range strings.Lines(text) {
		if line = bulleted(line); line == "" {
			continue
		}
		all = append(all, Todo{Text: line})
		if status, rest, ok := boxed(line); ok && rest != "" {
			boxes = append(boxes, Todo{Text: rest, Status: status})
		}
	}
	if len(boxes) > 0 {
		return boxes
	}
	return all
}

// boxed takes the box off a line.
func boxed(line string) (status, rest string, ok bool) {
	if word, rest, ok := strings.Cut(line, "]"); ok && line[0] == '[' && len(word) < 16 {
		word = strings.ToLower(strings.TrimSpace(word[1:]))
		if status, ok := boxes[word]; ok {
			word = status
		}
		return word, strings.TrimSpace(rest), true
	}
	sign, size := utf8.DecodeRuneInString(line)
	status, ok = boxes[string(sign)]
	return status, strings.TrimSpace(line[size:]), ok && sign >= utf8.RuneSelf
}

// boxes are what stands in a box in a list in text.
var boxes = map[string]string{"": "pending", "x": "completed", "-": "in_progress", "~": "in_progress",
	"/": "in_progress", ">": "in_progress", "☐": "pending", "☑": "completed", "☒": "completed", "✓": "completed",
	"✔": "completed", "✅": "completed"}

// bulleted is a line without the bullet or the number that it begins with.
func bulleted(line string) string {
	line = strings.TrimSpace(line)
	if rest, ok := strings.CutPrefix(strings.TrimLeft(line, "0123456789"), ". "); ok {
		return strings.TrimSpace(rest)
	}
	return strings.TrimSpace(strings.TrimLeft(line, "-*+ "))
}
