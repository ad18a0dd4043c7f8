package command

import (
	"github.com/spf13/cobra"

	"github.com/winnowhq/winnow/cmd/internal/cli"
	"github.com/winnowhq/winnow/cmd/internal/source"
	"github.com/winnowhq/winnow/gateway/tenant"
	"github.com/winnowhq/winnow/text/visible"
)

func tenantPersonCommand(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use: "person", Short: "Erase one person's data within a tenant",
		Example: "  winnowd tenant person erase web ann@example.com",
		Args:    cli.Exactly(0, "erase"),
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(tenantPersonErase(a))
	return cmd
}

func tenantPersonErase(a *cli.App) *cobra.Command {
	var f erasing
	cmd := &cobra.Command{
		Use: "erase NAME PERSON", Short: "Erase a person's sessions and tokens, and print a receipt",
		Long: `erase erases the sessions that a person of a tenant began, and the person's tokens. What the person
spent stays in the tenant's sums and is nobody's; requests in sessions of others, and entries of the
audit log, name nobody. PERSON is the owner of tokens, or who signed in, as "winnowd tenant show" and
"winnowd tenant audit" name them.

A serve that runs ends what the person has under way within two seconds, and forgets what it holds of
the tenant's sessions; erase waits for that. Interrupted, it can be repeated.`,
		Example: `  winnowd tenant person erase web ann@example.com
  winnowd tenant person erase web ann@example.com --yes --json`,
		Args: cli.Exactly(2, "NAME and PERSON"), ValidArgsFunction: completeTenants(a),
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		ctx := cmd.Context()
		if err := tenant.CheckOwner(args[1]); err != nil || args[1] == "" {
			return cli.Usage("name the person as the owner of tokens is written: ann@example.com")
		}
		return withBook(ctx, a, source.Changing, func(b tenant.Book) error {
			if _, err := b.Tenant(ctx, args[0]); err != nil {
				return err
			}
			what := "the data of " + visible.Line(args[1]) + " within the tenant " + args[0]
			if err := f.confirm(ctx, a, what); err != nil {
				return err
			}
			return eraseAndTell(a, func() (tenant.Erasure, error) { return administer(a, b).Erase(ctx, args[0], args[1]) })
		})
	}
	f.flags(cmd)
	return cmd
}
