package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"

	"github.com/winnowhq/winnow/config"
	"github.com/winnowhq/winnow/inplace"
	"github.com/winnowhq/winnow/token"
	"github.com/winnowhq/winnow/visible"
)

// app is one run of the command: the world, and the flags that every command has.
type app struct {
	env   Env // Stdout and Stderr are out and err
	files unfinished

	out, err *visible.Writer // standard output and standard error: what is written there is text, whoever wrote it
	raw      io.Writer       // standard output for data, see data

	json       bool
	configFile string
	storeFile  string
	policy     string
	model      string
	summarizer string  // of compact
	schedule   string  // of prune and compact
	secrets    secrets // of what writes a page, a summary or an export: mask or keep
	counter    string
	noColor    bool
	quiet      bool

	// databases are the paths that were seen to be of databases. One is not opened again beside a reading of it that goes on: to close a file takes away the
	// locks that the process has on it.
	databases sync.Map

	held *inplace.Claim // the file that is being read to be replaced

	ignored sync.Once // what is ignored was told

	orderly atomic.Bool // the command ends by itself soon after an interruption, and must: see attend
}

// Main runs the command and returns its exit code. When the context ends, it returns soon, whatever the command is at: a file that
// is being written is removed, and a transaction that is not committed never was.
func Main(ctx context.Context, args []string, env Env) int {
	stdout := newOutlet(env.Stdout)
	a := &app{env: env, files: unfinished{faults: env.Faults}, out: visible.To(stdout), err: visible.To(env.Stderr), raw: stdout}
	a.env.Stdout, a.env.Stderr = a.out, a.err // nothing goes past them
	root := a.root()
	root.SetArgs(args)
	root.SetIn(env.Stdin)
	root.SetOut(a.out)
	root.SetErr(a.err)
	err := a.attend(ctx, func() error { return errors.Join(root.ExecuteContext(ctx), a.out.Flush(), stdout.finish()) })
	code := exitCode(err)
	if err != nil {
		a.complain(err, code)
	}
	_ = a.err.Flush() // there is nowhere to say that it failed
	return code
}

// data is standard output for what is not text for people: a session, a page, a view as a program takes it. It is byte for byte what was asked for, but for a
// terminal, which would obey some of it.
func (a *app) data() io.Writer {
	if a.env.StdoutTerminal {
		return a.out
	}
	return a.raw
}

// patience is how long a command that was interrupted has to end by itself. Most of them listen; reading a pipe and parsing
// a huge file do not.
const patience = 300 * time.Millisecond

// leaving is how long one has that must put things in order before it ends: the terminal, the calls of an agent.
const leaving = 5 * time.Second

// attend runs a command until it ends or is interrupted.
func (a *app) attend(ctx context.Context, run func() error) error {
	ended := make(chan error, 1)
	go func() { ended <- run() }()
	var err error
	select {
	case err = <-ended:
		if err == nil || ctx.Err() == nil {
			return err
		}
	case <-ctx.Done():
		patient := patience
		if a.orderly.Load() {
			patient = leaving
		}
		select {
		case err = <-ended:
			var r resumable
			if err == nil || errors.As(err, &r) {
				return err // it was done, or says how it goes on
			}
		case <-time.After(patient):
		}
	}
	a.files.abandon()
	return errInterrupted
}

// errInterrupted is how a command ends when a signal came.
var errInterrupted error = interrupted{}

type interrupted struct{}

func (interrupted) Error() string { return "interrupted; nothing is half-written" }
func (interrupted) Unwrap() error { return context.Canceled }

