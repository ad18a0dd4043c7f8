package command

import (
	"github.com/spf13/cobra"

	"github.com/winnowhq/winnow/cmd/internal/change"
	"github.com/winnowhq/winnow/cmd/internal/cli"
	"github.com/winnowhq/winnow/cmd/internal/output"
	"github.com/winnowhq/winnow/cmd/internal/source"
)

func undoCommand(a *cli.App) *cobra.Command {
	var out output.Target
	cmd := &cobra.Command{
		Use:   "undo SRC [ID]",
		Short: "Undo the last change; redo reapplies it",
		Long: `undo reverses the newest change to what the model sees, or the one that a receipt or marker
names: a compaction, a pruning, a restore or a protection. The model then sees what it saw before, to
the byte, followed by all later messages. Reasoning of that time is left out if its model accepts it
only after the exact prompt that it was made for. "winnow redo" reapplies the change. Of a file undo
writes a copy, or with --in-place it replaces the file. It does not touch what a product did to its
file itself, unless you name it.`,
		Example: `  winnow undo ses_0123            the newest one
  winnow undo session.compacted.jsonl -o session.jsonl
  winnow undo opencode:ses_0123   in the running OpenCode, see --server`,
		Args: cli.Between(1, 2, "SRC and at most one ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			do := func(s *source.Session, c *change.Document) error {
				return change.Undo(cmd.Context(), a, s, cli.Second(args), c)
			}
			return change.Run(cmd.Context(), a, args[0], out, "undone", do)
		},
	}
	out.Flags(cmd)
	out.ServerFlag(cmd)
	return cmd
}
