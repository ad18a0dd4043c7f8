package command

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/cmd/internal/change"
	"github.com/winnowhq/winnow/cmd/internal/cli"
	"github.com/winnowhq/winnow/cmd/internal/output"
	"github.com/winnowhq/winnow/cmd/internal/source"
	"github.com/winnowhq/winnow/store/edit"
)

func distillCommand(a *cli.App) *cobra.Command {
	var out output.Target
	var text, file string
	cmd := &cobra.Command{
		Use:   "distill SRC HANDLE…",
		Short: "Show a summary of your own in the place of parts",
		Long: `distill shows one summary in the place of the parts that are named by handle, call id
or part id: the largest of them shows it, the others name that part. The summary is kept with the
session and shown in every later view. A summary that is larger than what it would replace is refused.`,
		Example: `  winnow distill ses_0123 k3f7a2 --text "a.go: the parser; entry point Parse(r io.Reader)."
  winnow distill session.jsonl k3f7a2 mwq5zd --file notes.md`,
		Args: cli.Between(2, -1, "SRC and at least one HANDLE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			switch {
			case (text == "") == (file == ""):
				return cli.Usage("give the summary with --text or with --file")
			case file == "-" && args[0] == "-":
				return cli.Usage("standard input cannot be both the session and the summary")
			case file != "":
				data, _, err := source.ReadFile(a, file)
				if err != nil {
					return err
				}
				if text = string(data); strings.TrimSpace(text) == "" {
					return cli.Usage("%s is empty: there is no summary in it", file)
				}
			}
			return change.ByHand(ctx, a, args[0], out, "distilled", func(s *source.Session) (winnow.Edited, error) {
				return s.Engine.Edit(ctx, s.ID,
					edit.Request{Distill: []edit.Distillation{{Targets: args[1:], Summary: text}}})
			})
		},
	}
	out.Flags(cmd)
	cmd.Flags().StringVar(&text, "text", "", "the summary")
	cmd.Flags().StringVar(&file, "file", "", `a file that holds the summary, "-" for standard input`)
	return cmd
}
