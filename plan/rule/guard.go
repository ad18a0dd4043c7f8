package rule

import (
	"fmt"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/winnowhq/winnow/session"
)

// Guard says what stays, whatever a rule finds. Do not change one that is in use: what it said of a
// part is remembered.
type Guard struct {
	Tools []string // globs over the names of tools
	Paths []string // globs over paths; a relative one matches in any folder
	// Least is how many tokens an elision must save to be worth a placeholder; less than 1 counts
	// as 1.
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
	return slices.ContainsFunc(g.Tools, func(glob string) bool { return glob == name || matches(glob, name) })
}

// Path reports whether a path is protected. Some agents name a file of the project by its whole
// path, others from the project's folder on, so "docs/**" is every folder docs.
func (g *Guard) Path(path string) bool {
	return slices.ContainsFunc(g.Paths, func(glob string) bool {
		return matches(glob, path) || !strings.HasPrefix(glob, "/") && matches("**/"+strings.TrimPrefix(glob, "./"), path)
	})
}

func matches(glob, name string) bool {
	ok, err := doublestar.Match(glob, name)
	return err == nil && ok
}

// guarded says why a call stays, "" when nothing protects it. It is asked once of each call, and of
// each name: a session comes back to few files, with few tools.
func (f *Facts) guarded(g *Guard, x *Item) string {
	if g == nil || x.Call == nil {
		return ""
	}
	if f.guard != g {
		f.guard, f.tools, f.paths = g, map[string]bool{}, map[string]bool{}
	}
	if x.known.guard != g {
		x.known.guard, x.known.guarded = g, stays(x.Part, x.Call, asked(f.tools, g.Tool), asked(f.paths, g.Path))
	}
	return x.known.guarded
}

// asked asks about each name once.
func asked(said map[string]bool, ask func(name string) bool) func(name string) bool {
	return func(name string) bool {
		is, known := said[name]
		if !known {
			is = ask(name)
			said[name] = is
		}
		return is
	}
}

// Stays says why a call stays, "" when nothing protects it. c is what is known of it; nil: nothing.
func (g *Guard) Stays(p *session.Part, c *Call) string {
	if g == nil {
		return ""
	}
	return stays(p, c, g.Tool, g.Path)
}

func stays(p *session.Part, c *Call, tool, protected func(name string) bool) string {
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

// ExcludeProtected removes the pinned and the guarded from the findings of a rule that knows of
// neither. The window must have been read.
func (w Window) ExcludeProtected(name string, found Found) Found {
	allowed := Found{Refusals: found.Refusals}
	for _, e := range found.Elisions {
		if why := w.stays(&e); why != "" {
			allowed.Refusals = append(allowed.Refusals, Refusal{Code: Protected, Rule: name, Part: e.Part, Reason: why,
				Tokens: max(0, e.Saves)})
			continue
		}
		allowed.Elisions = append(allowed.Elisions, e)
	}
	return allowed
}

// stays says why the call that an elision is of stays, "" when nothing protects it.
func (w Window) stays(e *Elision) string {
	if w.Pinned(e.Part, e.Message) {
		return "pinned"
	}
	if x := w.timeline.byPart[e.Part]; x != nil {
		return w.Facts.guarded(w.Guard, x)
	}
	_, p := session.FindPart(w.Messages, e.Part) // of a step that has not ended
	if p == nil || p.State == nil {
		return ""
	}
	c, _ := understand(p, w.timeline.cwd)
	return w.Guard.Stays(p, c)
}

// paths walks those that the call is about: as its arguments name them, and of what its output
// shows.
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
