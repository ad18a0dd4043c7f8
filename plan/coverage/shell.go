package coverage

import (
	"math"
	"strconv"
	"strings"

	"github.com/winnowhq/winnow/plan/call"
	"github.com/winnowhq/winnow/session"
)

// span is a range of line numbers, both ends in it. to is endOfFile when it goes that far.
type span struct{ from, to int }

const endOfFile = math.MaxInt

// reading is a shell command that prints lines of one file and does nothing else.
type reading struct {
	path     string
	program  string // the first word, which its complaints begin with
	spans    []span // ascending
	numbered bool   // by cat -n or nl -ba
}

// ran understands shell commands: those that only print one file, and those that only apply a
// patch.
func ran(p *session.Part, c *call.Call, cwd string) Shown {
	text := c.Command()
	if verb, _, _ := strings.Cut(strings.TrimSpace(text), " "); call.ToolOf(verb).Is(call.Window) &&
		strings.HasPrefix(p.State.Output, fileHeader) {
		return windowed(p.State.Output, verb)
	}
	out, ok := unwrap(p.State.Output)
	if !ok || len(text) > call.Examined {
		return Shown{}
	}
	if folder := call.Clean(c.Folder(), cwd); folder != "" {
		cwd = folder
	}
	steps := c.Steps()
	if patchCommand(text, steps) {
		if actions := exact(c.Actions); len(actions) > 0 && worked(out.text, actions) && rooted(actions) {
			return Shown{Views: patched(actions, false)}.known()
		}
		return Shown{}
	}
	r, ok := parse(steps, cwd)
	if !ok || r.path == "" || cleared(out.text) || strings.HasPrefix(out.text, r.program+": ") {
		return Shown{}
	}
	if r.numbered {
		return r.counted(out)
	}
	return r.bare(out)
}

// patchCommand reports whether a command does nothing but apply a patch, in another folder perhaps.
func patchCommand(text string, steps []call.Step) bool {
	text = strings.TrimSpace(text)
	if strings.HasPrefix(text, "*** Begin Patch") || strings.HasPrefix(text, "apply_patch *** Begin Patch") {
		return strings.HasSuffix(text, "*** End Patch")
	}
	if _, rest, ok := entered(steps, ""); ok {
		steps = rest
	}
	return len(steps) == 1 && len(steps[0].Words) > 0 && (steps[0].Words[0] == "apply_patch" ||
		steps[0].Words[0] == "applypatch") && !steps[0].Writes && !steps[0].Part &&
		(steps[0].After == "" || steps[0].After == ";")
}

// exact are the actions that a patch names.
func exact(actions []call.Action) []call.Action {
	var all []call.Action
	for i := range actions {
		if actions[i].Op.Changes() && actions[i].Exact {
			all = append(all, actions[i])
		}
	}
	return all
}

// rooted reports whether it is sure which files are meant.
func rooted(actions []call.Action) bool {
	for i := range actions {
		if !call.Rooted(actions[i].Path) {
			return false
		}
	}
	return true
}

// entered takes "cd DIR &&" off, and gives the folder.
func entered(steps []call.Step, cwd string) (string, []call.Step, bool) {
	if len(steps) < 2 || steps[0].After != "&&" || steps[0].Writes || steps[0].Part || len(steps[0].Words) != 2 ||
		steps[0].Words[0] != "cd" || !call.PlainFile(steps[0].Words[1]) {
		return cwd, steps, false
	}
	return call.Clean(steps[0].Words[1], cwd), steps[1:], true
}

// parse understands a command, of which these are the steps, that prints lines of one file.
func parse(steps []call.Step, cwd string) (reading, bool) {
	cwd, steps, _ = entered(steps, cwd)
	if len(steps) == 0 || len(steps) > 2 {
		return reading{}, false
	}
	last := len(steps) - 1
	for i := range steps {
		s := &steps[i]
		if s.Writes || s.Part || len(s.Words) == 0 || i < last && s.After != "|" ||
			i == last && s.After != "" && s.After != ";" {
			return reading{}, false
		}
	}
	r := reading{program: steps[0].Words[0]}
	name, ok := r.source(steps[0].Words)
	if !ok || !call.PlainFile(name) || strings.ContainsAny(name, "[]\\") ||
		!call.Rooted(name) && (!call.Rooted(cwd) || strings.Contains(name, ":")) {
		return reading{}, false
	}
	if last == 1 {
		if len(r.spans) != 1 || r.spans[0] != (span{1, endOfFile}) {
			return reading{}, false // a range of a range
		}
		var rest string
		if r.spans, rest, ok = ranges(steps[1].Words); !ok || rest != "" {
			return reading{}, false
		}
	}
	r.path = call.Clean(name, cwd)
	return r, r.path != ""
}

