package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/winnowhq/winnow/agent"
	"github.com/winnowhq/winnow/cmd/internal/cli"
	"github.com/winnowhq/winnow/cmd/internal/workbench"
	"github.com/winnowhq/winnow/llm"
	"github.com/winnowhq/winnow/model"
	"github.com/winnowhq/winnow/session"
)

// runFlags are those of run.
type runFlags struct {
	workbench.Flags
	yes      bool
	maxSteps int
}

func runCommand(a *cli.App) *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use:   "run [PROMPT…]",
		Short: "Let a model work on something, without a person watching",
		Long: `run gives a model tools to read, search and change the files of the current folder and
to run commands, and lets it work until it is done. It prints the last answer on standard output, and
on standard error a line for each call, pruning and compaction. The session is kept in winnow's own
store.

The prompt is made of the arguments; "-" among them is standard input, which is also read if there is
neither an argument nor a session to continue. Without a prompt, --session and --continue finish what
was interrupted.

Nobody is asked: files in the folder are read and written, except secrets (.env) and what git would
run (.git), and commands that only look at them run (ls, cat, git status). Other commands and
everything outside are refused unless the configuration ("permissions"), --allow or --yes allows them.
--allow "git log" does not cover options that write or run something, unless it names them. What the
configuration denies stays denied.`,
		Example: `  winnow run --model anthropic/claude-sonnet-4-5 --allow "go test" "the test of the parser fails; repair it"
  git diff | winnow run "write a commit message for this" -
  winnow run --continue "and now the documentation"
  winnow run --session ses_0f3c --json
  winnow run --demo`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.maxSteps < 0 {
				return cli.Usage("--max-steps %d: give 1 or more", f.maxSteps)
			}
			return runHeadless(cmd.Context(), a, args, f)
		},
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	workbench.WorkingFlags(a, cmd, &f.Flags)
	cmd.Flags().BoolVar(&f.yes, "yes", false,
		"allow everything that would be asked about: commands, and what is outside the folder")
	cmd.Flags().IntVar(&f.maxSteps, "max-steps", 0, "requests to make at most (default 1,000)")
	return cmd
}

func runHeadless(ctx context.Context, a *cli.App, args []string, f runFlags) error {
	prompt, err := prompt(a, args, f.Session != "" || f.Continues || f.Demo)
	if err != nil {
		return err
	}
	b, err := workbench.Open(ctx, a, f.Flags)
	if err != nil {
		return err
	}
	defer b.Close()
	if f.Demo && prompt == "" {
		prompt = workbench.DemoPrompt
	}
	nobody := &workbench.Absent{Yes: f.yes || f.Demo}
	told := workbench.NewTelling(a, b.Engine)
	defer told.End()
	if !a.JSON {
		for _, notice := range b.Notices {
			told.Note("! %s", notice)
		}
	}
	loop, m, err := b.Open(a.Model,
		agent.Config{Ask: b.Policy.Asker(nobody.Ask), MaxSteps: f.maxSteps, OnEvent: told.Event})
	if err != nil {
		return err
	}
	var turn agent.Turn
	if prompt != "" {
		turn, err = loop.Run(ctx, b.Session, prompt)
	} else {
		turn, err = loop.Resume(ctx, b.Session)
	}
	told.End()
	return ranOut(ctx, a, b, f, loop, m, turn, nobody, told, err)
}

// prompt puts what is asked together.
func prompt(a *cli.App, args []string, optional bool) (string, error) {
	if len(args) == 0 && !optional {
		if a.Env.StdinTerminal {
			return "", cli.Hint(cli.Usage("what is to be done?"),
				`winnow run "…", or on standard input; with a terminal to talk in: winnow chat`)
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
		data, err := io.ReadAll(a.Env.Stdin)
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
		return "", cli.Usage("the prompt is empty: say what is to be done")
	}
	return text, nil
}

// ranOut prints what came of a run, and is the error that it ends with.
func ranOut(ctx context.Context, a *cli.App, b *workbench.Bench, f runFlags, loop *agent.Loop, m model.Model,
	turn agent.Turn, nobody *workbench.Absent, told *workbench.Telling, failed error) error {
	ctx = context.WithoutCancel(ctx)
	o := workbench.Ran{
		Type: "outcome", SessionID: turn.SessionID, Time: session.Millis(a.Env.Now().UnixMilli()), Outcome: "done",
		Text: turn.Text, Model: m.String(), Steps: turn.Steps, Summaries: turn.Spent.Summaries,
		Failed: turn.Spent.Failed, Usage: turn.Spent.Usage, Cost: turn.Spent.Dollars(), Unpriced: turn.Spent.Unpriced,
		Denied: nobody.All(),
	}
	if sum, err := loop.Totals(ctx, turn.SessionID); err == nil {
		o.Session = workbench.RanBefore{Steps: sum.Steps, Cost: sum.Dollars(), Unpriced: sum.Unpriced}
	}
	err := failed
	switch {
	case failed != nil:
		o.Outcome, o.Error = endOf(failed), failed.Error()
		if hint := b.Advice(failed); hint != "" {
			err = cli.Hint(failed, hint)
		}
		if turn.SessionID != "" && !f.Demo {
			o.Resume = "winnow run --session " + turn.SessionID
			if a.Model != "" {
				o.Resume += " --model " + a.Model
			}
			err = cli.Resumable(err, o.Resume)
		}
	case turn.Steps == 0:
		err = cli.Hint(cli.Nothing("session "+turn.SessionID+" is at its end"),
			"say what is to be done next: winnow run --session "+turn.SessionID+` "…"`)
	case turn.Finish == llm.Length:
		o.Outcome, err = "length", errLength
	case turn.Finish == llm.Refused:
		o.Outcome = "refused"
	}
	if a.JSON {
		told.Line(o)
		return err
	}
	told.Answer(turn.Text)
	if !a.Quiet {
		for _, line := range nobody.Told() {
			told.Note("%s", line)
		}
		told.Sum(o)
	}
	return err
}

// errLength is the end of a run whose last answer is not whole.
var errLength = cli.Incomplete(
	"the last answer was cut off at the model's limit for an answer; say \"go on\" with --continue")

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
