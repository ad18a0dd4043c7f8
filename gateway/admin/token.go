package admin

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/winnowhq/winnow/desk/config"
	"github.com/winnowhq/winnow/gateway/tenant"
)

// Token is a token without its secret.
type Token struct {
	tenant.Token
	State string `json:"state"` // "valid", "expired" or "revoked"
}

// Tokens are tokens, oldest first.
type Tokens struct {
	// The tokens, oldest first; for "revoke" the one that was revoked.
	Tokens []Token `json:"tokens"`
}

// Made is a token that was made. It is shown this once.
type Made struct {
	Token string `json:"token"`        // the token, which is nowhere else
	Kept  Token  `json:"kept"`         // the record of it
	Old   *Token `json:"old,omitzero"` // for "rotate": the token that it takes the place of
}

// NewToken says which token is wanted.
type NewToken struct {
	Label string `json:"label,omitzero"` // what it is for
	Owner string `json:"owner,omitzero"` // the person who asks with it, such as ann@example.com
	// Scopes: relay, read, act, admin, metrics. Default: relay, read and act.
	Scopes []string `json:"scopes,omitzero"`
	// Expires is how long it is valid, such as 90d. Without it there is no end.
	Expires string `json:"expires,omitzero"`
}

// Rotation says how a token is replaced.
type Rotation struct {
	// Overlap is how long the old token stays valid, such as 48h; 0 revokes it. Without it a day.
	Overlap string `json:"overlap,omitzero"`
}

// The defaults of NewToken.Scopes and Rotation.Overlap.
const (
	DefaultScopes  = "relay,read,act"
	DefaultOverlap = "24h"
)

// Ended is the error of a change to a token that is not valid any more.
type Ended struct{ Err error }

func (e Ended) Error() string { return e.Err.Error() }

// WithState is a token with its state now.
func (s Service) WithState(t tenant.Token) Token { return Token{t, t.State(s.Now())} }

func (s Service) states(tokens []tenant.Token) []Token {
	all := make([]Token, len(tokens))
	for i, t := range tokens {
		all[i] = s.WithState(t)
	}
	return all
}

// Tokens lists the tokens of a tenant, "" for all.
func (s Service) Tokens(ctx context.Context, of string) (Tokens, error) {
	if of != "" {
		if _, err := s.Book.Tenant(ctx, of); err != nil {
			return Tokens{}, err
		}
	}
	all, err := s.Book.Tokens(ctx, of)
	return Tokens{s.states(all)}, err
}

// AddToken makes a token of a tenant.
func (s Service) AddToken(ctx context.Context, of string, n NewToken) (Made, error) {
	list := DefaultScopes
	if n.Scopes != nil {
		list = strings.Join(n.Scopes, ",")
	}
	scopes, err := tenant.ParseScopes(list)
	if err != nil {
		return Made{}, Invalid{err}
	}
	var lasts time.Duration
	if n.Expires != "" {
		if lasts, err = config.Age(n.Expires); err != nil {
			return Made{}, Invalid{fmt.Errorf("expires: %w", err)}
		}
	}
	shown, t, err := tenant.NewToken(of, n.Label, scopes, s.Now(), lasts)
	if err == nil {
		err = tenant.CheckOwner(n.Owner)
	}
	if err != nil {
		return Made{}, Invalid{err}
	}
	t.Owner = n.Owner
	if err := s.Book.AddToken(ctx, s.Who, t); err != nil {
		return Made{}, err
	}
	return Made{Token: shown, Kept: s.WithState(t)}, nil
}

// Rotate makes a token that takes the place of another one.
func (s Service) Rotate(ctx context.Context, id string, r Rotation) (Made, error) {
	var overlap time.Duration
	if r.Overlap != "0" {
		var err error
		if overlap, err = config.Age(cmp.Or(r.Overlap, DefaultOverlap)); err != nil {
			return Made{}, Invalid{fmt.Errorf("overlap: %w", err)}
		}
	}
	old, err := s.Book.Token(ctx, id)
	if err != nil {
		return Made{}, err
	}
	if state := old.State(s.Now()); state != "valid" {
		return Made{}, Ended{fmt.Errorf("the token %s is %s: make a new one with `winnowd tenant token add %s`", id,
			state, old.Tenant)}
	}
	shown, next, old, err := s.Book.Rotate(ctx, s.Who, id, overlap)
	if err != nil {
		return Made{}, err
	}
	replaced := s.WithState(old)
	return Made{shown, s.WithState(next), &replaced}, nil
}

// Revoke revokes a token.
func (s Service) Revoke(ctx context.Context, id string) (Tokens, error) {
	t, err := s.Book.Revoke(ctx, s.Who, id)
	if err != nil {
		return Tokens{}, err
	}
	return Tokens{s.states([]tenant.Token{t})}, nil
}
