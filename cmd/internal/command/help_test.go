package command

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/winnowhq/winnow/cmd/internal/cli"
	"github.com/winnowhq/winnow/gateway/shared"
)

func TestHelp_everyCommandHasAnExampleThatIsItsOwn(t *testing.T) {
	root := root(&cli.App{Env: cli.System(), Shared: shared.None(errors.New("no database"))})
	var check func(*cobra.Command)
	check = func(cmd *cobra.Command) {
		if cmd.Short == "" || strings.HasSuffix(cmd.Short, ".") {
			t.Errorf("%s: what it does is %q", cmd.CommandPath(), cmd.Short)
		}
		_, called, _ := strings.Cut(cmd.CommandPath(), " ") // by winnow, or by winnowd
		if !strings.Contains(cmd.Example, "  winnow "+called) && !strings.Contains(cmd.Example, "  winnowd "+called) {
			t.Errorf("%s has no example of itself", cmd.CommandPath())
		}
		for _, inner := range cmd.Commands() {
			check(inner)
		}
	}
	for _, cmd := range root.Commands() {
		if renamed()[cmd.Name()] == "" && cmd.Name() != advanced {
			check(cmd)
		}
	}
}

// A stranger sees at most 19 commands, on one screen, and finds all others behind them.
func TestHelp_fitsOneScreen(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	help := d.run("--help")
	help.wants(t, cli.ExitDone, "")
	lines := strings.Split(strings.TrimRight(help.stdout, "\n"), "\n")
	if len(lines) > 40 {
		t.Errorf("--help has %d lines, at most 40 are wanted:\n%s", len(lines), help.stdout)
	}
	root := root(&cli.App{Env: cli.System(), Shared: shared.None(errors.New("no database"))})
	more := d.run("help", "advanced").stdout
	listed := 0
	for _, cmd := range root.Commands() {
		line := fmt.Sprintf("\n  %-9s ", cmd.Name())
		switch {
		case strings.Contains(help.stdout, line):
			listed++
		case renamed()[cmd.Name()] == "" && cmd.Name() != advanced && !strings.Contains(more, "\n  "+cmd.Name()+" "):
			t.Errorf("no help names %s", cmd.Name())
		}
	}
	if listed == 0 || listed > 19 {
		t.Errorf("--help lists %d commands, at most 19 are wanted", listed)
	}
	for _, name := range []string{"--store", "--json", "Exit codes", "latest"} {
		if !strings.Contains(more, name) {
			t.Errorf("help advanced does not tell of %s", name)
		}
	}
}

// Help is as wide as the terminal.
func TestHelp_wrapsToTheTerminal(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	for _, args := range [][]string{{"--help"}, {"protect", "--help"}, {"help", "advanced"}} {
		text, _, _ := strings.Cut(d.wide(60, args...), "Flags")
		for line := range strings.SplitSeq(text, "\n") {
			if !strings.HasPrefix(line, "  ") && len([]rune(line)) > 60 {
				t.Errorf("%q: a line has %d columns: %s", args, len([]rune(line)), line)
			}
		}
	}
}

// An old name works, and says the new one; a word that means a command names it.
func TestHelp_oldAndMistypedNames(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.run("models").wants(t, cli.ExitDone, "winnow models is now winnow config models")
	for typed, want := range map[string]string{"compress": "compact", "week": "cost", "inspct": "inspect", "kep": "", "sessions": "ls"} {
		o := d.run(typed)
		if o.code != cli.ExitUsage || want != "" && !strings.Contains(o.stderr, fmt.Sprintf("did you mean %q?", want)) {
			t.Errorf("%s: %d, %s", typed, o.code, o.stderr)
		}
	}
}

// Help and hints of winnowd name winnowd, which has all commands, and the command that was meant.
func TestHelp_ofWinnowdNamesIt(t *testing.T) {
	t.Parallel()
	d := newTeamDesk(t)
	for _, args := range [][]string{{"tenant", "set", "lim", "--foo", "1"}, {"tenant", "set"}} {
		o := d.run(args...)
		if o.code != cli.ExitUsage || !strings.Contains(o.stderr, "see winnowd tenant set --help") || strings.Contains(o.stderr, "winnow set") {
			t.Errorf("%q: %d %s", args, o.code, o.stderr)
		}
	}
	for _, args := range [][]string{{"--help"}, {"serve", "--help"}, {"ls", "--help"}, {"store", "migrate", "--help"}, {"store"}} {
		o := d.run(args...)
		for _, word := range []string{"winnow serve", "winnow ls", "winnow cost", "winnow store"} {
			if text := o.stdout + o.stderr; strings.Contains(text, word) || !strings.Contains(text, "winnowd ") {
				t.Errorf("%q says %q:\n%s", args, word, text)
			}
		}
	}
	newDesk(t).run("serve", "--foo").wants(t, cli.ExitUsage, "see winnow serve --help")
}
