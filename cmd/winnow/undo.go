package main

import (
	"github.com/spf13/cobra"

	"github.com/winnowhq/winnow/cmd/winnow/internal/change"
	"github.com/winnowhq/winnow/cmd/winnow/internal/cli"
	"github.com/winnowhq/winnow/cmd/winnow/internal/output"
	"github.com/winnowhq/winnow/cmd/winnow/internal/source"
)

func undoCommand(a *cli.App) *cobra.Command {
	var out output.Target
	cmd := &cobra.Command{
		Use:   "undo SRC [ID]",
		Short: "Take back a compaction, a pruning, a restore or a pin",
		Long: `undo takes back what was done last to what the model sees, or what the receipt or the
marker named is for: a compaction, a pruning, a restore, a pin. What the model sees is then what it
saw before, to the byte. In the store nothing is deleted: "winnow redo" makes it count again. For a
file a copy is written, without the compaction. What a product did to its file itself is not taken
back unless you name it.`,
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
