package advise

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/winnowhq/winnow/plan/call"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/text/quantity"
)

// Lines is how many lines of an output would be kept: the last ones of a command, where results are
// summed up, the first ones of a search.
const Lines = 40

// outputs are those of one command or tool in a session.
type outputs struct {
	calls, unquoted int
	tokens          int     // of the unquoted ones
	cost            float64 // of carrying the unquoted ones
	gain            float64 // of keeping Lines of each
	head            bool    // the first lines would be kept
	command         bool
	example         string // the dearest unquoted one
	dearest         float64
}

// outputsOf sums up the outputs of a session by what they are of. Those that the product itself
// left out later are not counted: from when on is not known. Of an output that a step did quote,
// what stands outside the kept lines would have had to be asked for again: that is taken off the
// gain.
func outputsOf(src Source, c *carried) map[string]*outputs {
	log, all := src.Doc.Session.Messages, map[string]*outputs{}
	directory := call.Directory(log)
	for _, taken := range src.Trace.Outputs() {
		m := &log[taken.Message]
		p := &m.Parts[taken.Part]
		if src.Doc.Ledger.Touches(p.ID) || c.next(taken.Message) == nil {
			continue
		}
		one := call.Of(p, directory)
		name, command, head := nameOf(p, &one)
		if name == "" {
			continue
		}
		o := all[name]
		if o == nil {
			o = &outputs{head: head, command: command}
			all[name] = o
		}
		o.calls++
		total, kept, first, last := keep(p, head, src)
		left := taken.Tokens - kept
		outside := slices.ContainsFunc(taken.Lines, func(n int) bool { return n < first || n >= last })
		switch {
		case len(taken.Lines) == 0:
			cost := c.carry(taken.Message, taken.Tokens)
			o.unquoted, o.tokens, o.cost = o.unquoted+1, o.tokens+taken.Tokens, o.cost+cost
			if cost > o.dearest {
				o.dearest, o.example = cost, cmp.Or(one.Target(), p.Tool)
			}
			if total > Lines && left > 0 {
				o.gain += c.carry(taken.Message, left)
			}
		case total > Lines && left > 0 && outside:
			o.gain -= c.next(taken.Message).again()
		}
	}
	for name, o := range all {
		o.example = rule.Shorten(strings.Join(strings.Fields(o.example), " "), 60)
		if o.unquoted == 0 {
			delete(all, name)
		}
	}
	return all
}

// nameOf says what an output is of: the program of a command, else the tool; "" for what shows or
// changes a file, which other findings are about, and for what is no output of a tool that one
// could ask for less.
func nameOf(p *session.Part, c *call.Call) (name string, command, head bool) {
	for i := range c.Actions {
		switch a := &c.Actions[i]; a.Op {
		case call.Create, call.Edit, call.Delete, call.Move, call.Plan, call.Load, call.Ask, call.Delegate:
			if c.Main == nil {
				return "", false, false
			}
		case call.Read:
			if c.Main == nil || a.Exact {
				return "", false, false
			}
		}
	}
	if main := mainOf(c); main != nil {
		if slices.Contains(showing, main.Name) || !plain(main.Name) {
			return "", false, false
		}
		return main.Name, true, main.Kind == call.Look
	}
	if c.Command() != "" || !plain(p.Tool) {
		return "", false, false // a command that cannot be parsed
	}
	return p.Tool, false, true
}

// mainOf is the program that a command is known by, or the first one that prints something, where
// that one only prepares the others.
func mainOf(c *call.Call) *call.Invocation {
	if c.Main == nil || !slices.Contains(preparing, c.Main.Name) {
		return c.Main
	}
	for i := range c.Ran {
		if !slices.Contains(preparing, c.Ran[i].Name) {
			return &c.Ran[i]
		}
	}
	return nil
}

// showing are programs that show files, as tools for reading do; preparing print next to nothing.
var (
	showing   = []string{"cat", "head", "tail", "sed", "nl", "bat", "less", "more", "awk"}
	preparing = []string{"cd", "pushd", "popd", "pwd", "echo", "printf", "set", "export", "source", ".", "true",
		"sleep", "mkdir", "touch", "wait"}
)

// plain reports whether a name can stand in a sentence and in a command as it is.
func plain(name string) bool {
	return name != "" && len(name) <= 60 && strings.Trim(name,
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 _-./:") == ""
}

// keep says how many lines an output has, what the kept ones take, and which they are.
func keep(p *session.Part, head bool, src Source) (lines, tokens, first, last int) {
	text := p.State.Result()
	lines = strings.Count(strings.TrimRight(text, "\n"), "\n") + 1
	if lines <= Lines {
		return lines, src.Count.Count(text), 0, lines
	}
	all := strings.SplitAfter(text, "\n")
	first, last = lines-Lines, lines
	if head {
		first, last = 0, Lines
	}
	return lines, src.Count.Count(strings.Join(all[first:last], "")), first, last
}

// findOutputs finds commands and tools of whose outputs most were never quoted by a later step.
//
// Cost: of carrying the unquoted outputs whole, in every request up to the next fold. Gain: of
// carrying all but Lines lines of them; less a further request for each output of the same command
// or tool that was quoted outside these lines. Error: over sessions; and tokens are estimated. What
// a step read and did not write is not seen: a command whose result says "ok" was read, so the
// lines that say it are kept.
func findOutputs(sessions []Session) []Finding {
	names := map[string]*outputs{}
	samples := map[string]*sample{}
	for i := range sessions {
		for name, o := range sessions[i].outputs {
			sum := names[name]
			if sum == nil {
				sum = &outputs{head: o.head, command: o.command}
				names[name], samples[name] = sum, sampleOf(sessions)
			}
			sum.calls, sum.unquoted, sum.tokens = sum.calls+o.calls, sum.unquoted+o.unquoted, sum.tokens+o.tokens
			if o.dearest > sum.dearest {
				sum.dearest, sum.example = o.dearest, o.example
			}
			samples[name].add(&sessions[i], o.cost, o.gain)
		}
	}
	var found []Finding
	for name, o := range names {
		x := samples[name]
		f := Finding{Kind: Outputs, Cost: x.cost, Gain: x.gain, Error: x.error(true), Where: "AGENTS.md"}
		f.Title = fmt.Sprintf("%s of %s of `%s` were never quoted by a later step", quantity.Number(o.unquoted),
			quantity.Count(o.calls, "output"), name)
		f.Evidence = []string{
			fmt.Sprintf("They have %s tokens together, and every request up to the next compaction carried them.",
				quantity.Number(o.tokens)),
			fmt.Sprintf("For example: %s (%s).", o.example, quantity.Dollars(o.dearest)), x.dearest()}
		switch {
		case o.command && !o.head:
			f.Line = fmt.Sprintf("Run `%s` quietly, and keep the end of what it prints: `%s … 2>&1 | tail -n %d`.",
				name, name, Lines)
		case o.command:
			f.Line = fmt.Sprintf("Keep the beginning of what `%s` prints: `%s … | head -n %d`.", name, name, Lines)
		default:
			f.Line = fmt.Sprintf("Ask %s for no more than %d lines at a time.", name, Lines)
		}
		f.Change = fmt.Sprintf("have agents keep %d lines of it", Lines)
		found = append(found, f)
	}
	slices.SortFunc(found, func(a, b Finding) int { return strings.Compare(a.Title, b.Title) })
	return found
}
