package command

import (
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/winnowhq/winnow/cmd/internal/cli"
	"github.com/winnowhq/winnow/cmd/internal/source"
	"github.com/winnowhq/winnow/gateway/tenant"
	"github.com/winnowhq/winnow/text/visible"
)

// whoOf names the token or person of an entry, for people: a token with its owner.
func whoOf(e tenant.Entry) string {
	if e.Person == "" || strings.HasSuffix(e.Who, e.Person) {
		return e.Who
	}
	return e.Who + " of " + visible.Line(e.Person)
}

func tenantAudit(a *cli.App) *cobra.Command {
	limit := 50
	cmd := &cobra.Command{
		Use: "audit [NAME]", Short: "Show who did what: undone, restored, pinned, read, changed",
		Example: "  winnowd tenant audit web --limit 20", Args: cli.Between(0, 1, "NAME"),
		ValidArgsFunction: completeTenants(a),
		RunE: func(cmd *cobra.Command, args []string) error {
			if limit < 1 {
				return cli.Usage("--limit %d: give 1 or more", limit)
			}
			return withBook(cmd.Context(), a, source.Changing, func(b tenant.Book) error {
				of := ""
				if len(args) > 0 {
					of = args[0]
				}
				audited, err := administer(a, b).Audited(cmd.Context(), of, limit)
				if err != nil {
					return err
				}
				return a.Tell(audited, func() {
					for _, e := range audited.Entries {
						a.Printf("%s  %-12s %-20s %-14s %s\n", e.Time.Format(time.RFC3339), e.Tenant, whoOf(e), e.Did,
							strings.TrimSpace(e.Session+" "+e.What))
					}
				})
			})
		},
	}
	cmd.Flags().IntVar(&limit, "limit", limit, "how many of the newest entries")
	return cmd
}
