package main

import (
	"github.com/spf13/cobra"

	"github.com/winnowhq/winnow/cmd/winnow/internal/cli"
)

func storeCommand(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "store",
		Short:   "Look after the store in which sessions are kept",
		Example: "  winnow store migrate",
		Args:    cli.Exactly(0, "migrate"),
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(migrateCommand(a))
	return cmd
}
