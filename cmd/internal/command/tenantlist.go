package command

import (
	"cmp"
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/winnowhq/winnow/cmd/internal/cli"
	"github.com/winnowhq/winnow/gateway/tenant"
	"github.com/winnowhq/winnow/text/quantity"
)

func tenantListCommand(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "Show the tenants and what they spent", Example: "  winnowd tenant list",
		Args: cli.Exactly(0, "no arguments"), ValidArgsFunction: cobra.NoFileCompletions,
		RunE: inBook(a, func(ctx context.Context, b tenant.Book, _ []string) error { return listTenants(ctx, a, b) }),
	}
}

func listTenants(ctx context.Context, a *cli.App, b tenant.Book) error {
	all, err := b.Tenants(ctx)
	if err != nil {
		return err
	}
	list := tenantList{Tenants: []tenantLine{}}
	rows := [][]string{{"TENANT", "TODAY", "THIS MONTH", "LIMITS", "TOKENS"}}
	for _, t := range all {
		line := tenantLine{Tenant: t}
		if line.Spent, err = b.Spent(ctx, t.Store, a.Env.Now()); err != nil {
			return err
		}
		tokens, err := b.Tokens(ctx, t.Name)
		if err != nil {
			return err
		}
		for _, token := range tokens {
			if token.State(a.Env.Now()) == "valid" {
				line.Tokens++
			}
		}
		list.Tenants = append(list.Tenants, line)
		rows = append(rows, []string{t.Name, spentOf(line.Spent.Day, t.Budget.Day),
			spentOf(line.Spent.Month, t.Budget.Month), limitsOf(t.Limits), quantity.Number(line.Tokens)})
	}
	err = a.Tell(list, func() {
		if len(all) > 0 {
			a.Table([]int{-1, 1, 1, -1, 1}, rows)
		}
	})
	if err == nil && len(all) == 0 {
		return cli.Nothing("there is no tenant; `winnowd tenant add NAME` makes one")
	}
	return err
}

// eachOf is the budget of each person.
func eachOf(b tenant.Budget) string {
	var all []string
	if b.Day > 0 {
		all = append(all, quantity.Dollars(b.Day)+" a day")
	}
	if b.Month > 0 {
		all = append(all, quantity.Dollars(b.Month)+" a month")
	}
	return cmp.Or(strings.Join(all, ", "), "no budget")
}
