package command

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/winnowhq/winnow/cmd/internal/cli"
	"github.com/winnowhq/winnow/cmd/internal/gateway"
	"github.com/winnowhq/winnow/cmd/internal/source"
	"github.com/winnowhq/winnow/gateway/shared"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/store/sqlite"
)

// migrated is what store migrate prints as JSON.
type migrated struct {
	// The store whose tables are those of this version now, without the password of a database.
	Store string `json:"store"`
	// Whether the tables of jobs are among them: only those of a database are made beforehand.
	Jobs    bool            `json:"jobs"`
	Tenants bool            `json:"tenants"` // whether the tables of tenants are among them
	From    shared.Versions `json:"from"`    // versions of the tables before, 0 for missing ones
	To      shared.Versions `json:"to"`      // versions of the tables now, 0 for missing ones
}

func migrateCommand(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:   "migrate",
		Short: "Make the tables of the store, or upgrade them to this version",
		Long: `migrate makes the tables of the store, or upgrades them to those of this version, and in a
database those of tenants and jobs beside it. Several may do so at once; what is up to date stays as it is.
serve, import and store copy do the same when they open a store; migrate does it without anything else,
so that it can be done once, before new versions of winnow serve start beside old ones. Other commands
upgrade the tables of a database, and make none.`,
		Example:           "  winnowd store migrate --store postgres://winnow@localhost/winnow",
		Args:              cli.Exactly(0, "no arguments"),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(cmd *cobra.Command, _ []string) error { return migrate(cmd.Context(), a) },
	}
}

func migrate(ctx context.Context, a *cli.App) error {
	name := source.StoreForChild(a)
	from, err := versionsOf(ctx, a, name)
	if err != nil {
		return err
	}
	kept, err := source.OpenStore(ctx, a, source.Making)
	if err != nil {
		return err
	}
	if err := kept.Close(); err != nil {
		return err
	}
	inDatabase, err := gateway.MigrateShared(ctx, a, name)
	if err != nil {
		return err
	}
	to, err := versionsOf(ctx, a, name)
	if err != nil {
		return err
	}
	done := migrated{source.StoreAt(a), inDatabase, inDatabase, from, to}
	return a.Tell(done, func() {
		if from == to {
			a.Printf("nothing to do: ")
		}
		a.Printf("the tables of %s are those of this version\n", done.Store)
		tellTables(a, "sessions", from.Store, to.Store)
		tellTables(a, "tenants", from.Tenants, to.Tenants)
		tellTables(a, "jobs", from.Jobs, to.Jobs)
	})
}

// versionsOf are the versions of the tables of a store; a file has only those of sessions.
func versionsOf(ctx context.Context, a *cli.App, name string) (v shared.Versions, err error) {
	switch {
	case store.IsURL(name):
		return a.Shared.Versions(ctx, name)
	case name != "":
		v.Store, err = sqlite.VersionOf(ctx, name)
	}
	return v, err
}

// tellTables reports the change to the tables.
func tellTables(a *cli.App, what string, from, to int64) {
	switch {
	case to == 0:
	case from == 0:
		a.Printf("  %-8s  made, version %d\n", what, to)
	case from == to:
		a.Printf("  %-8s  version %d\n", what, to)
	default:
		a.Printf("  %-8s  from version %d to %d\n", what, from, to)
	}
}
