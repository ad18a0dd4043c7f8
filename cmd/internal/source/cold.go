package source

import (
	"context"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/cmd/internal/cli"
	"github.com/winnowhq/winnow/desk/discover"
	"github.com/winnowhq/winnow/plan/pivot"
	"github.com/winnowhq/winnow/store/report"
)

// Cold compares the cost of going on with a session as it is and compacted. It is nil unless the
// provider's cache has forgotten the session and the difference is worth a sentence, and if a price
// or the cache's term is unknown.
func Cold(ctx context.Context, a *cli.App, s *Session) (*pivot.Cold, error) {
	term, err := winnow.Look(ctx, s.Engine, s.ID, report.Cached)
	if err != nil || !term.Gone(a.Env.Now()) {
		return nil, err
	}
	p, err := s.Engine.Preview(ctx, s.ID, winnow.CompactOptions{})
	if err != nil {
		return nil, ctx.Err() // there is nothing to compact
	}
	return ColdOf(ctx, a, s, p)
}

// ColdOf is the same for a compaction that was previewed already.
func ColdOf(ctx context.Context, a *cli.App, s *Session, p winnow.Preview) (*pivot.Cold, error) {
	term, err := winnow.Look(ctx, s.Engine, s.ID, report.Cached)
	if err != nil || !term.Gone(a.Env.Now()) {
		return nil, err
	}
	of, err := ModelOf(ctx, s)
	if err != nil {
		return nil, err
	}
	c := pivot.NewCold(of, pivot.Change{Before: p.TokensBefore + p.Overhead, After: p.TokensAfter + p.Overhead},
		term.Hour, summaryCost(p))
	if !c.Dear() {
		return nil, nil
	}
	return c, nil
}

// ByID is the session of a product with this very id, where its product keeps it; nil if there is
// none. Nobody is asked.
func ByID(ctx context.Context, a *cli.App, product, id string) (*discover.Found, error) {
	search := Search(a)
	search.Product, search.NamesOnly = product, true
	all, _, err := search.Find(ctx)
	if err != nil {
		return nil, err
	}
	for i := range all {
		if all[i].ID == id {
			return &all[i], nil
		}
	}
	return nil, nil
}
