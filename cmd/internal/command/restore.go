package command

import (
	"github.com/spf13/cobra"

	"github.com/winnowhq/winnow/cmd/internal/change"
	"github.com/winnowhq/winnow/cmd/internal/cli"
	"github.com/winnowhq/winnow/cmd/internal/output"
	"github.com/winnowhq/winnow/cmd/internal/source"
	"github.com/winnowhq/winnow/store/edit"
)

func restoreCommand(a *cli.App) *cobra.Command {
	var out output.Target
	cmd := &cobra.Command{
		Use:   "restore SRC PART…",
		Short: "Show parts that were left out or folded whole again",
		Long: `restore shows parts whole again. PART is the id of a part or of a call, or a handle as
placeholders show it. What was left out comes back in its place. What a compaction folded is quoted
behind the summary, a call with its result, word for word and with its place in the session; it stays
there behind later summaries too, while there is room. Nothing before it changes, so that the
provider's cache remains valid. "winnow undo" takes a restore back, also in the file that was written.

Of opencode:ID a running OpenCode server is told, see --server; "winnow prune" leaves the parts out
again. What was folded needs a new message, which only "opencode import" brings: a file for it is
written.

What cannot be shown is an error and changes nothing: what is shown whole already (exit 5), what is
unknown, what was undone, files whose bytes are not in the log, and what does not fit into the window.`,
		Example: `  winnow restore ses_0123 prt_0456
  winnow restore ses_0123 k3f7a2`,
		Args: cli.Between(2, -1, "SRC and at least one PART"),
		RunE: func(cmd *cobra.Command, args []string) error {
			do := func(s *source.Session, c *change.Document) error {
				done, err := s.Engine.Edit(cmd.Context(), s.ID, edit.Request{Restore: args[1:], All: true})
				if err == nil {
					c.Note(done.Receipt)
				}
				return err
			}
			return change.Run(cmd.Context(), a, args[0], out, "restored", do)
		},
	}
	out.Flags(cmd)
	out.ServerFlag(cmd)
	return cmd
}
