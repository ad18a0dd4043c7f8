package command

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/winnowhq/winnow/cmd/internal/cli"
	"github.com/winnowhq/winnow/cmd/internal/source"
	"github.com/winnowhq/winnow/cmd/internal/workbench"
)

func revertCommand(a *cli.App) *cobra.Command {
	var f workbench.RevertFlags
	cmd := &cobra.Command{
		Use:   "revert ID [MESSAGE]",
		Short: "Go back to before a message of yours: the files, and a session to continue with",
		Long: `revert restores the files of a session's working folder to what they were when MESSAGE,
one of yours, came, and begins a new session with the log before it. Nothing is deleted from the old
session. MESSAGE is an id or the number of a turn; "winnow inspect ID --log" lists both.

Files are restored from the snapshots that winnow took while it worked: what differs is written, and
what came later is removed. Files that git ignores are never touched. The files as they are now are
taken as a snapshot first, and the command that restores that is printed.`,
		Example: `  winnow revert ses_0123 3
  winnow revert ses_0123 msg_0456 --dry-run
  winnow revert ses_0123 3 --keep-files
  winnow revert ses_0123 --snapshot 5ea74704059fc5a9733637caec07c81af89d5623`,
		Args: cli.Between(1, 2, "the id of a session in the store and a MESSAGE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runRevert(cmd.Context(), a, args[0], cli.Second(args), f)
		},
	}
	cmd.Flags().StringVar(&f.Snapshot, "snapshot", "",
		"restore the files to this snapshot, and leave the session as it is")
	cmd.Flags().BoolVar(&f.KeepFiles, "keep-files", false, "begin the new session, and leave the files as they are")
	cmd.Flags().BoolVar(&f.Dry, "dry-run", false, "only say which files would change")
	return cmd
}

func runRevert(ctx context.Context, a *cli.App, src, message string, f workbench.RevertFlags) error {
	switch {
	case (message == "") == (f.Snapshot == ""):
		return cli.Usage("name a message of yours, by its id or the number of its turn, or a snapshot with --snapshot")
	case f.Snapshot != "" && f.KeepFiles:
		return cli.Usage("--snapshot is about files and --keep-files leaves them; give one of them")
	}
	s, err := source.OpenFor(ctx, a, src, false)
	if err != nil {
		return err
	}
	defer s.Close()
	if s.FromFile() {
		return cli.Usage("only sessions in the store have snapshots, and %s is another product's", src)
	}
	var doc workbench.Reversion
	if f.Snapshot != "" {
		doc, err = workbench.RestoreFiles(ctx, a, s.Engine, s.ID, f.Snapshot, f)
	} else {
		doc, err = workbench.Revert(ctx, a, s.Engine, s.ID, message, f)
	}
	if err != nil {
		return err
	}
	return a.Tell(doc, func() { a.Printf("%s", doc.Told()) })
}
