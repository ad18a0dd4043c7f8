package tools

import (
	"context"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/agent"
	"github.com/winnowhq/winnow/text/quantity"
)

// How many entries one answer names, and how many a walk for it looks at.
const (
	listedEntries = 300 // where nobody says how many
	mostListed    = 1500
	mostWalked    = 100_000
)

// List shows what is in a folder.
type List struct{}

func (List) Name() string           { return "list" }
func (List) Description() string    { return told("list").Description }
func (List) Schema() jsontext.Value { return told("list").Schema }
func (List) Paged()                 {} // it keeps its answers short itself

func (t List) Run(ctx context.Context, c agent.Call) (agent.Result, error) {
	a := argumentsOf(t.Name(), c.Input)
	depth := a.whole("depth", 1<<30, 1)
	limit := a.whole("limit", listedEntries, 1)
	at, info, err := searched(ctx, c, a, a.text("path"))
	if err != nil {
		return agent.Result{}, err
	}
	if !info.IsDir() {
		return agent.Result{}, fmt.Errorf("%s is a file: use read", at.shown)
	}
	var all []entry
	more := false
	err = walk(ctx, at.path, func(e entry) error {
		if len(all) == mostWalked {
			more = true
			return errStop
		}
		all = append(all, e)
		if e.folder && strings.Count(e.name, "/")+1 >= depth {
			return errSkip
		}
		return nil
	})
	if err != nil {
		return agent.Result{}, err
	}
	shown := upper(all, min(limit, mostListed))
	r := agent.Result{Title: at.shown, Metadata: map[string]any{"entries": len(all), "truncated": more ||
		len(shown) < len(all)}}
	r.Output = tree(at, all, shown, more)
	return r, nil
}

// upper chooses which entries are shown: whole levels from the top, of the first level that does
// not fit as many as do. Their order stays.
func upper(all []entry, limit int) []entry {
	var levels []int // entries of each level
	for _, e := range all {
		level := strings.Count(e.name, "/")
		for len(levels) <= level {
			levels = append(levels, 0)
		}
		levels[level]++
	}
	last, room := 0, limit
	for last < len(levels) && levels[last] <= room {
		room -= levels[last]
		last++
	}
	size := 0
	var shown []entry
	for _, e := range all {
		level := strings.Count(e.name, "/")
		if level > last || level == last && room == 0 {
			continue
		}
		if size += 2*level + len(path.Base(e.name)) + 2; size > readBytes-500 {
			break
		}
		if level == last {
			room--
		}
		shown = append(shown, e)
	}
	return shown
}

func tree(at place, all, shown []entry, more bool) string {
	var b strings.Builder
	root := printable(at.shown)
	if len(all) == 0 {
		return root + "/ holds nothing."
	}
	b.WriteString(root + "/\n")
	for _, e := range shown {
		b.WriteString(strings.Repeat("  ", strings.Count(e.name, "/")+1) + printable(path.Base(e.name)))
		switch {
		case e.folder:
			b.WriteByte('/')
		case e.dir.Type()&fs.ModeSymlink != 0:
			b.WriteByte('@')
		}
		b.WriteByte('\n')
	}
	switch left := len(all) - len(shown); {
	case more:
		fmt.Fprintf(&b, "(More than %s entries not shown: list a folder below.)", quantity.Number(left))
	case left > 0:
		fmt.Fprintf(&b, "(%s more entries not shown: list a folder below, or raise limit.)", quantity.Number(left))
	}
	return strings.TrimSuffix(b.String(), "\n")
}
