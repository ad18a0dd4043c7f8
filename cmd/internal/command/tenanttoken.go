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
	"github.com/winnowhq/winnow/desk/config"
	"github.com/winnowhq/winnow/gateway/tenant"
	"github.com/winnowhq/winnow/text/visible"
)

// tenantTokenMade is what tenant token add and rotate print as JSON: the token is shown once.
type tenantTokenMade struct {
	Token string        `json:"token"`
	Kept  tenantsToken  `json:"kept"`         // what is kept of it
	Old   *tenantsToken `json:"old,omitzero"` // that it takes the place of
}

// tenantTokens is what tenant token list and revoke print as JSON.
type tenantTokens struct {
	Tokens []tenantsToken `json:"tokens"`
}

func withStates(a *cli.App, tokens []tenant.Token) []tenantsToken {
	all := make([]tenantsToken, len(tokens))
	for i, t := range tokens {
		all[i] = tenantsToken{t, t.State(a.Env.Now())}
	}
	return all
}

// line is a token for people.
func (t tenantsToken) line(a *cli.App) string {
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
  admin    the pages and figures of all tenants, and the page of jobs
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
	var label, owner, expires string
	scopes := "relay,read,act"
	cmd := &cobra.Command{
		Use: "add TENANT", Short: "Make a token and print it, once",
		Example: "  winnowd tenant token add web --owner ann@example.com --expires 90d",
		Args:    cli.Exactly(1, "TENANT"), ValidArgsFunction: completeTenants(a),
		RunE: func(cmd *cobra.Command, args []string) error {
			allowed, err := tenant.ParseScopes(scopes)
			if err != nil {
				return cli.Misuse(err)
			}
			var lasts time.Duration
			if expires != "" {
				if lasts, err = config.Age(expires); err != nil {
					return cli.Usage("--expires: %w", err)
				}
			}
			shown, token, err := tenant.NewToken(args[0], label, allowed, a.Env.Now(), lasts)
			if err == nil {
				err = tenant.CheckOwner(owner)
			}
			if err != nil {
				return cli.Misuse(err)
			}
			token.Owner = owner
			return withBook(cmd.Context(), a, source.Changing, func(b tenant.Book) error {
				if err := b.AddToken(cmd.Context(), actor(a), token); err != nil {
					return err
				}
				return tellToken(a, shown, token, nil)
			})
		},
	}
	cmd.Flags().StringVar(&label, "label", "", "what it is for")
	cmd.Flags().StringVar(&owner, "owner", "", "the person who asks with it, such as ann@example.com")
	cmd.Flags().StringVar(&scopes, "scopes", scopes, "what it allows: "+tenant.AllScopes().String())
	cmd.Flags().StringVar(&expires, "expires", "", "how long it counts, such as 90d (default for good)")
	return cmd
}

// tellToken shows a token, once.
func tellToken(a *cli.App, shown string, kept tenant.Token, old *tenant.Token) error {
	made := tenantTokenMade{Token: shown, Kept: tenantsToken{kept, kept.State(a.Env.Now())}}
	if old != nil {
		made.Old = &tenantsToken{*old, old.State(a.Env.Now())}
	}
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
	return a.Tell(made, func() { a.Printf("%s\n", shown) })
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
				if _, err := b.Tenant(ctx, of); err != nil {
					return err
				}
			}
			all, err := b.Tokens(ctx, of)
			if err != nil {
				return err
			}
			if err := tellTokens(a, all); err != nil || len(all) > 0 {
				return err
			}
			return cli.Nothing("there is no token; `winnowd tenant token add " + cmp.Or(of, "TENANT") + "` makes one")
		}),
	}
}

func tellTokens(a *cli.App, tokens []tenant.Token) error {
	list := withStates(a, tokens)
	return a.Tell(tenantTokens{list}, func() {
		for _, t := range list {
			a.Printf("%s\n", t.line(a))
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
			t, err := b.Revoke(ctx, actor(a), args[0])
			if err != nil {
				return err
			}
			return tellTokens(a, []tenant.Token{t})
		}),
	}
}

func tenantTokenRotate(a *cli.App) *cobra.Command {
	overlap := "24h"
	cmd := &cobra.Command{
		Use: "rotate ID", Short: "Make a token in the place of another one, which counts for a while yet",
		Example: "  winnowd tenant token rotate tok_1f2e3d4c5b6a --overlap 48h",
		Args:    cli.Exactly(1, "ID"), ValidArgsFunction: completeTokens(a),
		RunE: func(cmd *cobra.Command, args []string) error {
			var rest time.Duration
			if overlap != "0" {
				var err error
				if rest, err = config.Age(overlap); err != nil {
					return cli.Usage("--overlap: %w", err)
				}
			}
			return withBook(cmd.Context(), a, source.Changing, func(b tenant.Book) error {
				return rotate(cmd.Context(), a, b, args[0], rest)
			})
		},
	}
	cmd.Flags().StringVar(&overlap, "overlap", overlap, "how long the old one counts yet; 0 for not at all")
	return cmd
}

func rotate(ctx context.Context, a *cli.App, b tenant.Book, id string, overlap time.Duration) error {
	old, err := b.Token(ctx, id)
	if err != nil {
		return err
	}
	if state := old.State(a.Env.Now()); state != "valid" {
		return cli.Usage("the token %s is %s: make a new one with `winnowd tenant token add %s`", id, state, old.Tenant)
	}
	shown, next, old, err := b.Rotate(ctx, actor(a), id, overlap)
	if err != nil {
		return err
	}
	return tellToken(a, shown, next, &old)
}
