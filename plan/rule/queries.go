package rule

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/winnowhq/winnow/plan/call"
)

// Queries leaves out the answer to a question about the state of things (ls, git status) when it
// was asked again. It compares the whole command and the folder in which it ran ("cd /repo && ls"
// says that too), takes only commands that do nothing but ask, and wants both to have worked.
type Queries struct{ Age Age }

// Name is "queries".
func (*Queries) Name() string { return "queries" }

// Find looks at commands, and at tools that list files.
func (r *Queries) Find(w Window) Found {
	w = w.Read()
	seen := grow(w, r, func() *questions {
		return &questions{open: map[string][]*Item{},
			folders: map[string]string{}}
	})
	return w.Propose(r.Name(), r.Age, w.open(seen.found), func(f *Finding) string {
		return w.placeholder(f.Item, Output, "asked again below")
	})
}

// questions is what Queries reads off a timeline.
type questions struct {
	// open holds the calls whose answer is the newest, by the question; several that were asked in
	// one step.
	open    map[string][]*Item
	folders map[string]string // tool → the folder that its commands went to, "" for the first one
	found   []*Finding
}

func (q *questions) read(x *Item) {
	if x.Call == nil {
		return
	}
	key := q.key(x)
	q.follow(x)
	if key == "" || !worked(x) {
		return
	}
	open := []*Item{x}
	for _, old := range q.open[key] {
		if SameStep(old, x) {
			open = append(open, old)
			continue
		}
		q.found = append(q.found, &Finding{Item: old, Field: Output, By: []*Item{x}, Why: "it was asked again later"})
	}
	q.open[key] = open
}

// key names what a call asked, "" for calls that ask nothing.
func (q *questions) key(x *Item) string {
	if x.Call.Command() == "" && x.Call.Tool.Is(call.Lists) {
		return string(x.Call.Retried[:])
	}
	asks, folder := x.Call.Asks, x.Call.Entered
	if asks == "" {
		return ""
	}
	gone := ""
	if folder == "" {
		gone = q.folders[x.Part.Tool]
		if folder = Argument(x.Part, x.Call.Tool.Names("folder")...); folder == "" || !call.Rooted(folder) {
			folder = path.Join(x.Call.Cwd, folder)
		}
	}
	return x.Part.Tool + "\x00" + path.Clean(folder) + "\x00" + gone + "\x00" + asks
}

// follow notes where commands go to: in some products the shell stays there. Where that is not
// plain, it is a place of its own.
func (q *questions) follow(x *Item) {
	if !x.Call.Goes {
		return
	}
	to := fmt.Sprintf("? %d", x.At)
	if x.Call.Entered != "" && x.Call.Worked() && !x.Call.GoesOn {
		to = path.Clean(x.Call.Entered)
	}
	if to == x.Call.Cwd {
		to = ""
	}
	q.folders[x.Part.Tool] = to
}

// question notes what a command asks, and where it goes.
func (c *Call) question(ran *call.Call) {
	command := ran.Command()
	if command == "" {
		return
	}
	steps := ran.Steps()
	if len(steps) > 0 && steps[0].Alone && len(steps[0].Words) == 2 && steps[0].Words[0] == "cd" &&
		call.Rooted(steps[0].Words[1]) && (steps[0].After == "" || steps[0].After == "&&") {
		c.Entered, steps = steps[0].Words[1], steps[1:]
	}
	if len(steps) == 1 && steps[0].Alone && steps[0].After == "" && onlyAsks(steps[0].Words) {
		if c.Asks = strings.Join(steps[0].Words, "\x00"); steps[0].Looks {
			c.Asks += "\x00*"
		}
	}
	// A text that cannot be parsed is unknown.
	c.GoesOn = len(ran.Ran) == 0 && call.ContainsAny(command, "cd ", "pushd", "popd") ||
		slices.ContainsFunc(steps, func(s call.Step) bool {
			return len(s.Words) > 0 && (s.Words[0] == "cd" || s.Words[0] == "pushd" || s.Words[0] == "popd")
		})
	c.Goes = c.GoesOn || c.Entered != ""
}

