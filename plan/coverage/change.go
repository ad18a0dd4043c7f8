package coverage

import (
	"strings"

	"github.com/winnowhq/winnow/plan/call"
	"github.com/winnowhq/winnow/session"
)

// changed understands the tools that write, edit and patch files.
func changed(p *session.Part, c *call.Call) Shown {
	actions := c.Actions
	output, ok := unwrap(p.State.Output)
	if !ok || !worked(output.text, actions) {
		return Shown{}
	}
	a := c.Arguments
	if dry := a.Text("dryRun", "dry_run"); dry == "true" || string(a.Get("dryRun")) == "true" ||
		string(a.Get("dry_run")) == "true" {
		return Shown{}
	}
	var s Shown
	if actions[0].Op == call.Create && len(actions) == 1 && !patchTool(c) {
		s.Views = []View{created(c, &actions[0], output.text)}
	} else {
		s.Views = patched(actions, len(p.State.Input) > call.Examined)
	}
	if v, only := snippet(p.State.Output, actions[0].Path); len(actions) == 1 && len(v.Lines) > 0 {
		s.Views, s.OutputIsViews = append(s.Views, v), only
	}
	return s.known()
}

// created is the view of a whole file in the arguments of the call that wrote it.
func created(c *call.Call, did *call.Action, output string) View {
	a := c.Arguments
	text, name := "", did.Path
	for _, member := range contents {
		if value := a.Get(member); value.Kind() == '"' {
			if text = did.New; !unquoted(c, did) {
				text = a.Text(member)
			}
			break
		}
	}
	mode := a.Text("mode")
	appended := mode != "" && mode != "w" && mode != "overwrite" && mode != "rewrite" && mode != "create" ||
		string(a.Get("append")) == "true"
	// Where a person changed the text before it was written, the arguments are not what the file
	// holds.
	modified := strings.Contains(output, "User modified") || strings.Contains(output, "user modified")
	lines := hashes(text)
	if len(lines) == 0 || appended || modified {
		return change(name)
	}
	return view(name, Input, 1, lines, true)
}

// contents are the arguments that may have the text of a file that is written.
var contents = call.ToolOf("write").Names("text")

// unquoted reports whether what a call wrote was taken out of its quotes when the call was
// understood, and is whole.
func unquoted(c *call.Call, did *call.Action) bool {
	if did.New == "" || len(did.New) >= call.Examined {
		return false
	}
	texts := 0
	for _, member := range contents {
		if c.Arguments.Has(member) {
			texts++
		}
	}
	return c.Entry().Op == call.Create && texts == 1
}

// patched are the views of what a patch does to each file. A file that is deleted has no view. cut
// is set where the patch may not have been seen whole.
func patched(actions []call.Action, cut bool) []View {
	var views []View
	for i := range actions {
		switch a := &actions[i]; a.Op {
		case call.Create:
			if lines := hashes(a.New + "\n"); a.Added == len(lines) && !cut {
				views = append(views, view(a.Path, Input, 1, lines, true))
			} else {
				views = append(views, change(a.Path))
			}
		case call.Edit:
			views = append(views, change(a.Path))
		case call.Move: // the file is not what it was, under either name
			views = append(views, change(a.Path), change(a.To))
		}
	}
	return views
}

// change is a view that says only that the file was changed.
func change(name string) View { return View{Path: name, Field: Input, Start: 1, Change: true} }

// known leaves out the views of files without a name.
func (s Shown) known() Shown {
	views := s.Views[:0]
	for _, v := range s.Views {
		if v.Path != "" {
			views = append(views, v)
		}
	}
	if len(views) == 0 {
		return Shown{}
	}
	s.Views = views
	return s
}

// snippet is the numbered piece of the file that some editors print after an edit.
func snippet(output, name string) (v View, only bool) {
	head, text, ok := strings.Cut(output, "`cat -n`")
	if !ok || len(head) > 5000 {
		return View{}, false
	}
	_, text = cut(text)
	first, _ := cut(text)
	s, ok := styled(first)
	if !ok || s.behind != "→" && s.behind != "\t" {
		return View{}, false
	}
	r, rest := s.next(text)
	return View{Path: name, Field: Output, Start: r.start, Lines: r.lines}, readTail(rest).only
}

// worked reports whether an editing tool said nothing of a failure. Not every product marks such a
// call as failed.
func worked(output string, actions []call.Action) bool {
	line, _ := cut(strings.TrimSpace(output))
	for i := range actions {
		line = strings.ReplaceAll(line, actions[i].Path, "")
		if at := strings.LastIndexAny(actions[i].Path, `/\`); at >= 0 {
			line = strings.ReplaceAll(line, actions[i].Path[at+1:], "")
		}
	}
	line = strings.ToLower(call.Cut(line, 300))
	if strings.HasPrefix(line, "success") || strings.HasPrefix(line, "done") {
		return true
	}
	return !call.ContainsAny(line, "error", "fail", "not found", "no match", "could not", "cannot", "unable",
		"invalid", "did not", "was not", "not unique", "multiple", "rejected",
		"no changes", "does not exist", "no replacement")
}

// patchTool reports whether a tool takes patches.
func patchTool(c *call.Call) bool {
	return c.Entry().Is(call.Patch) || strings.Contains(call.Name(c.Tool), "patch")
}

// fileHeader begins what the line editor of SWE-agent's older interfaces prints: "[File: /repo/a.py
// (90 lines total)]".
const fileHeader = "[File: "

// windowed understands that editor: a header with the path and the size of the file, then a window
// of numbered lines.
func windowed(output, verb string) Shown {
	head, text := cut(output)
	name, size, ok := strings.Cut(strings.TrimPrefix(head, fileHeader), " (")
	if !ok || !strings.HasSuffix(size, " lines total)]") || !call.Rooted(name) {
		return Shown{}
	}
	if line, rest := cut(text); strings.HasSuffix(line, " more lines above)") ||
		strings.HasSuffix(line, " more line above)") {
		text = rest
	}
	s := style{"", ":"}
	r, rest := s.next(text)
	only := true
	for line := range strings.Lines(rest) {
		line = strings.TrimSpace(line)
		only = only && (line == "" || line[0] == '(' || strings.HasPrefix(line, "bash-$") ||
			strings.HasPrefix(line, "File updated."))
	}
	v := View{Path: call.Clean(name, ""), Field: Output, Start: r.start, Lines: r.lines}
	total, ok := digits(size)
	v.End = ok && v.last() == total
	v.Full = v.End && v.Start == 1
	shown := one(v, only)
	if verb == "edit" || verb == "create" {
		shown.Views = append(shown.Views, change(v.Path))
	}
	return shown
}

// digits is the number that a text begins with.
func digits(text string) (n int, ok bool) {
	i := 0
	for ; i < len(text) && i < 9 && text[i] >= '0' && text[i] <= '9'; i++ {
		n = n*10 + int(text[i]-'0')
	}
	return n, i > 0
}
