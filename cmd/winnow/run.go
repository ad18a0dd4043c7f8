package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/winnowhq/winnow/agent"
	"github.com/winnowhq/winnow/llm"
	"github.com/winnowhq/winnow/model"
	"github.com/winnowhq/winnow/session"
)

// runFlags are those of run.
type runFlags struct {
	working
	yes      bool
	maxSteps int
}

func (a *app) runCommand() *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use:   "run [PROMPT…]",
		Short: "Let a model work on something with tools, without a person watching",
		Long: `run gives a model tools to read, search and change the files of the current folder and to run commands, and lets it work until it is done. It prints the
last answer on standard output, and on standard error a line for each call, pruning and compaction. The session is kept in winnow's own store.

The prompt is made of the arguments; "-" among them is standard input, which is read as well where there is no argument and no session to go on with. Without a
prompt, --session and --continue finish what was interrupted.

Nobody is asked: what lies in the folder is read and written, but for secrets (.env) and what git would run (.git), and commands that only look at it run (ls, cat,
git status). Other commands and everything outside are refused unless the configuration ("permissions"), --allow or --yes allows them. --allow "git log" is not for
options that write or run something, unless it names them. What the configuration denies stays denied.`,
		Example: `  winnow run --model anthropic/claude-sonnet-4-5 --allow "go test" "the test of the parser fails; repair it"
  git diff | winnow run "write a commit message for this" -
  winnow run --continue "and now the documentation"
  winnow run --session ses_0f3c --json
  winnow run --demo`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.maxSteps < 0 {
				return usage("--max-steps %d: give 1 or more", f.maxSteps)
			}
			return a.runHeadless(cmd.Context(), args, f)
		},
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	a.workingFlags(cmd, &f.working)
	cmd.Flags().BoolVar(&f.yes, "yes", false, "allow whatever would be asked about: commands, and what lies outside the folder")
	cmd.Flags().IntVar(&f.maxSteps, "max-steps", 0, "requests to make at most (default 1,000)")
	return cmd
}

// workingFlags are those that run and chat have in common.
func (a *app) workingFlags(cmd *cobra.Command, f *working) {
	flags := cmd.Flags()
	flags.StringVar(&f.session, "session", "", "go on with this session, by its id or how it begins")
	flags.BoolVar(&f.continues, "continue", false, "go on with the session that was last worked on in the folder")
	flags.StringVar(&f.dir, "dir", "", "folder to work in (default the current one, or the session's)")
	flags.StringArrayVar(&f.allow, "allow", nil, `allow commands that begin with these words, as in --allow "go test"; again for more`)
	flags.BoolVar(&f.demo, "demo", false, "show it: scripted answers, without a key and without the network, in a folder that is thrown away")
	// Errors are for flags that do not exist.
	if err := errors.Join(cmd.RegisterFlagCompletionFunc("session", a.completeSources), cmd.MarkFlagDirname("dir")); err != nil {
		panic(err)
	}
}

// ran is the last line of run --json: what came of it.
type ran struct {
	Type      string         `json:"type"` // "outcome"
	SessionID string         `json:"sessionID"`
	Time      session.Millis `json:"time"`
	Outcome   string         `json:"outcome"` // done, length, refused, interrupted, steps, failed
	Text      string         `json:"text"`    // of the last answer
	Model     string         `json:"model"`
	Steps     int            `json:"steps"`             // answers
	Summaries int            `json:"summaries"`         // requests for them
	Failed    int            `json:"failed"`            // requests that were paid for in vain
	Usage     session.Usage  `json:"usage"`             // of all of them
	Cost      *float64       `json:"cost"`              // US dollars, of those of known cost; null where it is of none
	Unpriced  int            `json:"unpriced,omitzero"` // of how many it is not known
	Session   ranBefore      `json:"session"`           // the session since it began
	Denied    []denial       `json:"denied"`
	Error     string         `json:"error,omitzero"`
	Resume    string         `json:"resume,omitzero"` // the command that goes on, where it can
}

// ranBefore is what a session took since it began.
type ranBefore struct {
	Steps    int      `json:"steps"`
	Cost     *float64 `json:"cost"`
	Unpriced int      `json:"unpriced,omitzero"`
}

// resumable is the error of a run that can be gone on with.
type resumable struct {
	err    error
	resume string
}

func (r resumable) Error() string { return r.err.Error() + "\n  " + r.hint() }
func (r resumable) Unwrap() error { return r.err }
func (r resumable) hint() string  { return "the session is kept; go on with: " + r.resume }

