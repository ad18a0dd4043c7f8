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
		Short: "Take back a compaction, a pruning, a restore or a pin",
		Long: `undo takes back what was done last to what the model sees, or what the receipt or the
marker named is for: a compaction, a pruning, a restore, a pin. What the model sees is then what it
saw before, to the byte, with what was said since behind it. Reasoning that was made meanwhile is left
out if its model takes it only behind the exact prompt that it was made for. "winnow redo" makes what
was undone count again. Of a file a copy is written, or with --in-place the file is replaced. What a
product did to its file itself is not taken back unless you name it.`,
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
