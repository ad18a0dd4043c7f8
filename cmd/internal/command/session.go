package command

import (
	"context"
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"github.com/winnowhq/winnow/cmd/internal/cli"
	"github.com/winnowhq/winnow/cmd/internal/gateway"
	"github.com/winnowhq/winnow/cmd/internal/source"
	"github.com/winnowhq/winnow/gateway/admin"
	"github.com/winnowhq/winnow/gateway/tenant"
	"github.com/winnowhq/winnow/store"
)

func sessionCommand(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use: "session", Short: "Delete sessions from the store without a trace",
		Example: "  winnow session delete ses_0123",
		Args:    cli.Exactly(0, "delete"),
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(sessionDelete(a))
	return cmd
}

func sessionDelete(a *cli.App) *cobra.Command {
	var f erasing
	var of string
	cmd := &cobra.Command{
		Use: "delete ID…", Short: "Delete sessions, what they left in the file included, and print a receipt",
		Long: `delete deletes sessions with everything that belongs to them. Large texts stay while another session
has them, too. A store that is a file is written anew, so that nothing of them is left in it, which takes
as long as copying it. Session files of agents stay as they are.

--tenant deletes sessions of a tenant of winnowd serve, and notes it in the audit log. A serve that runs
forgets what it holds of the tenant's sessions; delete waits for that. A client that goes on with such a
conversation sends its own history, which is kept anew.`,
		Example: `  winnow session delete ses_0123 ses_4567
  winnowd session delete --tenant web live_0123 --yes`,
		Args: cli.Between(1, -1, "at least one ID"), ValidArgsFunction: source.CompleteSources(a),
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return deleteSessions(cmd.Context(), a, f, of, args)
	}
	cmd.Flags().StringVar(&of, "tenant", "", "delete sessions of this tenant")
	f.flags(cmd)
	return cmd
}

func deleteSessions(ctx context.Context, a *cli.App, f erasing, of string, args []string) error {
	_, named := store.CutTenant(source.StoreForChild(a))
	if of == "" && named == "" {
		kept, err := source.OpenStore(ctx, a, source.Changing)
		if errors.Is(err, source.ErrNoStore) {
			return cli.Misuse(err)
		}
		if err != nil {
			return err
		}
		defer kept.Close()
		return deleteFrom(ctx, a, f, kept, args, func(ids []string) (tenant.Erasure, error) {
			return gateway.Eraser{App: a, Who: actor(a)}.Stored(ctx, kept, ids...)
		})
	}
	if a.Shared.Missing != nil {
		return a.Shared.Missing
	}
	return withBook(ctx, a, source.Changing, func(b tenant.Book) error {
		t, err := tenantNamed(ctx, b, of, named)
		if err != nil {
			return err
		}
		stores := source.TenantStores{App: a}
		defer stores.Close()
		kept, err := stores.Open(ctx, t.Store)
		if err != nil {
			return err
		}
		defer kept.Close()
		return deleteFrom(ctx, a, f, kept, args, func(ids []string) (tenant.Erasure, error) {
			return administer(a, b).DeleteSessions(ctx, t.Name, admin.Deletion{Sessions: ids})
		})
	})
}

// tenantNamed is the tenant of a name, or if that is "" the one with a store.
func tenantNamed(ctx context.Context, b tenant.Book, name, of string) (tenant.Tenant, error) {
	if name != "" {
		return b.Tenant(ctx, name)
	}
	d, err := b.Directory(ctx)
	if err != nil {
		return tenant.Tenant{}, err
	}
	t, ok := d.OfStore(of)
	if !ok {
		return t, cli.Usage("no tenant has the store %s; `winnowd tenant list` shows the tenants", of)
	}
	return t, nil
}

// deleteFrom finds sessions in a store, asks, deletes them, and prints the receipt.
func deleteFrom(ctx context.Context, a *cli.App, f erasing, kept store.Store, args []string,
	erase func(ids []string) (tenant.Erasure, error)) error {
	ids := make([]string, len(args))
	for i, arg := range args {
		id, err := source.FindSession(ctx, kept, arg)
		if err != nil {
			return err
		}
		ids[i] = id
	}
	if err := f.confirm(ctx, a, "the sessions "+strings.Join(ids, ", ")); err != nil {
		return err
	}
	return eraseAndTell(a, func() (tenant.Erasure, error) { return erase(ids) })
}
