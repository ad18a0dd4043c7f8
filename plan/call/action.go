package call

import (
	"strings"
	"unicode/utf8"

	"github.com/winnowhq/winnow/plan/shell"
	"github.com/winnowhq/winnow/session"
)

// Actions understands one call.
func Actions(p *session.Part, cwd string) []Action {
	t, a, _ := used(p)
	did, _ := actions(p, t, a, cwd)
	return did
}

// actions gives the script of its command too.
func actions(p *session.Part, t *Tool, a Arguments, cwd string) ([]Action, *shell.Script) {
	switch {
	case t.Op != Run || t.Is(alien):
		return others(p, t, a, cwd), nil
	case t.Is(inList):
		return command(strings.Join(a.texts(t.Names("command")[0]), "\n"), "", cwd)
	}
	return command(a.argv(t.Names("command")...), Clean(t.Text(a, "folder"), cwd), cwd)
}

// others are the actions of a call that runs no command that is understood.
func others(p *session.Part, t *Tool, a Arguments, cwd string) []Action {
	did := []Action{{Op: t.Op, Exact: true}}
	switch t.Op {
	case Run:
		did[0].Command = a.argv(t.Names("command")...)
	case Read, Delete:
		if t.Is(inList) {
			return each(p, t, a, cwd)
		}
		did[0].Path = Clean(t.Text(a, "path"), cwd)
	case Create:
		did[0].Path = Clean(t.Text(a, "path"), cwd)
		did[0].puts(t.Text(a, "text"))
	case Edit:
		if t.Is(Patch) {
			return patched(t.Text(a, "text"), cwd)
		}
		did[0].Path = Clean(t.Text(a, "path"), cwd)
		did[0].edits(t, a)
	case Search:
		did[0].Query, did[0].Path = t.Text(a, "query"), Clean(t.Text(a, "path"), cwd)
	case Fetch, Load, Delegate:
		did[0].Query = t.Text(a, "query")
	case Ask:
		did[0].Query = question(t, a)
	case Plan:
	default:
		return unknown(p, t, a, cwd)
	}
	return did
}

// each are the actions of a call that names several files.
func each(p *session.Part, t *Tool, a Arguments, cwd string) (did []Action) {
	for _, file := range t.List(a, "list") {
		did = append(did, Action{Op: t.Op, Path: Clean(t.Text(file, "path"), cwd), Exact: true})
	}
	if did == nil {
		return unknown(p, t, a, cwd)
	}
	return did
}

// unknown makes what can be made of a tool whose name says nothing: a command stays a command; of
// SWE-agent's editors without schema the words of the command line are in the Arguments.
func unknown(p *session.Part, t *Tool, a Arguments, cwd string) []Action {
	if strings.HasPrefix(strings.TrimSpace(a.Text("input", "patch")), "*** Begin Patch") {
		return patched(a.Text("input", "patch"), cwd)
	}
	did := Action{Op: Other, Query: t.Text(a, "query"), Path: Clean(t.Text(a, "path"), cwd), Exact: true}
	if did.Path == "" && did.Query == "" {
		did.Query = Cut(strings.Join(strings.Fields(p.State.Title), " "), 120)
	}
	return []Action{did}
}

// puts notes a text that was put into a file.
func (d *Action) puts(text string) {
	if text != "" {
		d.New, d.Added = Bound(text), LineCount(text)
	}
}

// edits counts what an edit put in place of what.
func (d *Action) edits(t *Tool, a Arguments) {
	switch verb := t.Text(a, "command"); {
	case t.Is(makes) && t.Text(a, "old") == "" && t.Text(a, "line") == "":
		d.Op = Create
		d.puts(t.Text(a, "new"))
		return
	case !t.Is(Commands):
	case verb == "view":
		d.Op = Read
		return
	case verb == "create":
		d.Op = Create
		d.puts(t.Text(a, "text"))
		return
	case verb == "undo_edit":
		return
	case verb == "insert":
		d.puts(t.Text(a, "insert"))
		return
	}
	list := t.List(a, "list")
	if len(list) == 0 {
		list = []Arguments{a}
	}
	for _, e := range list {
		before, after := t.Text(e, "old"), t.Text(e, "new")
		added, removed := changed(before, after)
		d.Added, d.Removed = d.Added+added, d.Removed+removed
		if len(d.Old)+len(d.New) < Examined {
			d.Old, d.New = join(d.Old, Bound(before)), join(d.New, Bound(after))
		}
	}
}

// question is what a tool asks the user.
func question(t *Tool, a Arguments) string {
	if text := t.Text(a, "query"); text != "" {
		return text
	}
	for _, q := range t.List(a, "list") {
		if text := t.Text(q, "item"); text != "" {
			return text
		}
	}
	return ""
}

// LineCount counts the lines of a text; the last one needs no newline.
func LineCount(text string) int {
	n := strings.Count(text, "\n")
	if text != "" && text[len(text)-1] != '\n' {
		n++
	}
	return n
}

// changed counts the lines that differ between two texts, what they share at head and tail taken
// off.
func changed(before, after string) (added, removed int) {
	if before == after {
		return 0, 0
	}
	old, fresh := Differing(SplitLines(before), SplitLines(after), nil)
	return len(fresh), len(old)
}

// Differing takes off the lines that two texts share at head and tail. Lines are the same if their
// keys are; nil: if they are equal.
func Differing(old, fresh []string, key func(string) string) (_, _ []string) {
	same := func(a, b string) bool { return a == b || key != nil && key(a) == key(b) }
	for len(old) > 0 && len(fresh) > 0 && same(old[0], fresh[0]) {
		old, fresh = old[1:], fresh[1:]
	}
	for len(old) > 0 && len(fresh) > 0 && same(old[len(old)-1], fresh[len(fresh)-1]) {
		old, fresh = old[:len(old)-1], fresh[:len(fresh)-1]
	}
	return old, fresh
}

// SplitLines splits a text; its last line needs no newline.
func SplitLines(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
}

func join(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "\n" + b
}

// Cut shortens a text to size bytes, ending at a whole character, and an ellipsis.
func Cut(text string, size int) string {
	if len(text) <= size {
		return text
	}
	return Beginning(text, size) + "…"
}

// Beginning returns at most the first size bytes of a text, ending at a whole character.
func Beginning(text string, size int) string {
	if size >= len(text) {
		return text
	}
	for size > 0 && !utf8.RuneStart(text[size]) {
		size--
	}
	return text[:size]
}
