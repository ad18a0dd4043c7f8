package call

import (
	"path"
	"strings"

	"github.com/winnowhq/winnow/plan/shell"
)

// Step is one command of a shell text.
type Step struct {
	// Words are the program and its arguments, quotes taken off. Patterns and variables stand in
	// them as they were written.
	Words []string
	// Writes is set when its output goes into a file.
	Writes bool
	// After is the separator behind it: "&&", "||", ";" (a line's end too), "|", "&", or "" at the
	// end of the text.
	After string
	// Alone is set for a program with its arguments that nothing else is done with, and whose words
	// say all: see Simple.
	Alone bool
	// Looks is set where one of the words is a pattern for names of files, which the shell looks
	// up.
	Looks bool
	// Part is set for one that may not run, or runs elsewhere, or for something else: in a loop, a
	// branch, a substitution, a container.
	Part bool
}

// Steps are the commands of a shell text in the order in which they are reached. A text that a
// shell is asked to run is replaced by its own commands. A text that cannot be parsed has no steps.
// Where errors go and what a command is fed is left out.
func Steps(text string) []Step { return stepsOf(parseShell(text)) }

func stepsOf(script *shell.Script) []Step {
	if script == nil {
		return nil
	}
	steps := make([]Step, 0, len(script.Commands))
	for i := range script.Commands {
		c := &script.Commands[i]
		if c.Opened && len(c.Redirects) == 0 && len(c.Assigns) == 0 {
			continue
		}
		s := Step{Words: c.Texts(), After: c.After, Alone: alone(c), Part: c.Group > shell.Braced ||
			c.When == shell.Perhaps || c.Negated || c.Remote || c.Opened}
		for _, w := range c.Words {
			s.Looks = s.Looks || !w.Fixed()
		}
		for _, r := range c.Redirects {
			if output, appends := r.Output(); output || appends {
				s.Writes = true
			}
		}
		steps = append(steps, s)
	}
	return steps
}

// parseShell understands a text, nil where it cannot be parsed.
func parseShell(text string) *shell.Script {
	script, err := shell.Parse(text)
	if err != nil {
		return nil
	}
	return script
}

// command understands a shell command: that it ran, and which files it plainly touched. A text that
// cannot be parsed touched none.
func command(text, workdir, cwd string) ([]Action, *shell.Script) {
	if text == "" {
		return []Action{{Op: Run, Exact: true}}, nil
	}
	if workdir != "" {
		cwd = workdir
	}
	did := []Action{{Op: Run, Command: text, Exact: true}}
	// A patch that was sent as a word of its own has lost its quotes.
	if at := strings.Index(text, "*** Begin Patch"); at >= 0 && !strings.Contains(text[:at], "\n") &&
		!strings.Contains(text[:at], "<<") && !strings.ContainsAny(text[:at], "'\"") {
		return append(did, patched(text, cwd)...), nil
	}
	script := parseShell(text)
	return append(did, touched(script, cwd)...), script
}

// mostTouched is how many actions of one command are told.
const mostTouched = 60

// touches collects the files that a script touches.
type touches struct {
	did []Action
	// cwd are the folders of its environments, "" where it is not known.
	cwd  []string
	lost []bool // the folder of an environment was left for one that is not known
	seen []bool
}

func touched(script *shell.Script, cwd string) []Action {
	if script == nil {
		return nil
	}
	t := touches{cwd: make([]string, len(script.Outer)), lost: make([]bool, len(script.Outer)),
		seen: make([]bool, len(script.Outer))}
	t.cwd[0], t.seen[0] = cwd, true
	for i := range script.Commands {
		c := &script.Commands[i]
		if len(c.Words) > 0 && shell.Foreign(c.Words[0].Text) {
			return nil // its words may mean something else when they are joined
		}
		if !c.Remote {
			t.enter(script, c.Env)
			t.command(c)
		}
	}
	return t.did
}

// enter finds out where an environment begins: where the one around it is.
func (t *touches) enter(script *shell.Script, env int) {
	var way []int
	for ; !t.seen[env]; env = script.Outer[env] {
		way = append(way, env)
	}
	for i := len(way) - 1; i >= 0; i-- {
		outer := script.Outer[way[i]]
		t.cwd[way[i]], t.lost[way[i]], t.seen[way[i]] = t.cwd[outer], t.lost[outer], true
	}
}

// add notes what a command did to a file that one of its words names.
func (t *touches) add(c *shell.Command, a Action) {
	if len(t.did) >= mostTouched || !PlainFile(a.Path) || a.To != "" && !PlainFile(a.To) ||
		t.lost[c.Env] && !Rooted(a.Path) {
		return
	}
	a.Path = Clean(a.Path, t.cwd[c.Env])
	if a.To != "" {
		a.To = Clean(a.To, t.cwd[c.Env])
	}
	a.Maybe = c.When == shell.Perhaps
	if a.Path != "" {
		t.did = append(t.did, a)
	}
}

