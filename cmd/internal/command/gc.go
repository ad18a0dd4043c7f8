package command

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/winnowhq/winnow/cmd/internal/cli"
	"github.com/winnowhq/winnow/cmd/internal/source"
	"github.com/winnowhq/winnow/desk/archive"
	"github.com/winnowhq/winnow/desk/config"
	"github.com/winnowhq/winnow/desk/discover"
	"github.com/winnowhq/winnow/text/quantity"
)

// gcFlags are those of gc.
type gcFlags struct {
	older    string // an age; "" archives nothing
	shrink   bool
	project  string
	product  string
	dry      bool
	undo     bool
	archived bool
	force    bool
}

// The age of the sessions that gc offers to archive.
const (
	usualDays = 30
	usualAge  = "30d"
)

func gcCommand(a *cli.App) *cobra.Command {
	var f gcFlags
	cmd := &cobra.Command{
		Use:   "gc",
		Short: "Show the disk space of sessions, archive old ones, and shrink others",
		Long: `gc shows how much disk space the sessions of agents take, by product and project, and what
winnow itself keeps. It changes nothing.

With --archive AGE it compresses sessions that were not written to for that long, one file each, into
$XDG_DATA_HOME/winnow/archive, and removes them from their place. Each compressed file is read back and
compared first. The newest session of a project stays, and so does a session whose sub-agents or forks
are newer. A file that a program has open, that was written to in the last hour, or that is reached
through a link is left alone. Sessions of OpenCode, Kilo, Copilot CLI, Cline and OpenHands are measured
only: a database or a folder holds them.

With --shrink it takes bytes out of Claude Code's session files that Claude Code never reads again:
progress records, file-history snapshots that a later one replaces, and pictures that were pruned or
folded. The files keep their place and date, and the bytes go into the archive. Other pictures are sent
again, and a fork reads the history that it copied: both stay.

--dry-run shows what --archive or --shrink would do. "winnow restore SESSION" brings a session back
with its bytes, permissions and date, --undo all of the newest run; lines that an agent has added to a
shrunk file stay. The compressed copy stays, too. Before winnow changes a shrunk file in place, it puts the
bytes back. "winnow search --everywhere" finds words in archived sessions.

The columns of the table: progress, snapshots and pictures are the bytes of Claude Code's progress
records, of its repeated file-history snapshots, and of pictures in all products; copied is history
that a fork has copied from an earlier session.`,
		Example: `  winnow gc
  winnow gc --shrink --dry-run
  winnow gc --archive 90d --dry-run
  winnow gc --archive 90d --product claude-code
  winnow gc --archived
  winnow gc --undo`,
		Args: cli.Exactly(0, "no arguments"),
		RunE: func(cmd *cobra.Command, args []string) error { return runGC(cmd.Context(), a, f) },
	}
	flags := cmd.Flags()
	flags.StringVar(&f.older, "archive", "", "archive sessions that were not written to for this long: 30d, 12w")
	flags.BoolVar(&f.shrink, "shrink", false, "take bytes out of session files that their agent never reads again")
	flags.StringVar(&f.project, "project", "", "only sessions that worked in this folder or below it")
	flags.StringVar(&f.product, "product", "", "only sessions of this product, for example claude-code")
	flags.BoolVar(&f.undo, "undo", false, "bring back the sessions and bytes that the newest run archived")
	flags.BoolVar(&f.archived, "archived", false, "list the archived sessions")
	flags.BoolVarP(&f.force, "force", "f", false,
		"go on although the system does not show which programs have a file open (macOS, Windows)")
	cli.DryRun(cmd, &f.dry, "show what would be changed and change nothing")
	cli.Complete(cmd, "product", discover.Products()...)
	return cmd
}

func runGC(ctx context.Context, a *cli.App, f gcFlags) error {
	ways := 0
	for _, set := range []bool{f.older != "", f.shrink, f.undo, f.archived} {
		if set {
			ways++
		}
	}
	switch {
	case ways > 1:
		return cli.Usage("use one of --archive, --shrink, --undo and --archived")
	case f.product != "" && !slices.Contains(discover.Products(), f.product):
		return cli.Usage("unknown product %q; use %s", f.product, strings.Join(discover.Products(), ", "))
	case f.undo && (f.product != "" || f.project != ""):
		return cli.Usage("--undo brings back a whole run; `winnow restore SESSION` brings back one session")
	}
	if f.project != "" {
		f.project = a.Path(f.project)
	}
	if f.undo || f.archived {
		return runArchived(ctx, a, f)
	}
	age, err := config.Age(cmp.Or(f.older, usualAge))
	if err != nil {
		return cli.Usage("--archive: %w", err)
	}
	if age < archive.Least {
		return cli.Usage("--archive %s is too short: a session that was written to in the last hour may be in use",
			f.older)
	}
	found, problems, err := gcFound(ctx, a, f)
	if err != nil {
		return err
	}
	if f.shrink {
		return runShrink(ctx, a, f, found, problems)
	}
	if f.older != "" {
		return runArchive(ctx, a, f, gcOld(a, f, found, age), problems)
	}
	return measureDisk(ctx, a, f, found, gcOld(a, f, found, age), problems)
}

// gcFound finds the sessions of all projects: which session of a project is the newest, and which
// belong together, cannot be told from some of them.
func gcFound(ctx context.Context, a *cli.App, f gcFlags) ([]discover.Found, []discover.Problem, error) {
	search := source.Search(a)
	search.Product = f.product
	done := a.Progress("looking for sessions")
	found, problems, err := search.Find(ctx)
	done()
	return found, problems, err
}

// gcOld are the sessions that may be archived.
func gcOld(a *cli.App, f gcFlags, found []discover.Found, age time.Duration) []discover.Found {
	old := archive.Choose(found, a.Env.Now(), age)
	return slices.DeleteFunc(old, func(s discover.Found) bool { return !gcWants(s.Project, f) })
}

func gcWants(project string, f gcFlags) bool {
	return f.project == "" || source.Below(project, f.project)
}

// bytesOf is a number of bytes for people, "" for none.
func bytesOf(n int64) string {
	if n == 0 {
		return ""
	}
	return quantity.Bytes(int(n))
}
