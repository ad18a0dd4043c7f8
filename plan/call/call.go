// Package call says what a tool call did. It understands the tools of the coding agents in
// use by their names and arguments: files that were read and changed, commands that ran, what was
// looked for, and how it ended.
//
// Everything is taken from the log alone; nothing is guessed beyond it. Of very long texts the head
// and the tail are looked at.
package call

import (
	"path"
	"slices"
	"strings"

	"github.com/winnowhq/winnow/plan/shell"
	"github.com/winnowhq/winnow/session"
)

// Op is what an action did.
type Op string

const (
	Read     Op = "read"     // looked at a file
	Create   Op = "create"   // wrote a whole file
	Edit     Op = "edit"     // changed a piece of a file
	Delete   Op = "delete"   // removed a file
	Move     Op = "move"     // gave a file another path: Action.To
	Run      Op = "run"      // ran a command
	Search   Op = "search"   // looked for text or names
	Fetch    Op = "fetch"    // asked the network
	Plan     Op = "plan"     // wrote the todo list
	Load     Op = "load"     // loaded a skill
	Ask      Op = "ask"      // asked the user
	Delegate Op = "delegate" // gave a task to another agent
	Other    Op = "other"    // a tool that this package does not know
)

// Changes reports whether the op leaves a file different from before.
func (o Op) Changes() bool { return o == Create || o == Edit || o == Delete || o == Move }

// Action is one thing that a call did. One call may do several: a patch changes many files.
type Action struct {
	Op Op
	// Path is the file or folder, cleaned; absolute where the log tells in which folder the call
	// ran.
	Path string
	To   string // the new path of a Move
	// Command of a Run, as it was sent.
	Command string
	// Query of a Search (the pattern) or Fetch (the URL or the words), name of a Load.
	Query string
	// Added and Removed count lines of a Create or Edit, where the Arguments tell; both 0 when they
	// do not.
	Added, Removed int
	// Old and New are the texts of a Create or Edit that Added and Removed were counted from, cut
	// to Examined bytes.
	Old, New string
	// Exact is false for an action that was read off a shell command, where quoting or variables
	// may deceive.
	Exact bool
	// Maybe is set where it is not even sure that the command was reached: in a branch, a loop,
	// behind "||".
	Maybe bool
}

// Call is one tool call of a log, understood.
type Call struct {
	// Message and Part are the position in the log: messages[Message].Parts[Part].
	Message, Part     int
	MessageID, PartID string
	Tool              string
	Status            session.Status
	Actions           []Action
	Outcome           Outcome
	// Ran are the programs of the call's command, and Main the one that it is known by; nil when it
	// ran none.
	Ran  []Invocation
	Main *Invocation

	Detached bool // a command that goes on in the background

	// Arguments as the call has them. Members is set where they are the members of its input, each
	// as it stands there.
	Arguments Arguments
	Members   bool

	tool   *Tool
	script *shell.Script // its command, nil where it cannot be parsed
}

// Entry is what the table of tools says of the tool that the call used.
func (c *Call) Entry() *Tool {
	if c.tool == nil {
		return unknownTool
	}
	return c.tool
}

// Folder is the folder that a call of a command asked for, "" where it did not.
func (c *Call) Folder() string { return c.Entry().Text(c.Arguments, "folder") }

// Steps are the commands of the call's command, as the function of that name gives them.
func (c *Call) Steps() []Step { return stepsOf(c.script) }

// Target says what the call was about: its command, path, query, or nothing.
func (c *Call) Target() string {
	for i := range c.Actions {
		a := &c.Actions[i]
		switch {
		case a.Command != "":
			return a.Command
		case a.Query != "":
			return a.Query
		case a.Path != "":
			return a.Path
		}
	}
	return ""
}

// Command is the command that the call ran, "" when it ran none.
func (c *Call) Command() string {
	for i := range c.Actions {
		if c.Actions[i].Op == Run {
			return c.Actions[i].Command
		}
	}
	return ""
}

// Looks reports whether a call only looked at something, so that doing it changed nothing: it read
// or searched files, or ran commands that only look and write into no file. What is not understood
// does not only look.
func (c *Call) Looks() bool {
	for i := range c.Actions {
		switch c.Actions[i].Op {
		case Read, Search:
		case Run:
			writes := func(s Step) bool { return s.Writes }
			if c.Main == nil || c.Main.Kind != Look || slices.ContainsFunc(c.Steps(), writes) {
				return false
			}
		default:
			return false
		}
	}
	return len(c.Actions) > 0
}