func (t *touches) command(c *shell.Command) {
	words := shell.Unwrap(c.Words)
	program := ""
	if len(words) > 0 {
		program = shell.Base(words[0].Text)
	}
	document := ""
	if d := c.Document(); d != nil && strings.HasPrefix(d.Op, "<<") && d.Op != "<<<" {
		document = d.Document
	}
	for _, r := range c.Redirects {
		if r.Target.Expands() {
			continue
		}
		switch output, appends := r.Output(); {
		case appends:
			t.add(c, Action{Op: Edit, Path: r.Target.Text, New: document, Added: LineCount(document)})
		case output && program == "cat":
			t.add(c, Action{Op: Create, Path: r.Target.Text, New: document, Added: LineCount(document)})
		case output:
			t.add(c, Action{Op: Create, Path: r.Target.Text})
		}
	}
	if program == "" || c.Keyword || c.Opened || words[0].Expands() {
		return
	}
	args := make([]string, len(words)-1)
	for i, w := range words[1:] {
		args[i] = w.Text
	}
	t.program(c, program, args, document)
}

// program notes what a program does to the files that its arguments name.
func (t *touches) program(c *shell.Command, program string, args []string, document string) {
	each := func(op Op, names []string) {
		for _, name := range names {
			t.add(c, Action{Op: op, Path: name})
		}
	}
	if program == "git" && len(args) > 1 && (args[0] == "rm" || args[0] == "mv") {
		program, args = args[0], args[1:]
	}
	switch program {
	case "cd", "pushd":
		if names := operands(args); len(names) == 1 && !strings.ContainsAny(names[0], "$`*") && names[0] != "-" {
			t.cwd[c.Env], t.lost[c.Env] = Clean(names[0], t.cwd[c.Env]), t.lost[c.Env] && !Rooted(names[0])
			return
		}
		t.lost[c.Env] = true
	case "popd":
		t.lost[c.Env] = true
	case "apply_patch", "applypatch":
		patch := document
		if patch == "" && len(args) > 0 {
			patch = args[0]
		}
		t.did = append(t.did, patched(patch, t.cwd[c.Env])...)
	case "cat", "head", "tail", "nl", "less", "more", "bat":
		if c.Shown {
			each(Read, operands(args, "n", "c", "r", "l"))
		}
	case "tee":
		each(Create, operands(args))
	case "sed", "perl":
		for _, a := range stream(program, args) {
			t.add(c, a)
		}
	case "rm", "unlink":
		each(Delete, operands(args))
	case "mv":
		if names := operands(args); len(names) == 2 {
			to := names[1]
			if strings.HasSuffix(to, "/") || path.Ext(to) == "" && path.Ext(names[0]) != "" { // into a folder
				to += "/" + path.Base(names[0])
			}
			t.add(c, Action{Op: Move, Path: names[0], To: to})
		}
	case "cp":
		if names := operands(args); len(names) == 2 {
			each(Create, names[1:])
		}
	case "touch":
		each(Create, operands(args))
	}
}

// stream understands sed and perl: in place they edit, else they read.
func stream(program string, args []string) []Action {
	inPlace, scripted := false, false
	script := ""
	var names []string
	for i := 0; i < len(args); i++ {
		w := args[i]
		switch {
		case w == "-e" || w == "-f" || w == "--expression":
			scripted = true
			if i++; i < len(args) {
				script = args[i]
			}
		case strings.HasPrefix(w, "--in-place"), strings.HasPrefix(w, "-") && !strings.HasPrefix(w, "--") &&
			strings.Contains(w, "i"):
			inPlace = true
			if program == "perl" && strings.HasSuffix(w, "e") {
				scripted = true
				if i++; i < len(args) {
					script = args[i]
				}
			} else if w == "-i" && i+1 < len(args) && args[i+1] == "" {
				i++ // the empty suffix of BSD's sed
			}
		case strings.HasPrefix(w, "-"):
		case !scripted:
			script, scripted = w, true
		default:
			names = append(names, w)
		}
	}
	if program == "perl" && !inPlace {
		return nil
	}
	op := Read
	if inPlace {
		op = Edit
	}
	var did []Action
	for _, name := range names {
		a := Action{Op: op, Path: name}
		if inPlace {
			a.New = script
		}
		did = append(did, a)
	}
	return did
}

// operands are the words that are no options; the options named in valued take the next word with
// them.
func operands(args []string, valued ...string) []string {
	var names []string
	for i := 0; i < len(args); i++ {
		w := args[i]
		if strings.HasPrefix(w, "-") && len(w) > 1 {
			for _, v := range valued {
				if w == "-"+v {
					i++
				}
			}
			continue
		}
		names = append(names, w)
	}
	return names
}

// PlainFile reports whether a word of a shell command is surely the name of a file: no variables,
// no patterns, no devices.
func PlainFile(word string) bool {
	return word != "" && word != "-" && word != "." && word != ".." && len(word) < 400 &&
		!strings.ContainsAny(word, "$`*?<>{}()|;=\"'!,\n\x00") &&
		!strings.HasPrefix(word, "/dev/") && !strings.HasPrefix(word, "&") && !strings.Contains(word, "://") &&
		!AllDigits(word)
}

func AllDigits(word string) bool { return strings.Trim(word, "0123456789+-") == "" }
