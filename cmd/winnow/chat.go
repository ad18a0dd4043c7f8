package main

import (
	"context"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/winnowhq/winnow/agent"
	"github.com/winnowhq/winnow/chat"
	"github.com/winnowhq/winnow/chat/demo"
	"github.com/winnowhq/winnow/model"
)

func (a *app) chatCommand() *cobra.Command {
	var f working
	cmd := &cobra.Command{
		Use:   "chat [PROMPT…]",
		Short: "Work with a model and tools in the terminal, and watch the window while it fills",
		Long: `chat is a conversation with a model that reads and changes the files of the current folder and runs commands, when you allow it. A bar shows what takes the
space in its window, what is left, and what it costs; /help lists the commands that look at it, prune, fold and take back. The session is kept in winnow's
own store, and every other command of winnow takes its id.

Files in the folder are read and written, and commands that only look at them run; other commands, and everything outside, are asked about unless the configuration ("permissions") or --allow says otherwise.`,
		Example: `  winnow chat --demo
  winnow chat --model anthropic/claude-sonnet-4-5
  winnow chat --continue
  winnow chat --session ses_0f3c "and now the documentation"`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.runChat(cmd.Context(), strings.Join(args, " "), f)
		},
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	a.workingFlags(cmd, &f)
	return cmd
}

func (a *app) runChat(ctx context.Context, prompt string, f working) error {
	switch {
	case a.json:
		return usage("chat is for people; winnow run --json prints what happens for programs")
	case !a.env.StdinTerminal || !a.env.StdoutTerminal:
		return hinted{usage("chat needs a terminal to talk in, and there is none"), `without one: winnow run "…"`}
	}
	started := a.env.Dir
	b, err := a.openWorkbench(ctx, f)
	if err != nil {
		return err
	}
	defer b.Close()
	last := b.session
	c := chat.Config{
		Engine: b.engine, Model: b.model, Models: b.offered(), Catalogue: b.models, Session: b.session, Prompt: strings.TrimSpace(prompt), Directory: b.folder,
		Advice: b.advice,
		Open: func(ctx context.Context, o chat.Opening) (*agent.Loop, model.Model, error) {
			return b.open(o.Model, agent.Config{Ask: b.policy.Asker(o.Ask), OnEvent: func(e agent.Event) {
				if e.Type == agent.StepStarted && e.Step == 1 {
					last = e.SessionID
				}
				o.OnEvent(e)
			}})
		},
		Export:  func(ctx context.Context, id, file string) (string, error) { return b.export(ctx, id, file, started) },
		Environ: a.env.Environ, NoColor: a.noColor,
	}
	switch {
	case f.demo:
		c.Notice = demo.Notice
	default:
		c.Notice = strings.Join(b.notices, "\n")
	}
	if b.blind != nil {
		c.NoRevert = "there is no going back: " + b.blind.Error()
	}
	if b.files != nil {
		c.Revert = a.reverter(b.engine, b.files)
	}
	err = chat.Run(ctx, c)
	switch {
	case last == "" || f.demo:
		return err
	case ctx.Err() != nil:
		return resumable{errInterrupted, "winnow chat --session " + last}
	case err != nil:
		return resumable{err, "winnow chat --session " + last}
	}
	a.printf("session %s is kept; go on with: winnow chat --session %s\n", last, last)
	return nil
}

// offered are the models that /model lists: those whose provider can be asked as things are.
func (b *workbench) offered() []string {
	can := map[string]bool{}
	var names []string
	for _, m := range b.models.Models {
		ok, known := can[m.Provider]
		if !known {
			_, err := b.set.Client(m.Provider)
			ok = err == nil
			can[m.Provider] = ok
		}
		if ok {
			names = append(names, m.String())
		}
	}
	return names
}

// export writes a session into a file, in the format that it came in, or as an export of OpenCode. A relative name is one in the folder that the command was
// started in.
func (b *workbench) export(ctx context.Context, id, file, started string) (string, error) {
	s := &source{engine: b.engine, store: b.store, id: id}
	var out output
	if err := b.app.origin(ctx, s, &out); err != nil {
		return "", err
	}
	if file == "" {
		name := out.format
		if s.doc != nil {
			name = s.doc.Format
		}
		file = fileName(id) + extension(name)
	}
	if !filepath.IsAbs(file) {
		file = filepath.Join(started, file)
	}
	out.to, out.mask = file, true
	return b.app.write(ctx, s, &out, "exported")
}
