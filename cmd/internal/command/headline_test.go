package command

import (
	"strings"
	"testing"

	"github.com/mattn/go-runewidth"

	"github.com/winnowhq/winnow/cmd/internal/cli"
)

func TestDescriptions_fitTheScreen(t *testing.T) {
	for _, args := range [][]string{{"config", "--describe"}, {"config", "get", "compaction.keep", "--describe"}} {
		o := newDesk(t).run(args...)
		for line := range strings.Lines(o.stdout) {
			if n := runewidth.StringWidth(strings.TrimSuffix(line, "\n")); n > 80 && strings.HasPrefix(line, "  ") {
				t.Errorf("winnow %s: a line has %d columns: %s", strings.Join(args, " "), n, line)
			}
		}
	}
}

func TestSessionLine_fitsTheScreen(t *testing.T) {
	a := &cli.App{}
	a.Env.Width = 80
	const columns = 23
	for _, facts := range [][]string{{"shop", "5 min"}, {"tide-tables-of-the-whole-coast", "claude-cli/2.1.330", "6 days"}} {
		got := sessionLine(a, columns, strings.Repeat("word ", 20), facts...)
		if n := columns + runewidth.StringWidth(got); n > a.Env.Width || !strings.HasPrefix(got, "word word") {
			t.Errorf("%d columns of %d: %q", n, a.Env.Width, got)
		}
	}
}
