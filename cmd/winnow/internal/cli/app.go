// Package cli holds one run of the command: the world it runs in, the flags that every command has,
// what it prints, and how it ends.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"

	"github.com/winnowhq/winnow/cmd/winnow/internal/draft"
	"github.com/winnowhq/winnow/inplace"
	"github.com/winnowhq/winnow/token"
	"github.com/winnowhq/winnow/visible"
)

// App is one run of the command: the world, and the flags that every command has.
type App struct {
	Env   Env // Stdout and Stderr are out and err
	Files draft.Files

	Out, Err *visible.Writer // standard output and standard error: what is written there is text, whoever wrote it
	Raw      *outlet         // standard output for data, see data
	Version  string

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

	// databases are the paths that were seen to be of databases. One is not opened again beside a reading of it that goes on: to close a file takes away the
	// locks that the process has on it.
	Databases sync.Map

	Held *inplace.Claim // the file that is being read to be replaced

	ignored sync.Once // what is ignored was told

	Orderly atomic.Bool // the command ends by itself soon after an interruption, and must: see attend
}

func New(env Env, version string) *App {
	stdout := newOutlet(env.Stdout)
	a := &App{Env: env, Version: version, Files: draft.Files{Faults: env.Faults}, Out: visible.To(stdout), Err: visible.To(env.Stderr), Raw: stdout}
	a.Env.Stdout, a.Env.Stderr = a.Out, a.Err // nothing goes past them
	return a
}

// Run runs a command and returns its exit code.
func (a *App) Run(ctx context.Context, root *cobra.Command, args []string) int {
	root.SetArgs(args)
	root.SetIn(a.Env.Stdin)
	root.SetOut(a.Out)
	root.SetErr(a.Err)
	err := a.attend(ctx, func() error { return errors.Join(root.ExecuteContext(ctx), a.Out.Flush(), a.Raw.finish()) })
	code := exitCode(err)
	if err != nil {
		a.complain(err, code)
	}
	_ = a.Err.Flush() // there is nowhere to say that it failed
	return code
}

// Data is standard output for what is not text for people: a session, a page, a view as a program takes it. It is byte for byte what was asked for, but for a
// terminal, which would obey some of it.
func (a *App) Data() io.Writer {
	if a.Env.StdoutTerminal {
		return a.Out
	}
	return a.Raw
}

// patience is how long a command that was interrupted has to end by itself. Most of them listen; reading a pipe and parsing
// a huge file do not.
const Patience = 300 * time.Millisecond

// leaving is how long one has that must put things in order before it ends: the terminal, the calls of an agent.
const leaving = 5 * time.Second

// attend runs a command until it ends or is interrupted.
func (a *App) attend(ctx context.Context, run func() error) error {
	ended := make(chan error, 1)
	go func() { ended <- run() }()
	var err error
	select {
	case err = <-ended:
		if err == nil || ctx.Err() == nil {
			return err
		}
	case <-ctx.Done():
		patient := Patience
		if a.Orderly.Load() {
			patient = leaving
		}
		select {
		case err = <-ended:
			var end ending
			if err == nil || errors.As(err, &end) && end.kept {
				return err // it was done, or says how it goes on
			}
		case <-time.After(patient):
		}
	}
	a.Files.Abandon()
	return ErrInterrupted
}

// errInterrupted is how a command ends when a signal came.
var ErrInterrupted error = interrupted{}

type interrupted struct{}

func (interrupted) Error() string { return "interrupted; nothing is half-written" }

func (interrupted) Unwrap() error { return context.Canceled }

// complain says on standard error what went wrong and what to do.
func (a *App) complain(err error, code int) {
	word := "winnow: "
	if code == ExitNothing {
		word = "winnow: nothing to do: "
	}
	text, hints := explainError(err)
	fmt.Fprintln(a.Err, word+firstLines(text))
	for _, h := range hints {
		fmt.Fprintln(a.Err, "  "+h)
	}
}

// mostLines is how much of an error is printed: one that lists every message of a session helps nobody.
const mostLines = 16

func firstLines(text string) string {
	lines := strings.Split(text, "\n")
	if len(lines) <= mostLines {
		return text
	}
	return strings.Join(lines[:mostLines-1], "\n") + fmt.Sprintf("\n  and %s more lines", token.Grouped(len(lines)-mostLines+1))
}

// Print writes the JSON document of a command.
func (a *App) Print(document any) error {
	text, err := json.Marshal(document, json.Deterministic(true), jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true),
		jsontext.WithIndent("  "))
	if err != nil {
		return fmt.Errorf("the result cannot be written as JSON: %w", err)
	}
	_, err = a.Out.Write(append(visible.JSON(text), '\n'))
	return err
}

// Printf writes to standard output, for people.
func (a *App) Printf(format string, args ...any) { fmt.Fprintf(a.Out, format, args...) }

// Progress says on a terminal what is being done; the returned function wipes it away.
func (a *App) Progress(what string) func() {
	if !a.Env.StderrTerminal || a.Quiet {
		return func() {}
	}
	a.Say("%s…", what)
	return func() { a.Say("") }
}

// Say puts a text in the place of the line of progress, "" for none. A terminal that takes none misses nothing.
func (a *App) Say(format string, args ...any) { _ = a.Err.Progress(fmt.Sprintf(format, args...)) }

// Counting says on a terminal how far it is, ten times a second at most; done wipes it away.
func (a *App) Counting() (say func(format string, args ...any), done func()) {
	if !a.Env.StderrTerminal || a.Quiet {
		return func(string, ...any) {}, func() {}
	}
	var last time.Time
	say = func(format string, args ...any) {
		if now := time.Now(); now.Sub(last) >= 100*time.Millisecond {
			last = now
			a.Say(format+"…", args...)
		}
	}
	return say, func() { a.Say("") }
}

// Path is where a name given on the command line is.
func (a *App) Path(name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(a.Env.Dir, name)
}

// Short gives a path relative to the current folder where it is below it.
func (a *App) Short(path string) string {
	if rel, err := filepath.Rel(a.Env.Dir, path); err == nil && !strings.HasPrefix(rel, "..") {
		return rel
	}
	return path
}