func (a *app) runHeadless(ctx context.Context, args []string, f runFlags) error {
	prompt, err := a.prompt(args, f.session != "" || f.continues || f.demo)
	if err != nil {
		return err
	}
	b, err := a.openWorkbench(ctx, f.working)
	if err != nil {
		return err
	}
	defer b.Close()
	if f.demo && prompt == "" {
		prompt = demoPrompt
	}
	nobody := &absent{yes: f.yes || f.demo}
	told := a.newTelling(b.engine)
	defer told.end()
	if !a.json {
		for _, notice := range b.notices {
			told.note("! %s", notice)
		}
	}
	loop, m, err := b.open(a.model, agent.Config{Ask: b.policy.Asker(nobody.ask), MaxSteps: f.maxSteps, OnEvent: told.event})
	if err != nil {
		return err
	}
	var turn agent.Turn
	if prompt != "" {
		turn, err = loop.Run(ctx, b.session, prompt)
	} else {
		turn, err = loop.Resume(ctx, b.session)
	}
	told.end()
	return a.ranOut(ctx, b, f, loop, m, turn, nobody, told, err)
}

// prompt puts what is asked together.
func (a *app) prompt(args []string, optional bool) (string, error) {
	if len(args) == 0 && !optional {
		if a.env.StdinTerminal {
			return "", hinted{usage("what is to be done?"), `winnow run "…", or on standard input; with a terminal to talk in: winnow chat`}
		}
		args = []string{"-"}
	}
	var pieces []string
	words := ""
	for _, arg := range args {
		if arg != "-" {
			words = strings.TrimSpace(words + " " + arg)
			continue
		}
		data, err := io.ReadAll(a.env.Stdin)
		if err != nil {
			return "", fmt.Errorf("standard input: %w", err)
		}
		pieces, words = append(pieces, words, strings.TrimSpace(strings.ToValidUTF8(string(data), "\uFFFD"))), ""
	}
	text := ""
	for _, piece := range append(pieces, words) {
		if text != "" && piece != "" {
			text += "\n\n"
		}
		text += piece
	}
	if text == "" && len(args) > 0 {
		return "", usage("the prompt is empty: say what is to be done")
	}
	return text, nil
}

// ranOut prints what came of a run, and is the error that it ends with.
func (a *app) ranOut(ctx context.Context, b *workbench, f runFlags, loop *agent.Loop, m model.Model, turn agent.Turn, nobody *absent, told *telling, failed error) error {
	ctx = context.WithoutCancel(ctx)
	o := ran{
		Type: "outcome", SessionID: turn.SessionID, Time: session.Millis(a.env.Now().UnixMilli()), Outcome: "done", Text: turn.Text, Model: m.String(),
		Steps: turn.Steps, Summaries: turn.Spent.Summaries, Failed: turn.Spent.Failed, Usage: turn.Spent.Usage, Cost: turn.Spent.Dollars(), Unpriced: turn.Spent.Unpriced,
		Denied: nobody.all(),
	}
	if sum, err := loop.Totals(ctx, turn.SessionID); err == nil {
		o.Session = ranBefore{sum.Steps, sum.Dollars(), sum.Unpriced}
	}
	err := failed
	switch {
	case failed != nil:
		o.Outcome, o.Error = endOf(failed), failed.Error()
		if hint := b.advice(failed); hint != "" {
			err = hinted{failed, hint}
		}
		if turn.SessionID != "" && !f.demo {
			o.Resume = "winnow run --session " + turn.SessionID
			if a.model != "" {
				o.Resume += " --model " + a.model
			}
			err = resumable{err, o.Resume}
		}
	case turn.Steps == 0:
		err = hinted{nothing{"session " + turn.SessionID + " is at its end"}, "say what is to be done next: winnow run --session " + turn.SessionID + ` "…"`}
	case turn.Finish == llm.Length:
		o.Outcome, err = "length", errLength
	case turn.Finish == llm.Refused:
		o.Outcome = "refused"
	}
	if a.json {
		told.line(o)
		return err
	}
	told.answer(turn.Text)
	if !a.quiet {
		for _, line := range nobody.told() {
			told.note("%s", line)
		}
		told.sum(o)
	}
	return err
}

// errLength is the end of a run whose last answer is not whole.
var errLength = errors.New("the last answer was cut off at the model's limit of an answer; say \"go on\" with --continue")

// endOf is how a run that failed ended, in a word.
func endOf(err error) string {
	switch {
	case errors.Is(err, context.Canceled):
		return "interrupted"
	case errors.Is(err, agent.ErrSteps):
		return "steps"
	}
	return "failed"
}