// askers are programs whose answer is the state of something at the moment and nothing else, so
// that the newest answer is the one that is true. What reads contents (cat, grep, git show) is not
// among them: an earlier answer may be all that is left of what was there.
var askers = []string{"ls", "tree", "find", "fd", "pwd", "stat", "wc", "du", "df", "ps", "pgrep", "free", "printenv"}

// onlyAsks reports whether a simple command asks for the state of something and changes nothing.
func onlyAsks(words []string) bool {
	program, args := words[0], words[1:]
	has := func(does func(option string) bool) bool { return slices.ContainsFunc(args, does) }
	switch program {
	case "git":
		return gitAsks(args)
	case "docker", "podman":
		if len(args) > 1 && (args[0] == "compose" || args[0] == "container" || args[0] == "image") {
			args = args[1:]
		}
		return len(args) > 0 && (args[0] == "ps" || args[0] == "images" || args[0] == "ls")
	case "kubectl":
		return len(args) > 0 && args[0] == "get" && !has(func(w string) bool {
			return w == "-w" ||
				strings.HasPrefix(w, "--watch")
		})
	case "find":
		return !has(func(w string) bool {
			return strings.HasPrefix(w, "-delete") || strings.HasPrefix(w, "-exec") || strings.HasPrefix(w, "-ok") ||
				strings.HasPrefix(w, "-fprint") || w == "-fls"
		})
	case "fd":
		return !has(func(w string) bool {
			return strings.HasPrefix(w, "--exec") || strings.HasPrefix(w, "-") && !strings.HasPrefix(w, "--") &&
				strings.ContainsAny(w, "xX")
		})
	case "tree":
		return !has(func(w string) bool {
			return strings.HasPrefix(w, "-") && !strings.HasPrefix(w, "--") && strings.Contains(w, "o") ||
				strings.HasPrefix(w, "--output")
		})
	}
	return slices.Contains(askers, program)
}

// gitAsks is onlyAsks for git, whose commands of one name ask with some arguments and change with
// others: what is not known to ask does not.
func gitAsks(args []string) bool {
	for len(args) > 0 && strings.HasPrefix(args[0], "-") {
		switch {
		case args[0] == "--no-pager" || args[0] == "-P" || args[0] == "--no-optional-locks":
			args = args[1:]
		case args[0] == "-C" && len(args) > 1:
			args = args[2:]
		default:
			return false
		}
	}
	if len(args) == 0 {
		return false
	}
	sub, args := args[0], args[1:]
	written := slices.ContainsFunc(args, func(w string) bool { return strings.HasPrefix(w, "--ou") }) // --output=file
	switch sub {
	case "status":
		return true
	case "log":
		return !written
	case "diff":
		return !written && slices.ContainsFunc(args, func(w string) bool {
			return w == "--stat" || strings.HasPrefix(w, "--stat=") || w == "--shortstat" || w == "--numstat" ||
				w == "--name-only" || w == "--name-status"
		}) && !slices.ContainsFunc(args, func(w string) bool {
			return w == "-p" || w == "-u" || w == "--patch" ||
				w == "--patch-with-stat"
		})
	case "branch":
		return listsOnly(args, "-a", "-r", "-v", "-vv", "-av", "-avv", "-rv", "-va", "-vva", "--all", "--remotes",
			"--verbose", "--show-current", "--no-color")
	case "tag":
		return listsOnly(args)
	case "remote":
		return len(args) == 0 || len(args) == 1 && args[0] == "-v"
	case "stash", "worktree":
		return len(args) == 1 && args[0] == "list"
	}
	return false
}

// listsOnly reports whether the arguments of git branch or git tag only choose and order what is
// listed. An operand names what is to be made, unless one of the options before it asks for a list.
func listsOnly(args []string, options ...string) bool {
	listed := false
	for _, w := range args {
		switch {
		case w == "--list" || w == "--contains" || w == "--merged" || w == "--no-merged" || w == "--points-at":
			listed = true
		case slices.Contains(options, w), strings.HasPrefix(w, "--sort="), strings.HasPrefix(w, "--format="),
			strings.HasPrefix(w, "--contains="),
			strings.HasPrefix(w, "--merged="), strings.HasPrefix(w, "--no-merged="):
		case !listed || strings.HasPrefix(w, "-"):
			return false
		}
	}
	return true
}