// source understands the program that opens the file.
func (r *reading) source(words []string) (name string, ok bool) {
	args := words[1:]
	switch words[0] {
	case "cat":
		r.spans = []span{{1, endOfFile}}
		if len(args) > 0 && (args[0] == "-n" || args[0] == "--number") {
			r.numbered, args = true, args[1:]
		}
	case "nl":
		r.spans, r.numbered = []span{{1, endOfFile}}, true
		switch {
		case len(args) > 0 && (args[0] == "-ba" || args[0] == "--body-numbering=a"):
			args = args[1:]
		case len(args) > 1 && args[0] == "-b" && args[1] == "a":
			args = args[2:]
		default:
			return "", false // it numbers only lines that are not empty
		}
	default:
		r.spans, name, ok = ranges(words)
		return name, ok && name != ""
	}
	if len(args) != 1 || strings.HasPrefix(args[0], "-") {
		return "", false
	}
	return args[0], true
}

// ranges understands the programs that print some lines: sed -n, head, tail -n +K. name is "" where
// they read from a pipe.
func ranges(words []string) (spans []span, name string, ok bool) {
	args := words[1:]
	value := "" // the argument of -n
	switch words[0] {
	case "sed":
		if len(args) > 1 && args[0] == "-n" && args[1] == "-e" {
			args = args[1:]
		} else if len(args) == 0 || args[0] != "-n" && args[0] != "-ne" {
			return nil, "", false
		}
		if len(args) < 2 {
			return nil, "", false
		}
		spans, ok = script(args[1])
		args = args[2:]
	case "head", "tail":
		switch {
		case len(args) > 1 && (args[0] == "-n" || args[0] == "--lines"):
			value, args = args[1], args[2:]
		case len(args) > 0 && strings.HasPrefix(args[0], "--lines="):
			value, args = args[0][len("--lines="):], args[1:]
		case len(args) > 0 && strings.HasPrefix(args[0], "-n"):
			value, args = args[0][2:], args[1:]
		case len(args) > 0 && len(args[0]) > 1 && (args[0][0] == '-' && words[0] == "head" ||
			args[0][0] == '+' && words[0] == "tail"):
			value, args = strings.TrimPrefix(args[0], "-"), args[1:]
		case words[0] == "head":
			value = "10"
		}
		n, err := strconv.Atoi(strings.TrimPrefix(value, "+"))
		ok = err == nil && n > 0 && n < 1e9 && strings.HasPrefix(value, "+") == (words[0] == "tail")
		spans = []span{{1, n}}
		if words[0] == "tail" {
			spans = []span{{n, endOfFile}}
		}
	}
	if !ok || len(args) > 1 || len(args) == 1 && strings.HasPrefix(args[0], "-") {
		return nil, "", false
	}
	if len(args) == 1 {
		name = args[0]
	}
	return spans, name, true
}

// script understands a sed script that only prints ranges of lines: "1,20p", "7p", "5,$p",
// "1,5p;9,+3p", and one that stops behind them with "q".
func script(text string) ([]span, bool) {
	var spans []span
	for command := range strings.SplitSeq(text, ";") {
		command = strings.TrimSpace(command)
		if n, ok := strings.CutSuffix(command, "q"); ok && len(spans) > 0 {
			if at, whole := digits(n); whole && strconv.Itoa(at) == n && at >= spans[len(spans)-1].to {
				continue
			}
			return nil, false
		}
		bounds, ok := strings.CutSuffix(command, "p")
		if !ok {
			return nil, false
		}
		low, high, two := strings.Cut(strings.TrimSpace(bounds), ",")
		from, err := strconv.Atoi(low)
		if err != nil || from < 1 || from > 1e9 {
			return nil, false
		}
		s := span{from, from}
		switch {
		case two && high == "$":
			s.to = endOfFile
		case two:
			n, err := strconv.Atoi(strings.TrimPrefix(high, "+"))
			if err != nil || n < 0 || n > 1e9 {
				return nil, false
			}
			if s.to = n; high[0] == '+' {
				s.to += from
			}
		}
		if s.to < s.from || len(spans) > 0 && s.from <= spans[len(spans)-1].to || len(spans) >= ranged {
			return nil, false
		}
		spans = append(spans, s)
	}
	return spans, len(spans) > 0
}
