package main

import (
	"github.com/spf13/cobra"

	"github.com/winnowhq/winnow/cmd/winnow/internal/change"
	"github.com/winnowhq/winnow/cmd/winnow/internal/cli"
	"github.com/winnowhq/winnow/cmd/winnow/internal/output"
	"github.com/winnowhq/winnow/cmd/winnow/internal/source"
)

func redoCommand(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:     "redo ID [RECEIPT]",
		Short:   "Make an undone compaction, pruning, restore or pin count again",
		Example: `  winnow redo ses_0123`,
		Args:    cli.Between(1, 2, "the id of a session in the store and at most one receipt"),
		RunE: func(cmd *cobra.Command, args []string) error {
			do := func(s *source.Session, c *change.Document) error {
				if s.FromFile() {
					return cli.Usage("a file keeps nothing that was undone; redo takes a session in the store")
				}
				receipt, err := s.Engine.Redo(cmd.Context(), s.ID, cli.Second(args))
				if err == nil {
					c.Note(receipt)
				}
				return change.OrNothing(err, cli.Second(args))
			}
			return change.Run(cmd.Context(), a, args[0], output.Target{}, "redone", do)
		},
	}
}
