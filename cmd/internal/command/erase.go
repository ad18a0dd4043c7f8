package command

import (
	"cmp"
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/winnowhq/winnow/cmd/internal/cli"
	"github.com/winnowhq/winnow/cmd/internal/gateway"
	"github.com/winnowhq/winnow/cmd/internal/source"
	"github.com/winnowhq/winnow/gateway/tenant"
	"github.com/winnowhq/winnow/text/quantity"
	"github.com/winnowhq/winnow/text/visible"
)

// erasing are the flags of a command that erases for good.
type erasing struct{ yes bool }

func (f *erasing) flags(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.yes, "yes", false, "erase without asking")
}

// confirm asks whether something is to be erased. Where nobody can be asked, --yes must say so.
func (f *erasing) confirm(ctx context.Context, a *cli.App, what string) error {
	if f.yes {
		return nil
	}
	if !a.Asks() {
		return cli.Usage("this erases %s, and cannot be undone: confirm it with --yes", what)
	}
	a.Warn("this erases %s, and cannot be undone. Press y to erase, any other key to leave it", what)
	key, err := a.Key(ctx)
	if err == nil && key != "y" && key != "Y" {
		return cli.Nothing("nothing was erased")
	}
	return err
}

func tenantErase(a *cli.App) *cobra.Command {
	var f erasing
	cmd := &cobra.Command{
		Use: "erase NAME", Short: "Erase everything that was kept of a tenant, and print a receipt",
		Long: `erase removes a tenant, if it is still there, and erases its sessions with all texts, its tokens, what it
spent, and its part of the audit log; also those of tenants that had its name before. A serve that runs
ends what is under way within two seconds, and forgets what it holds; erase waits for that.

The receipt says how much was erased, and what remains elsewhere. One entry of the audit log says that
it was done, without content. Interrupted, it can be repeated.`,
		Example: `  winnowd tenant erase web
  winnowd tenant erase web --yes --json`,
		Args: cli.Exactly(1, "NAME"), ValidArgsFunction: completeTenants(a),
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		ctx := cmd.Context()
		return withBook(ctx, a, source.Changing, func(b tenant.Book) error {
			if err := f.confirm(ctx, a, "everything of the tenant "+args[0]); err != nil {
				return err
			}
			return eraseAndTell(a, func() (tenant.Erasure, error) { return administer(a, b).Erase(ctx, args[0], "") })
		})
	}
	f.flags(cmd)
	return cmd
}

// eraseAndTell erases, and prints the receipt.
func eraseAndTell(a *cli.App, erase func() (tenant.Erasure, error)) error {
	done := a.Progress("erasing")
	receipt, err := erase()
	done()
	if err != nil {
		return err
	}
	return tellErasure(a, receipt)
}

// tellErasure prints the receipt of an erasure.
func tellErasure(a *cli.App, r tenant.Erasure) error {
	return a.Tell(r, func() {
		a.Printf("erased: %s\n", gateway.Counted(r))
		rows := [][]string{{"in", cmp.Or(strings.Join(r.Stores, ", "), source.StoreAt(a))}, {"by", visible.Line(r.By)},
			{"at", r.Time.Format(time.RFC3339)}}
		if r.Entries > 0 {
			rows = append(rows, []string{"audit log", quantity.Plural(r.Entries, "entry", "entries")})
		}
		if r.Requests > 0 {
			rows = append(rows, []string{"nobody's now", quantity.Count(r.Requests, "request")})
		}
		a.Table([]int{-1, -1}, rows)
		a.Printf("what remains:\n")
		for _, line := range r.Remains {
			a.Printf("  %s\n", line)
		}
	})
}
