package command

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/winnowhq/winnow/cmd/internal/cli"
	"github.com/winnowhq/winnow/gateway/tenant"
)

// firstToken are the flags with which a job makes a tenant together with its token, as often as it
// runs.
type firstToken struct {
	ifMissing bool
	variable  string
	scopes    string
}

func (f *firstToken) flags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.BoolVar(&f.ifMissing, "if-missing", false, "leave a tenant of this name as it is, and succeed")
	flags.StringVar(&f.variable, "token-env", "",
		"the environment variable with a token that you chose; a tenant that has or had one does not get it")
	flags.StringVar(&f.scopes, "token-scopes", "relay,read,act", "what that token allows: "+tenant.AllScopes().String())
}

// token is the token that the flags name, nil for none.
func (f *firstToken) token(a *cli.App, name string) (*tenant.Token, error) {
	if f.variable == "" {
		return nil, nil
	}
	shown := a.Env.Getenv(f.variable)
	if shown == "" {
		return nil, cli.Usage("the variable %s, which --token-env names, is not set", f.variable)
	}
	scopes, err := tenant.ParseScopes(f.scopes)
	if err != nil {
		return nil, cli.Misuse(err)
	}
	t, err := tenant.GivenToken(shown, name, f.variable, scopes, a.Env.Now(), 0)
	if err != nil {
		return nil, cli.Usage("%s: %w", f.variable, err)
	}
	return &t, nil
}

// add adds a tenant with a token, nil for none. A tenant that is there already gets the token only
// if it has none, as this was interrupted before: a token that was revoked stays revoked.
func (f *firstToken) add(ctx context.Context, a *cli.App, b tenant.Book, t tenant.Tenant, token *tenant.Token) error {
	give := token != nil
	if give {
		all, err := b.Tokens(ctx, "")
		if err != nil {
			return err
		}
		for _, other := range all {
			switch {
			case other.Tenant == t.Name:
				give = false
			case other.Hash == token.Hash:
				return cli.Usage("%s is a token of the tenant %s: give %s another token", f.variable, other.Tenant,
					t.Name)
			}
		}
	}
	_, err := administer(a, b).Add(ctx, t)
	if err != nil && !(f.ifMissing && errors.Is(err, tenant.ErrExists)) {
		return err
	}
	if !give {
		return nil
	}
	return b.AddToken(ctx, actor(a), *token)
}
