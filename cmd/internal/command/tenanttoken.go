package command

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/winnowhq/winnow/cmd/internal/cli"
	"github.com/winnowhq/winnow/cmd/internal/source"
	"github.com/winnowhq/winnow/gateway/admin"
	"github.com/winnowhq/winnow/gateway/tenant"
	"github.com/winnowhq/winnow/text/visible"
)

// tokenLine is a token for people.
func tokenLine(a *cli.App, t admin.Token) string {
	when := func(at time.Time, never string) string {
		if at.IsZero() {
			return never
		}
		return at.Format("2006-01-02 15:04")
	}
	return fmt.Sprintf("%s  %-12s %-8s %-16s expires %-16s  used %-16s  %s", t.ID, t.Tenant, t.State, t.Scopes,
		when(t.Expires, "never"), when(t.Used, "never"), strings.TrimSpace(visible.Line(t.Owner)+" "+a.Cut(t.Label, 0)))
}

func tenantTokenCommand(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use: "token", Short: "Make, list, replace and revoke the tokens of tenants",
		Long: `token makes the tokens with which a tenant asks. A token is shown once; its SHA-256 is kept.

Scopes say what it allows:
  relay    requests to the providers
  read     the tenant's sessions on the page, and /metrics
  act      undo, restore and pin on the page
  admin    the pages and figures of all tenants, the page of jobs, and tenants and tokens by HTTP
  metrics  the figures of all tenants at /metrics, and nothing else: for Prometheus`,
		Example: `  winnowd tenant token add web --owner ann@example.com --expires 90d
  winnowd tenant token add web --label dashboard --scopes read
  winnowd tenant token rotate tok_1f2e3d4c5b6a --overlap 48h`,
		Args: cli.Exactly(0, "add, list, revoke or rotate"),
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(tenantTokenAdd(a), tenantTokenList(a), tenantTokenRevoke(a), tenantTokenRotate(a))
	return cmd
}

func tenantTokenAdd(a *cli.App) *cobra.Command {
	var n admin.NewToken
	scopes := admin.DefaultScopes
	cmd := &cobra.Command{
		Use: "add TENANT", Short: "Make a token and print it, once",
		Example: "  winnowd tenant token add web --owner ann@example.com --expires 90d",
		Args:    cli.Exactly(1, "TENANT"), ValidArgsFunction: completeTenants(a),
		RunE: func(cmd *cobra.Command, args []string) error {
			n.Scopes = strings.Split(scopes, ",")
			return withBook(cmd.Context(), a, source.Changing, func(b tenant.Book) error {
				made, err := administer(a, b).AddToken(cmd.Context(), args[0], n)
				if err != nil {
					return err
				}
				return tellToken(a, made)
			})
		},
	}
	cmd.Flags().StringVar(&n.Label, "label", "", "what it is for")
	cmd.Flags().StringVar(&n.Owner, "owner", "", "the person who asks with it, such as ann@example.com")
	cmd.Flags().StringVar(&scopes, "scopes", scopes, "what it allows: "+tenant.AllScopes().String())
	cmd.Flags().StringVar(&n.Expires, "expires", "", "how long it counts, such as 90d (default for good)")
	return cmd
}

// tellToken shows a token, once.
func tellToken(a *cli.App, made admin.Made) error {
	kept, old := made.Kept, made.Old
	if !a.JSON && !a.Quiet {
		a.Warn("the token is shown this once; it is %s of the tenant %s, and allows %s", kept.ID, kept.Tenant,
			kept.Scopes)
		switch {
		case old == nil:
		case !old.Revoked.IsZero():
			a.Warn("%s is revoked", old.ID)
		default:
			a.Warn("%s counts until %s", old.ID, old.Expires.Format(time.RFC3339))
		}
	}
	return a.Tell(made, func() { a.Printf("%s\n", made.Token) })
}

func tenantTokenList(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use: "list [TENANT]", Short: "Show the tokens, what they allow and when they were used",
		Example: "  winnowd tenant token list web", Args: cli.Between(0, 1, "TENANT"),
		ValidArgsFunction: completeTenants(a),
		RunE: inBook(a, func(ctx context.Context, b tenant.Book, args []string) error {
			of := ""
			if len(args) > 0 {
				of = args[0]
			}
			all, err := administer(a, b).Tokens(ctx, of)
			if err != nil {
				return err
			}
			if err := tellTokens(a, all); err != nil || len(all.Tokens) > 0 {
				return err
			}
			return cli.Nothing("there is no token; `winnowd tenant token add " + cmp.Or(of, "TENANT") + "` makes one")
		}),
	}
}

func tellTokens(a *cli.App, list admin.Tokens) error {
	return a.Tell(list, func() {
		for _, t := range list.Tokens {
			a.Printf("%s\n", tokenLine(a, t))
		}
	})
}

// completeTokens offers the ids of tokens that are not revoked.
func completeTokens(a *cli.App) cobra.CompletionFunc {
	return completeFromBook(a, func(ctx context.Context, b tenant.Book) (ids []string, err error) {
		all, err := b.Tokens(ctx, "")
		for _, t := range all {
			if t.State(a.Env.Now()) == "valid" {
				ids = append(ids, t.ID)
			}
		}
		return ids, err
	})
}

func tenantTokenRevoke(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use: "revoke ID", Short: "Revoke a token, and end what it has under way",
		Example: "  winnowd tenant token revoke tok_1f2e3d4c5b6a",
		Args:    cli.Exactly(1, "ID"), ValidArgsFunction: completeTokens(a),
		RunE: inBook(a, func(ctx context.Context, b tenant.Book, args []string) error {
			revoked, err := administer(a, b).Revoke(ctx, args[0])
			if err != nil {
				return err
			}
			return tellTokens(a, revoked)
		}),
	}
}

func tenantTokenRotate(a *cli.App) *cobra.Command {
	r := admin.Rotation{Overlap: admin.DefaultOverlap}
	cmd := &cobra.Command{
		Use: "rotate ID", Short: "Make a token in the place of another one, which counts for a while yet",
		Example: "  winnowd tenant token rotate tok_1f2e3d4c5b6a --overlap 48h",
		Args:    cli.Exactly(1, "ID"), ValidArgsFunction: completeTokens(a),
		RunE: func(cmd *cobra.Command, args []string) error {
			return withBook(cmd.Context(), a, source.Changing, func(b tenant.Book) error {
				made, err := administer(a, b).Rotate(cmd.Context(), args[0], r)
				if err != nil {
					return err
				}
				return tellToken(a, made)
			})
		},
	}
	cmd.Flags().StringVar(&r.Overlap, "overlap", r.Overlap, "how long the old token stays valid; 0 ends it at once")
	return cmd
}
