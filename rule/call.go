package rule

import (
	"crypto/sha256"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/call"
	"github.com/winnowhq/winnow/coverage"
	"github.com/winnowhq/winnow/session"
)

// Call is what the rules know of a call that ended, without its texts.
type Call struct {
	Name    string // of the tool in lower case, the prefix of an MCP server taken off
	Cwd     string // the folder in which it ran, "" when that is not known
	Actions []call.Action
	Outcome call.Outcome
	// Same is equal for calls of one tool with equal arguments in one folder, Retried also where they differ in what does not change what is
	// done: a description, a limit of time.
	Same, Retried Identity
	// Shown is which lines of which files the call shows.
	Shown coverage.Shown
}

// Identity tells calls apart: equal ones are of the same tool, with the same arguments, in the same folder.
type Identity [16]byte

// Worked reports whether a call did what was asked, as far as the log tells.
func (c *Call) Worked() bool { return !c.Outcome.Failed }

// Command is the command that a call ran, "" when it ran none.
func (c *Call) Command() string {
	for i := range c.Actions {
		if c.Actions[i].Op == call.Run {
			return c.Actions[i].Command
		}
	}
	return ""
}

// Call understands a call that ended, once.
func (f *Facts) Call(p *session.Part, cwd string) *Call {
	known := f.know(p)
	if known.call == nil || known.call.Cwd != cwd {
		known.call = understand(p, cwd)
		f.counted++
	}
	return known.call
}

// understand reads a call. Of the actions the texts are dropped: the log has them.
func understand(p *session.Part, cwd string) *Call {
	did := call.Of(p, cwd)
	shows := coverage.OfCall(p, &did, cwd)
	for i := range did.Actions {
		did.Actions[i].Old, did.Actions[i].New = "", ""
	}
	c := &Call{Name: call.Name(p.Tool), Cwd: cwd, Actions: did.Actions, Outcome: did.Outcome, Shown: shows}
	c.Same, c.Retried = identities(p, cwd)
	return c
}

// volatile are arguments that change nothing about what a call does: words for people, and limits of time.
var volatile = []string{"description", "timeout", "timeout_ms", "timeoutMs", "yield_time_ms", "justification", "explanation", "toolSummary", "toolAction"}

// identities of a call. Arguments count whatever their order; one that is null is as if it were not there.
func identities(p *session.Part, cwd string) (same, retried Identity) {
	values := map[string]jsontext.Value{}
	if p.State.Input.Kind() == '{' {
		for name, value := range members(p.State.Input) {
			if value = value.Clone(); value.Canonicalize(jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true)) == nil && value.Kind() != 'n' {
				values[name] = value
			}
		}
	} else {
		values[""] = p.State.Input
	}
	all, lasting := sha256.New(), sha256.New()
	write := func(name, value string, both bool) {
		piece := []byte(name + "\x00" + value + "\x00")
		all.Write(piece)
		if both {
			lasting.Write(piece)
		}
	}
	write(p.Tool, cwd, true)
	for _, name := range slices.Sorted(maps.Keys(values)) {
		write(name, string(values[name]), !slices.Contains(volatile, name))
	}
	return Identity(all.Sum(nil)[:16]), Identity(lasting.Sum(nil)[:16])
}

// argument is the first of these arguments of a call that is a text, "" without one.
func argument(p *session.Part, names ...string) string {
	best, rank := "", len(names)
	if p.State == nil {
		return ""
	}
	for name, value := range members(p.State.Input) {
		if at := position(names, name); at < rank {
			if text := strings.TrimSpace(scalar(value)); text != "" {
				best, rank = text, at
			}
		}
	}
	return best
}
