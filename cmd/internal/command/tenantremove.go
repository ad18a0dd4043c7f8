package command

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/winnowhq/winnow/cmd/internal/cli"
	"github.com/winnowhq/winnow/gateway/tenant"
)

func tenantRemove(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use: "remove NAME", Short: "Remove a tenant and its tokens; its sessions stay until their retention is over",
		Example: "  winnowd tenant remove web", Args: cli.Exactly(1, "NAME"), ValidArgsFunction: completeTenants(a),
		RunE: inBook(a, func(ctx context.Context, b tenant.Book, args []string) error {
			removed, err := administer(a, b).Remove(ctx, args[0])
			if err != nil {
				return err
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
				a.Printf("its data stays until %s; winnowd tenant erase %s erases it now\n", until, removed.Tenant)
			})
		}),
	}
}
