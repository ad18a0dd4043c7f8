package command

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/winnowhq/winnow/cmd/internal/cli"
	"github.com/winnowhq/winnow/cmd/internal/importing"
	"github.com/winnowhq/winnow/cmd/internal/source"
)

func importCommand(a *cli.App) *cobra.Command {
	var update bool
	cmd := &cobra.Command{
		Use:   "import SRC…",
		Short: "Put sessions into the store, and what is new of those that are there",
		Long: `import reads session files, every session below a folder, or every session of a
database of OpenCode's, into the store, each with its original, so that "winnow export" gives it back
in its own format.

Importing again costs what is new: a file, or a session of a database, that is unchanged is not read.
If it has grown, the new messages are added to the session in the store, and everything decided about
it there stays. Each session is written whole or not at all; an import that was stopped continues
where it was.

If the past of a file is no longer that of the session in the store, the session is left as it is;
--update takes what the file has now, and keeps the session that was there, with its pins and what was
left out, under the id ID~1, ID~2, ….`,
		Example: `  winnow import session.jsonl
  winnow import ~/.claude/projects
  winnow import ~/.local/share/opencode/opencode.db
  winnow import --update session.jsonl`,
		Args: cli.Between(1, -1, "at least one SRC"),
		RunE: func(cmd *cobra.Command, args []string) error { return runImport(cmd.Context(), a, args, update) },
	}
	cmd.Flags().BoolVar(&update, "update", false, "read every file again, and take its log "+
		"even if its past was rewritten; the session that was there stays as ID~1")
	return cmd
}

func runImport(ctx context.Context, a *cli.App, args []string, update bool) error {
	if _, err := a.Settings(); err != nil {
		return err
	}
	kept, err := source.OpenStore(ctx, a, source.Making)
	if err != nil {
		return err
	}
	defer kept.Close()
	in := importing.New(a, kept, update)
	files, failed := source.Candidates(ctx, a, args)
	for _, err := range failed {
		in.Failed("", err)
	}
	if err := in.Run(ctx, files); err != nil {
		return err
	}
	return in.Report()
}
