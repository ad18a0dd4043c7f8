package command

import (
	"github.com/spf13/cobra"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/cmd/internal/change"
	"github.com/winnowhq/winnow/cmd/internal/cli"
	"github.com/winnowhq/winnow/cmd/internal/output"
	"github.com/winnowhq/winnow/cmd/internal/source"
	"github.com/winnowhq/winnow/store/edit"
)

func discardCommand(a *cli.App) *cobra.Command {
	var out output.Target
	cmd := &cobra.Command{
		Use:   "discard SRC HANDLE…",
		Short: "Prune parts by handle",
		Long: `discard leaves out the parts that are named by handle, call id or part id, and shows a
placeholder in the place of each. Nothing is deleted: "winnow restore" shows them whole again, "winnow
undo" takes the whole commit back. A target that is refused does not stop the others.`,
		Example: `  winnow discard ses_0123 k3f7a2 mwq5zd
  winnow discard session.jsonl k3f7a2 -o smaller.jsonl`,
		Args: cli.Between(2, -1, "SRC and at least one HANDLE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			discard := func(s *source.Session) (winnow.Edited, error) {
				return s.Engine.Edit(cmd.Context(), s.ID, edit.Request{Discard: args[1:]})
			}
			return change.ByHand(cmd.Context(), a, args[0], out, "discarded", discard)
		},
	}
	out.Flags(cmd)
	return cmd
}
