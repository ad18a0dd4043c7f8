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
	list, err := administer(a, b).List(ctx)
	if err != nil {
		return err
	}
	rows := [][]string{{"TENANT", "TODAY", "THIS MONTH", "LIMITS", "TOKENS"}}
	for _, t := range list.Tenants {
		rows = append(rows, []string{t.Name, spentOf(t.Spent.Day, t.Budget.Day),
			spentOf(t.Spent.Month, t.Budget.Month), limitsOf(t.Limits), quantity.Number(t.Tokens)})
	}
	err = a.Tell(list, func() {
		if len(list.Tenants) > 0 {
			a.Table([]int{-1, 1, 1, -1, 1}, rows)
		}
	})
	if err == nil && len(list.Tenants) == 0 {
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
