package panel

import (
	"context"
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/winnowhq/winnow/agent/chat/internal/draw"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/text/quantity"
)

// mostPatch is how many lines of one file's changes are shown.
const mostPatch = 2000

// NewChanges shows what a session changed in files. read gives the changes, or says why they are
// not known.
func NewChanges(ctx context.Context, read func(ctx context.Context) ([]session.FileDiff, error), s draw.Style) (Panel,
	tea.Cmd) {
	p := &page{title: "What changed in files"}
	p.keys = func() string { return "↑↓ scroll · pgup pgdn · esc back" }
	p.enter = func() (bool, tea.Msg) { return true, nil }
	return p, p.read(s, "reading …", func() func(width int) []string {
		files, err := read(ctx)
		return func(width int) []string {
			switch {
			case err != nil:
				return draw.Wrap(draw.OneLine(draw.Explain(err)), width, "")
			case len(files) == 0:
				return dim(s, width, "no file was changed in this session")
			}
			return drawChanges(files, width, s)
		}
	})
}

func drawChanges(files []session.FileDiff, width int, s draw.Style) (lines []string) {
	added, removed := 0, 0
	for _, f := range files {
		added, removed = added+f.Additions, removed+f.Deletions
	}
	lines = dim(s, width, fmt.Sprintf("%s, +%s −%s", quantity.Count(len(files), "file"), quantity.Number(added),
		quantity.Number(removed)))
	for i := range files {
		f := &files[i]
		counts := fmt.Sprintf("  +%s −%s", quantity.Number(f.Additions), quantity.Number(f.Deletions))
		switch f.Status {
		case "added":
			counts += ", new"
		case "deleted":
			counts += ", deleted"
		}
		name := draw.OneLine(f.File)
		for _, l := range draw.Wrap(name+counts, width, "") {
			lines = append(lines, draw.Paint(s.Bold, l))
		}
		lines = append(append(lines, drawPatch(f.Patch, width, s)...), "")
	}
	return lines
}

// drawPatch draws a unified diff without the lines that name its files.
func drawPatch(patch string, width int, s draw.Style) (lines []string) {
	heading := true
	for line := range strings.Lines(patch) {
		line = strings.TrimRight(line, "\n")
		look := draw.Look("")
		switch {
		case strings.HasPrefix(line, "@@"):
			heading, look = false, s.Dim
		case heading:
			continue
		case strings.HasPrefix(line, "+"):
			look = s.Added
		case strings.HasPrefix(line, "-"):
			look = s.Removed
		}
		for _, piece := range draw.Chop(draw.Clean(line), width-len(draw.Gutter)) {
			lines = append(lines, draw.Gutter+draw.Paint(look, piece))
		}
		if len(lines) >= mostPatch {
			return append(lines, dim(s, width, "  … more than "+quantity.Count(mostPatch, "line"))...)
		}
	}
	return lines
}