// Calls understands every tool call of a log, in its order.
func Calls(messages []session.Message) []Call {
	calls := readCalls(messages)
	judgeSilent(calls)
	return calls
}

// Parted is [Calls] of the first n messages of a log, and of the whole log, each call read once.
func Parted(messages []session.Message, n int) (first, all []Call) {
	all = readCalls(messages)
	if Directory(messages[:n]) != Directory(messages) {
		first = readCalls(messages[:n])
	} else {
		end := slices.IndexFunc(all, func(c Call) bool { return c.Message >= n })
		if end < 0 {
			end = len(all)
		}
		first = slices.Clone(all[:end])
	}
	judgeSilent(first)
	judgeSilent(all)
	return first, all
}

// readCalls are the calls of a log, each by itself: see judgeSilent.
func readCalls(messages []session.Message) []Call {
	var calls []Call
	cwd := Directory(messages)
	opened := "" // the file in the window of a line editor
	for i := range messages {
		m := &messages[i]
		if m.Path != nil && m.Path.Cwd != "" {
			cwd = m.Path.Cwd
		}
		for j := range m.Parts {
			p := &m.Parts[j]
			if p.Type != session.ToolPart || p.State == nil {
				continue
			}
			c := Call{Message: i, Part: j, MessageID: m.ID, PartID: p.ID, Tool: p.Tool, Status: p.State.Status}
			c.tool, c.Arguments, c.Members = used(p)
			c.Actions, c.script = actions(p, c.tool, c.Arguments, cwd)
			opened = windowed(&c, opened, cwd)
			c.judge(p)
			calls = append(calls, c)
		}
	}
	return calls
}

// Of understands one tool call by itself, in the folder that it ran in ("" when unknown). What only
// the rest of the log tells is left open: which file a line editor has open, and whether the
// product reports failed commands as failed calls.
func Of(p *session.Part, cwd string) Call {
	if p.Type != session.ToolPart || p.State == nil {
		return Call{}
	}
	c := Call{MessageID: p.MessageID, PartID: p.ID, Tool: p.Tool, Status: p.State.Status}
	c.tool, c.Arguments, c.Members = used(p)
	c.Actions, c.script = actions(p, c.tool, c.Arguments, cwd)
	c.judge(p)
	return c
}

func (c *Call) judge(p *session.Part) {
	if c.script != nil {
		c.Ran = invocations(c.script)
		c.Main = Main(c.Ran)
	}
	c.Outcome = outcome(p, c)
}

// Directory is the folder in which a log says that it was written, "" when it does not say.
func Directory(messages []session.Message) string {
	for i := range messages {
		if p := messages[i].Path; p != nil && p.Cwd != "" {
			return p.Cwd
		}
	}
	return ""
}

// Clean makes a path absolute in a folder, where that is known, and takes detours out of it.
func Clean(name, cwd string) string {
	name = strings.TrimSpace(name)
	name = strings.TrimPrefix(name, "file://")
	if name == "" || len(name) > 4096 || strings.ContainsAny(name, "\n\x00") {
		return ""
	}
	if !Rooted(name) && cwd != "" {
		if strings.Contains(cwd, `\`) && !strings.Contains(cwd, "/") {
			return strings.TrimRight(cwd, `\`) + `\` + strings.ReplaceAll(strings.TrimPrefix(name, "./"), "/", `\`)
		}
		name = cwd + "/" + name
	}
	if strings.Contains(name, `\`) {
		return name
	}
	return path.Clean(name)
}

// Rooted reports whether a path begins at a root: "/a", "~/a", `C:\a`, "C:/a", `\\host\a`.
func Rooted(name string) bool {
	return strings.HasPrefix(name, "/") || strings.HasPrefix(name, "~") || strings.HasPrefix(name, "$") ||
		strings.HasPrefix(name, `\\`) ||
		len(name) > 2 && name[1] == ':' && (name[2] == '\\' || name[2] == '/')
}

// Shorten gives a path relative to a folder when it is below it.
func Shorten(name, directory string) string {
	if directory == "" {
		return name
	}
	directory = strings.TrimRight(directory, `/\`)
	if rest, ok := strings.CutPrefix(name, directory); ok {
		switch {
		case rest == "":
			return "."
		case rest[0] == '/' || rest[0] == '\\':
			return rest[1:]
		}
	}
	return name
}
