package command

import (
	"context"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/winnowhq/winnow/cmd/internal/cli"
	"github.com/winnowhq/winnow/cmd/internal/gateway"
	"github.com/winnowhq/winnow/cmd/internal/source"
	"github.com/winnowhq/winnow/gateway/tenant"
)

// tenantRemoved is what tenant remove prints as JSON.
type tenantRemoved struct {
	Tenant string `json:"tenant"`
	Left   string `json:"left"` // the file with its sessions, "" if there is none
	// Erased is when everything that is kept of it is erased; zero: not before somebody does.
	Erased time.Time `json:"erased,omitzero"`
}

func tenantRemove(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use: "remove NAME", Short: "Remove a tenant and its tokens; its sessions stay until their retention is over",
		Example: "  winnowd tenant remove web", Args: cli.Exactly(1, "NAME"), ValidArgsFunction: completeTenants(a),
		RunE: inBook(a, func(ctx context.Context, b tenant.Book, args []string) error {
			t, err := b.Tenant(ctx, args[0])
			if err != nil {
				return err
			}
			if err := b.Remove(ctx, actor(a), t.Name); err != nil {
				return err
			}
			removed := tenantRemoved{Tenant: t.Name}
			settings, err := a.Settings()
			if err != nil {
				return err
			}
			all, err := b.Removed(ctx, t.Name)
			if err != nil {
				return err
			}
			if n := len(all); n > 0 {
				removed.Erased, _ = gateway.ErasedAt(all[n-1], settings.Gateway.Retention)
			}
			if file := source.TenantFile(a, t.Store); file != "" && exists(file) {
				removed.Left = file
			}
			return a.Tell(removed, func() {
				a.Printf("%s is no tenant any more, and its tokens do not count\n", args[0])
				if removed.Left != "" {
					a.Printf("its sessions are in %s\n", removed.Left)
				}
				until := "somebody does that"
				if !removed.Erased.IsZero() {
					until = removed.Erased.Format(time.DateOnly)
				}
				a.Printf("what was kept of it stays until %s; winnowd tenant erase %s erases it now\n", until, t.Name)
			})
		}),
	}
}

func exists(file string) bool {
	_, err := os.Stat(file)
	return err == nil
}
