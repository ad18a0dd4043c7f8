package command

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/winnowhq/winnow/cmd/internal/cli"
	"github.com/winnowhq/winnow/cmd/internal/gateway"
	"github.com/winnowhq/winnow/cmd/internal/source"
)

// migrated is what store migrate prints as JSON.
type migrated struct {
	Store string `json:"store"`
	Jobs  bool   `json:"jobs"`
	// Tenants reports whether the tables of tenants are among them.
	Tenants bool `json:"tenants"`
}

func migrateCommand(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:   "migrate",
		Short: "Make the tables of the store, or upgrade them to this version",
		Long: `migrate makes the tables of the store, or upgrades them to those of this version, and in a
database those of tenants and jobs beside it. Several may do so at once; what is up to date stays as it is.
Commands do the same when they open a store; migrate does it without anything else, so that it can be
done once, before new versions of winnow serve start beside old ones.`,
		Example:           "  winnowd store migrate --store postgres://winnow@localhost/winnow",
		Args:              cli.Exactly(0, "no arguments"),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(cmd *cobra.Command, _ []string) error { return migrate(cmd.Context(), a) },
	}
}

func migrate(ctx context.Context, a *cli.App) error {
	kept, err := source.OpenStore(ctx, a, source.Making)
	if err != nil {
		return err
	}
	if err := kept.Close(); err != nil {
		return err
	}
	shared, err := gateway.MigrateShared(ctx, a, source.StoreForChild(a))
	if err != nil {
		return err
	}
	done := migrated{source.StoreAt(a), shared, shared}
	return a.Tell(done, func() { a.Printf("the tables of %s are those of this version\n", done.Store) })
}
