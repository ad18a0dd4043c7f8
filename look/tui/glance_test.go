package tui

import (
	"bytes"
	"strings"
	"testing"

	"github.com/winnowhq/winnow/look/display"
)

func TestGlance_takesNoMoreRowsThanThereAre(t *testing.T) {
	r := overflowing()
	g := Glance{Title: r.Title, About: []string{"claude-code", "3 h ago", "anthropic/claude-sonnet-4-5-20250929", "56 steps"},
		Report: &r}
	for _, name := range []string{"cost", "compact", "prune", "open"} {
		g.Facts = append(g.Facts, display.Fact{Name: name, Text: strings.Repeat("word ", 40)})
	}
	const fewest = 13 // the title, what it is, the window on three lines, four facts, with gaps
	for rows := fewest; rows < 40; rows++ {
		g.Rows = rows
		var out bytes.Buffer
		Painter{W: &out, Width: 40}.Glance(g)
		if n := strings.Count(out.String(), "\n"); n > rows {
			t.Errorf("%d lines on %d rows:\n%s", n, rows, &out)
		}
		if !strings.HasPrefix(out.String(), "Teach the kiln") {
			t.Errorf("it does not begin with the title:\n%s", &out)
		}
	}
}
