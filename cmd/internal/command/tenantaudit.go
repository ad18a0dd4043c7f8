package command

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/winnowhq/winnow/cmd/internal/cli"
	"github.com/winnowhq/winnow/cmd/internal/source"
	"github.com/winnowhq/winnow/gateway/tenant"
	"github.com/winnowhq/winnow/text/visible"
)

// tenantAudited is what tenant audit prints as JSON.
type tenantAudited struct {
	Entries []tenant.Entry `json:"entries"` // the newest first
}

// whoOf names the token or person of an entry, for people: a token with its owner.
func whoOf(e tenant.Entry) string {
	if e.Person == "" || strings.HasSuffix(e.Who, e.Person) {
		return e.Who
	}
	return e.Who + " of " + visible.Line(e.Person)
}

// newestStore is the store of the tenant of a name, or of the one that was removed last, or what
// was given: the name of a store.
func newestStore(ctx context.Context, b tenant.Book, name string) (string, error) {
	t, err := b.Tenant(ctx, name)
	if err == nil || !errors.Is(err, tenant.ErrNotFound) {
		return t.Store, err
	}
	removed, err := b.Removed(ctx, name)
	if err != nil || len(removed) == 0 {
		return name, err
	}
	return removed[len(removed)-1].Store, nil
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
					var err error
					if of, err = newestStore(cmd.Context(), b, args[0]); err != nil {
						return err
					}
				}
				all, err := b.Audited(cmd.Context(), of, limit)
				if err != nil {
					return err
				}
				return a.Tell(tenantAudited{append([]tenant.Entry{}, all...)}, func() {
					for _, e := range all {
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
