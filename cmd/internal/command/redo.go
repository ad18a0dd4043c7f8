package command

import (
	"github.com/spf13/cobra"

	"github.com/winnowhq/winnow/cmd/internal/change"
	"github.com/winnowhq/winnow/cmd/internal/cli"
	"github.com/winnowhq/winnow/cmd/internal/output"
	"github.com/winnowhq/winnow/cmd/internal/source"
)

func redoCommand(a *cli.App) *cobra.Command {
	var out output.Target
	cmd := &cobra.Command{
		Use:   "redo SRC [ID]",
		Short: "Reapply a change that was undone",
		Long: `redo reapplies what was undone last, or in the store what the receipt or the marker
named is for. SRC can be a file in which something was undone: the one that "winnow undo" wrote or
replaced. What it was before is read from the original that --in-place kept, or from the file that was
undone with -o; lines that the agent appended since stay at its end. If these are gone, or the file
was changed in another way, nothing is done.`,
		Example: `  winnow redo ses_0123
  winnow redo session.jsonl --in-place`,
		Args: cli.Between(1, 2, "SRC and at most one ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			do := func(s *source.Session, c *change.Document) error {
				return change.Redo(cmd.Context(), a, s, cli.Second(args), c)
			}
			return change.Run(cmd.Context(), a, args[0], out, "redone", do)
		},
	}
	out.Flags(cmd)
	return cmd
}
