package tools

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/bmatcuk/doublestar/v4"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/agent"
	"github.com/winnowhq/winnow/text/quantity"
)

// How many files one answer names.
const (
	globbed     = 100 // where nobody says how many
	mostGlobbed = 1000
)

// Glob finds files by name.
type Glob struct{}

func (Glob) Name() string           { return "glob" }
func (Glob) Description() string    { return told("glob").Description }
func (Glob) Schema() jsontext.Value { return told("glob").Schema }
func (Glob) Paged()                 {} // it keeps its answers short itself

// mostWays is how many ways a pattern may be read in, its alternatives multiplied: one name is
// tried with each of them, and no context ends that.
const mostWays = 10_000

// ways is in how many ways a pattern can be read, at most about mostWays².
func ways(pattern string) int {
	n, group := 1, 0
	for i := 0; i < len(pattern) && n <= mostWays; i++ {
		switch pattern[i] {
		case '\\':
			i++
		case '{':
			group++
		case ',':
			group = min(group+min(group, 1), mostWays)
		case '}':
			n, group = n*max(group, 1), 0
		}
	}
	return n
}

// checkPattern fails for a pattern of names that means nothing, or too much.
func checkPattern(a *arguments, pattern, asked string) {
	switch {
	case a.err != nil:
	case !doublestar.ValidatePattern(pattern):
		a.err = fmt.Errorf("%q is not a pattern for names: see that every [ and { is closed", asked)
	case ways(pattern) > mostWays:
		a.err = fmt.Errorf("%q has too many {alternatives}: ask for fewer at a time", asked)
	}
}

type dated struct {
	name    string
	changed time.Time
}

func (t Glob) Run(ctx context.Context, c agent.Call) (agent.Result, error) {
	a := argumentsOf(t.Name(), c.Input)
	pattern := a.need("pattern")
	limit := min(a.whole("limit", globbed, 1), mostGlobbed)
	asked, folder := pattern, cmp.Or(a.text("path"), c.Directory)
	// The folders that a pattern begins with are where the search begins, so that permission is
	// asked for what is really looked at.
	pattern = filepath.ToSlash(pattern)
	anywhere := !strings.Contains(pattern, "/")
	base, pattern := doublestar.SplitPattern(path.Clean(pattern))
	if path.IsAbs(base) || strings.HasPrefix(base, "~/") {
		folder = base
	} else {
		folder = path.Join(filepath.ToSlash(folder), base)
	}
	if anywhere {
		pattern = "**/" + pattern
	}
	checkPattern(a, pattern, asked)
	at, info, err := searched(ctx, c, a, folder)
	if err != nil {
		return agent.Result{}, err
	}
	if !info.IsDir() {
		return agent.Result{}, fmt.Errorf("%s is not a folder", at.shown)
	}
	var found []dated
	err = walk(ctx, at.path, func(e entry) error {
		if e.folder {
			return nil
		}
		if ok, err := doublestar.Match(pattern, e.name); !ok || err != nil {
			return err
		}
		d := dated{name: at.under(e.name)}
		if info, err := e.dir.Info(); err == nil {
			d.changed = info.ModTime()
		}
		found = append(found, d)
		return nil
	})
	if err != nil {
		return agent.Result{}, err
	}
	slices.SortFunc(found, func(a, b dated) int {
		return cmp.Or(b.changed.Compare(a.changed), strings.Compare(a.name, b.name))
	})
	shown := min(limit, len(found))
	for size, i := 0, 0; i < shown; i++ {
		if size += len(found[i].name) + 1; size > readBytes-500 {
			shown = i
		}
	}
	r := agent.Result{Title: asked, Metadata: map[string]any{"matches": len(found), "truncated": shown < len(found)}}
	if len(found) == 0 {
		r.Output = "No file in " + printable(at.shown) + " matches " + asked + "."
		return r, nil
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s, newest first:\n", quantity.Count(len(found), "file"))
	for _, d := range found[:shown] {
		b.WriteString(d.name + "\n")
	}
	if shown < len(found) {
		fmt.Fprintf(&b, "(%s more files not shown: narrow the pattern, or raise limit.)\n",
			quantity.Number(len(found)-shown))
	}
	r.Output = strings.TrimSuffix(b.String(), "\n")
	return r, nil
}
