package rule

import (
	"fmt"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/winnowhq/winnow/session"
)

// Guard says what stays whatever a rule finds. It is not changed once it is in use: what it said of a part is remembered.
type Guard struct {
	Tools []string // globs over the names of tools
	Paths []string // globs over paths; "**/x" means x wherever it is
	// Least is how many tokens an elision must save to be worth a placeholder; less than 1 counts as 1.
	Least int
}

func (g *Guard) least() int {
	if g == nil {
		return 1
	}
	return max(1, g.Least)
}

// Tool reports whether a tool is protected.
func (g *Guard) Tool(name string) bool {
	for _, glob := range g.Tools {
		if glob == name {
			return true
		}
		if ok, err := doublestar.Match(glob, name); err == nil && ok {
			return true
		}
	}
	return false
}

// Path reports whether a path is protected.
func (g *Guard) Path(path string) bool {
	for _, glob := range g.Paths {
		if ok, err := doublestar.Match(glob, path); err == nil && ok {
			return true
		}
		// "**/x" is meant to match x wherever it is, a bare relative path and an absolute one too.
		if ok, err := doublestar.Match(glob, "./"+path); err == nil && ok {
			return true
		}
	}
	return false
}

// guarded says why a call stays, "" when nothing protects it.
func (g *Guard) guarded(f *Facts, x *Item) string {
	if g == nil || x.Call == nil {
		return ""
	}
	if x.size.guard == g {
		return x.size.guarded
	}
	if f.guard != g {
		f.guard, f.guardedTools, f.guardedPaths = g, map[string]bool{}, map[string]bool{}
	}
	why := g.stays(x.Part, x.Call, once(f.guardedTools, g.Tool), once(f.guardedPaths, g.Path))
	x.size.guard, x.size.guarded = g, why
	return why
}

// once asks about each name once and remembers what was said: a session comes back to few files, with few tools.
func once(said map[string]bool, ask func(name string) bool) func(name string) bool {
	return func(name string) bool {
		is, known := said[name]
		if !known {
			is = ask(name)
			said[name] = is
		}
		return is
	}
}

// Stays says why a call stays, "" when nothing protects it. c is what is known of it, nil when that is nothing.
func (g *Guard) Stays(p *session.Part, c *Call) string {
	if g == nil {
		return ""
	}
	return g.stays(p, c, g.Tool, g.Path)
}

func (g *Guard) stays(p *session.Part, c *Call, tool, protected func(name string) bool) string {
	switch {
	case tool(p.Tool):
		return fmt.Sprintf("the tool %s is protected", p.Tool)
	case c == nil:
		return ""
	}
	last := "" // many calls name one file twice
	for path := range c.paths {
		if path != last && protected(path) {
			return path + " is protected"
		}
		last = path
	}
	return ""
}

// paths walks those that the call is about: as its arguments name them, as they were understood, and of what its output shows.
func (c *Call) paths(yield func(path string) bool) {
	for i := range c.Actions {
		for _, path := range [...]string{c.Actions[i].Path, c.Actions[i].To} {
			if path != "" && !yield(path) {
				return
			}
		}
	}
	for i := range c.Shown.Views {
		if !yield(c.Shown.Views[i].Path) {
			return
		}
	}
}

// may says whether an item that a rule found may go now. A refusal without a code is none worth telling.
func (w Window) may(name string, x *Item, field Field, age Age, letter bool) (Refusal, bool) {
	no := func(code Code, reason string) (Refusal, bool) {
		return Refusal{Code: code, Rule: name, Part: x.Part.ID, Reason: reason}, false
	}
	touched := w.Ledger.Touches(x.Part.ID)
	if touched && w.Ledger.Has(Key{x.Part.ID, field}) {
		return Refusal{}, false
	}
	if touched && (field == Output || field == Error || field == Attachments) {
		// What an output loses, its attachments lose with it, and what was shortened once stays as it was shortened.
		for _, other := range []Field{Output, Error, Attachments, Whole} {
			if other != field && w.Ledger.Has(Key{x.Part.ID, other}) {
				return Refusal{}, false
			}
		}
	}
	switch {
	case touched && x.Part.State != nil && x.Part.State.Time != nil && x.Part.State.Time.Compacted != 0:
		return Refusal{}, false
	case w.Pinned(x.Part.ID, x.Message):
		return no(Protected, "pinned")
	case !age.reached(x, &w.line().now, letter):
		return no(Recent, "it is too new: "+age.String())
	}
	if why := w.Guard.guarded(w.Facts, x); why != "" {
		return no(Protected, why)
	}
	return Refusal{}, true
}

// unsent reports whether a field of an item is what no request has had yet: what a call of the newest step gave, or what the user has said since. Arguments
// are the model's own.
func (w Window) unsent(x *Item, field Field) bool {
	return !w.Sent && x.Step == w.line().now.Step && field != Input && (x.Call != nil || x.Role == session.User)
}

func notSent(name string, x *Item) Refusal {
	return Refusal{Code: Recent, Rule: name, Part: x.Part.ID, Reason: "no request has had it yet"}
}

// String says what the age asks for.
func (a Age) String() string {
	switch {
	case a.Turns > 0 && a.Steps > 0:
		return fmt.Sprintf("it stays for %d turns or %d steps", a.Turns, a.Steps)
	case a.Turns > 0:
		return fmt.Sprintf("it stays for %d turns", a.Turns)
	case a.Steps > 0:
		return fmt.Sprintf("it stays for %d steps", a.Steps)
	}
	return "it need not be old"
}

// ended reports whether a part is a call that ended well.
func ended(p *session.Part) bool { return p.State != nil && p.State.Status == session.Completed }