// complain says on standard error what went wrong and what to do.
func (a *app) complain(err error, code int) {
	word := "winnow: "
	if code == exitNothing {
		word = "winnow: nothing to do: "
	}
	text, hints := explainError(err)
	fmt.Fprintln(a.err, word+firstLines(text))
	for _, h := range hints {
		fmt.Fprintln(a.err, "  "+h)
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

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "winnow",
		Short: "Keep an agent's session inside its context window, without losing anything",
		Long: `winnow shows where the tokens of a coding agent's session went, and makes the session smaller:
old tool outputs are elided, the past is folded into a summary, and nothing is deleted.

It reads and writes the session files of Claude Code, Codex, OpenCode and pi, and request bodies of the Anthropic
and OpenAI APIs; it reads those of Gemini CLI, OpenHands and SWE-agent, and OpenCode's database.

SRC is such a file, "-" for standard input, the folder of an OpenHands conversation, a session in OpenCode's
database (PATH#ID), one where its product keeps it (PRODUCT:ID; "winnow list --everywhere" shows them), or the
id of a session in winnow's own store.`,
		Example: `  winnow inspect session.jsonl            where the tokens went
  winnow compact session.jsonl            a smaller session, and a receipt
  winnow list --everywhere                what agents have kept on this computer, and what it cost
  winnow view session.jsonl --as anthropic   what the model would be sent`,
		SilenceErrors: true, SilenceUsage: true,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			near := cmd.SuggestionsFor(args[0])
			if len(near) > 0 {
				return usage("there is no command %q; did you mean %q?", args[0], near[0])
			}
			if _, err := os.Stat(a.path(args[0])); err == nil {
				return usage("there is no command %q; to look at that file: winnow inspect %s", args[0], args[0])
			}
			return usage("there is no command %q; see winnow --help", args[0])
		},
		SuggestionsMinimumDistance: 2,
		RunE:                       func(cmd *cobra.Command, args []string) error { return cmd.Help() },
	}
	flags := root.PersistentFlags()
	flags.BoolVar(&a.json, "json", false, "print one JSON document")
	flags.StringVar(&a.configFile, "config", "", "configuration file, instead of the two that are looked for")
	flags.StringVar(&a.storeFile, "store", "", "file of the store (default $XDG_DATA_HOME/winnow/winnow.db)")
	flags.StringVar(&a.policy, "policy", "", "classic, aggressive or balanced (default from the configuration: balanced)")
	flags.StringVar(&a.model, "model", "", "provider/model that reads the session (default: the one that it names)")
	flags.StringVar(&a.counter, "counter", "", "how tokens are counted: auto, chars4, linear, bpe:o200k_base, bpe:cl100k_base")
	flags.BoolVar(&a.noColor, "no-color", false, "no colour, as with NO_COLOR set")
	flags.BoolVarP(&a.quiet, "quiet", "q", false, "no progress")
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usage("%w; see winnow %s --help", err, cmd.Name())
	})
	root.AddCommand(
		a.inspectCommand(), a.pruneCommand(), a.viewCommand(), a.compactCommand(), a.replayCommand(), a.explainCommand(),
		a.undoCommand(), a.redoCommand(), a.restoreCommand(), a.pinCommand(), a.dismissCommand(), a.handlesCommand(), a.discardCommand(), a.distillCommand(),
		a.runCommand(), a.chatCommand(), a.importCommand(), a.exportCommand(), a.listCommand(), a.searchCommand(), a.showCommand(), a.revertCommand(),
		a.originalsCommand(), a.doctorCommand(), a.configCommand(), a.modelsCommand(), a.versionCommand(),
	)
	for _, cmd := range root.Commands() {
		if cmd.ValidArgsFunction == nil && strings.Contains(cmd.Use, " ") {
			cmd.ValidArgsFunction = a.completeSources
		}
	}
	complete(root, "policy", "classic", "aggressive", "balanced")
	complete(root, "counter", "auto", "chars4", "linear", "bpe:o200k_base", "bpe:cl100k_base")
	if err := root.RegisterFlagCompletionFunc("model", a.completeModels); err != nil {
		panic(err) // the flag is above
	}
	root.Version = versionOf()
	root.SetVersionTemplate("winnow {{.Version}}\n")
	return root
}

// exactly wants so many arguments.
func exactly(n int, what string) cobra.PositionalArgs {
	return between(n, n, what)
}

func between(least, most int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) < least || most >= 0 && len(args) > most {
			return usage("winnow %s takes %s, not %s; see winnow %s --help", cmd.Name(), what, plural(len(args), "argument", "arguments"), cmd.Name())
		}
		return nil
	}
}

// settings are the configuration with the flags over it.
func (a *app) settings() (config.Settings, error) {
	loaded, err := config.Load(a.configSources())
	if err != nil {
		return config.Settings{}, usageError{err}
	}
	a.tellIgnored(loaded.Ignored)
	s := loaded.Settings
	if a.policy != "" {
		s.Policy = a.policy
	}
	if a.counter != "" {
		s.Counter = a.counter
	}
	if a.schedule != "" {
		s.Schedule = a.schedule
	}
	if a.summarizer != "" {
		s.Compaction.Summarizer = a.summarizer
	}
	if err := s.Validate(); err != nil {
		return s, usageError{err}
	}
	if _, err := a.providers(s); err != nil {
		return s, usageError{loaded.Blame(err)}
	}
	return s, nil
}

func (a *app) configSources() config.Sources {
	return config.Sources{
		File: a.configFile, Dir: a.env.Dir, User: a.env.xdg("XDG_CONFIG_HOME", ".config"), Environ: a.env.Environ,
	}
}

// print writes the JSON document of a command.
func (a *app) print(document any) error {
	text, err := json.Marshal(document, json.Deterministic(true), jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true),
		jsontext.WithIndent("  "))
	if err != nil {
		return fmt.Errorf("the result cannot be written as JSON: %w", err)
	}
	_, err = a.out.Write(append(visible.JSON(text), '\n'))
	return err
}

// printf writes to standard output, for people.
func (a *app) printf(format string, args ...any) { fmt.Fprintf(a.out, format, args...) }

// progress says on a terminal what is being done; the returned function wipes it away.
func (a *app) progress(what string) func() {
	if !a.env.StderrTerminal || a.quiet {
		return func() {}
	}
	a.say("%s…", what)
	return func() { a.say("") }
}

// say puts a text in the place of the line of progress, "" for none. A terminal that takes none misses nothing.
func (a *app) say(format string, args ...any) { _ = a.err.Progress(fmt.Sprintf(format, args...)) }
