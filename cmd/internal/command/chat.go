package command

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/winnowhq/winnow/agent"
	"github.com/winnowhq/winnow/agent/chat"
	"github.com/winnowhq/winnow/agent/chat/demo"
	"github.com/winnowhq/winnow/cmd/internal/cli"
	"github.com/winnowhq/winnow/cmd/internal/workbench"
	"github.com/winnowhq/winnow/model"
)

func chatCommand(a *cli.App) *cobra.Command {
	var f workbench.Flags
	cmd := &cobra.Command{
		Use:   "chat [PROMPT…]",
		Short: "Work with a model in the terminal",
		Long: `chat is a conversation with a model that reads and changes the files of the current
folder and runs commands, if you allow it. A bar shows what takes the space in its window, what is
left, and what it costs; /help lists the commands that look at it, prune, fold and undo, and the keys:
@ names a file of the folder, ctrl+r finds what you said before, ctrl+g opens your editor. The session
is kept in winnow's own store, and every other command of winnow accepts its id.

Files in the folder are read and written, and commands that only look at them run; you are asked about
other commands, and about everything outside the folder, unless the configuration ("permissions") or
--allow decides.`,
		Example: `  winnow chat --demo
  winnow chat --model anthropic/claude-sonnet-4-5
  winnow chat --continue
  winnow chat --session ses_0f3c "and now the documentation"`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			return runChat(cmd.Context(), a, strings.Join(args, " "), f)
		},
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	workbench.WorkingFlags(a, cmd, &f)
	return cmd
}

func runChat(ctx context.Context, a *cli.App, prompt string, f workbench.Flags) error {
	switch {
	case a.JSON:
		return cli.Usage("chat is for people; winnow run --json prints what happens for programs")
	case !a.Env.StdinTerminal || !a.Env.StdoutTerminal:
		return cli.Hint(cli.Usage("chat needs a terminal"), `without one: winnow run "…"`)
	}
	started := a.Env.Dir
	b, err := workbench.Open(ctx, a, f)
	if err != nil {
		return err
	}
	defer b.Close()
	last := b.Session
	c := chat.Config{
		Engine: b.Engine, Model: b.Model, Models: b.Offered(), Catalogue: b.Models, Session: b.Session,
		Prompt: strings.TrimSpace(prompt), Directory: b.Folder,
		Advice: b.Advice, Notify: b.Notify(),
		Open: func(ctx context.Context, o chat.Opening) (*agent.Loop, model.Model, error) {
			return b.Open(o.Model, agent.Config{Ask: b.Policy.Asker(o.Ask), OnEvent: func(e agent.Event) {
				if e.Type == agent.StepStarted && e.Step == 1 {
					last = e.SessionID
				}
				o.OnEvent(e)
			}})
		},
		Export:  func(ctx context.Context, id, file string) (string, error) { return b.Export(ctx, id, file, started) },
		Environ: a.Env.Environ, NoColor: a.NoColor,
	}
	switch {
	case f.Demo:
		c.Notice = demo.Notice
	default:
		c.Notice = strings.Join(b.Notices, "\n")
	}
	if b.Blind != nil {
		c.NoRevert = "there is no going back: " + b.Blind.Error()
	}
	if b.Files != nil {
		c.Revert = workbench.Reverter(a, b.Engine, b.Files)
		c.Changes = b.Changes
	}
	err = chat.Run(ctx, c)
	switch {
	case last == "" || f.Demo:
		return err
	case ctx.Err() != nil:
		return cli.Resumable(cli.ErrInterrupted, "winnow chat --session "+last)
	case err != nil:
		return cli.Resumable(err, "winnow chat --session "+last)
	}
	a.Printf("session %s is kept; continue with: winnow chat --session %s\n", last, last)
	return nil
}
