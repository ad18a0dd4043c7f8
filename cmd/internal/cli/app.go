// Package cli holds one run of the command: the world it runs in, the flags that every command has,
// what it prints, and how it ends.
package cli

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"github.com/winnowhq/winnow/cmd/internal/draft"
	"github.com/winnowhq/winnow/desk/inplace"
	"github.com/winnowhq/winnow/gateway/shared"
	"github.com/winnowhq/winnow/text/quantity"
	"github.com/winnowhq/winnow/text/visible"
)

// App is one run of the command: the world, the flags, and what the parts of a command tell each
// other.
type App struct {
	Env     Env // its Stdout and Stderr are Out and Err
	Files   draft.Files
	Version string
	Shared  *shared.Parts // the parts of a team's server; shared.None in winnow

	Out, Err *visible.Writer // standard output and standard error, made safe for a terminal
	raw      *outlet         // standard output for data, see Data

	Flags
	Seen
	Signals

	Held *inplace.Claim // the file that is being read to be replaced

	InOwnName func(text string) string // with this program's name where a command is named; nil: as it is
}

// Flags are those that every command has, and some that several have.
type Flags struct {
	JSON       bool
	ConfigFile string
	StoreFile  string
	Policy     string
	Model      string
	Summarizer string  // of compact
	Schedule   string  // of prune and compact
	secrets    secrets // of what writes a page, a summary or an export: mask or keep
	Counter    string
	NoColor    bool
	Quiet      bool
}

// Seen is what was found out or said once, and is not again.
type Seen struct {
	// Databases are the paths known to be databases. One that is being read must not be opened a
	// second time: closing a file drops the locks that the process has on it.
	Databases sync.Map
	Named     sync.Map // the sessions that words stand for

	ignored sync.Once // settings that are ignored
	linked  sync.Once // variables that are ignored
	doubted sync.Map  // models whose limits are not known
}

// Signals say how a command takes an interruption, see attend.
type Signals struct {
	Orderly  atomic.Bool // it needs time to put things in order
	Enduring atomic.Bool // it ends when what it runs does, whatever signals come
}

// errNoTeam says which program has what winnow does not.
var errNoTeam = Usage("winnow keeps sessions in files; a PostgreSQL database, and tenants, are for winnowd, " +
	"which has the same commands")

// New is a run in a world.
func New(env Env, version string) *App {
	stdout := newOutlet(env.Stdout)
	a := &App{Env: env, Version: version, Files: draft.Files{Faults: env.Faults},
		Shared: shared.None(errNoTeam), Out: visible.To(stdout), Err: visible.To(env.Stderr), raw: stdout}
	a.Env.Stdout, a.Env.Stderr = a.Out, a.Err // nothing bypasses them
	return a
}

// Run runs a command and returns its exit code.
func (a *App) Run(ctx context.Context, root *cobra.Command, args []string) int {
	root.SetArgs(args)
	root.SetIn(a.Env.Stdin)
	root.SetOut(a.Out)
	root.SetErr(a.Err)
	err := a.attend(ctx, func() error {
		return errors.Join(root.ExecuteContext(ctx), a.Out.Flush(), a.raw.finish())
	})
	code := exitCode(err)
	var passed Passed
	if err != nil && !errors.As(err, &passed) {
		a.complain(err, code)
	}
	_ = a.Err.Flush() // there is nowhere to report that it failed
	return code
}

const (
	// Patience is how long an interrupted command has to end by itself. Most commands watch their
	// context; reading a pipe and parsing a huge file do not.
	Patience = 300 * time.Millisecond
	// leaving is the same for a command that must put things in order first: the terminal, the
	// calls of an agent.
	leaving = 5 * time.Second
)

// attend runs a command until it ends or is interrupted.
func (a *App) attend(ctx context.Context, run func() error) error {
	ended := make(chan error, 1)
	go func() { ended <- run() }()
	select {
	case err := <-ended:
		if err == nil || ctx.Err() == nil {
			return err
		}
	case <-ctx.Done():
		if a.Enduring.Load() {
			return <-ended
		}
		patient := Patience
		if a.Orderly.Load() {
			patient = leaving
		}
		select {
		case err := <-ended:
			var end ending
			if err == nil || errors.As(err, &end) && end.kept {
				return err // it was done, or says how to continue
			}
		case <-time.After(patient):
		}
	}
	a.Files.Abandon()
	return ErrInterrupted
}

// ErrInterrupted is how a command ends after a signal.
var ErrInterrupted error = interrupted{}

type interrupted struct{}

func (interrupted) Error() string { return "interrupted; nothing is half-written" }
func (interrupted) Unwrap() error { return context.Canceled }

// complain prints on standard error what went wrong and what to do.
func (a *App) complain(err error, code int) {
	word := "winnow: "
	if code == ExitNothing {
		word = "winnow: nothing to do: "
	}
	text, hints := explainError(err)
	if a.InOwnName != nil {
		text = a.InOwnName(text)
		for i := range hints {
			hints[i] = a.InOwnName(hints[i])
		}
	}
	fmt.Fprintln(a.Err, word+firstLines(text))
	for _, h := range hints {
		fmt.Fprintln(a.Err, "  "+h)
	}
}

// mostLines is how much of an error is printed: one that lists every message of a session helps
// nobody.
const mostLines = 16

func firstLines(text string) string {
	lines := strings.Split(text, "\n")
	if len(lines) <= mostLines {
		return text
	}
	return fmt.Sprintf("%s\n  and %s more lines", strings.Join(lines[:mostLines-1], "\n"),
		quantity.Number(len(lines)-mostLines+1))
}

// Path is where a name given on the command line is.
func (a *App) Path(name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(a.Env.Dir, name)
}

// Short is a path relative to the current folder, if it is below it.
func (a *App) Short(path string) string {
	if rel, err := filepath.Rel(a.Env.Dir, path); err == nil && !strings.HasPrefix(rel, "..") {
		return rel
	}
	return path
}
