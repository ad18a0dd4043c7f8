package sqlite

import (
	"context"
	"errors"
	"fmt"

	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/store/internal/exact"
)

var _ store.Relayer = (*Store)(nil)

// Relayed returns the sessions of which a gateway relayed requests since a time.
func (s *Store) Relayed(ctx context.Context, since session.Millis) (all []store.Account, err error) {
	defer s.explain(ctx, "status", "", &err)
	ids, err := column[string](s.reader.db.QueryContext(ctx, `
		SELECT id FROM session WHERE num IN (SELECT session FROM spend WHERE relayed >= ?)`,
		finite(float64(since))))
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		a, err := s.account(ctx, id)
		if errors.Is(err, store.ErrNotFound) {
			continue // it was deleted meanwhile
		}
		if err != nil {
			return nil, err
		}
		all = append(all, a)
	}
	return all, nil
}

func (s *Store) account(ctx context.Context, id string) (a store.Account, err error) {
	now, err := s.reader.at(ctx, id)
	if err != nil {
		return a, err
	}
	defer now.Rollback()
	if a.Info, err = exact.Decode[session.Info](now.row.info); err != nil {
		return a, fmt.Errorf("%w: %w", store.ErrCorrupt, err)
	}
	a.Spent, err = all[store.Spend](ctx, now, "spend")
	return a, err
}

// relayed is when a gateway relayed what was spent, nil if none did: what the index is of.
func relayed(s *store.Spend) any {
	if s.Live == nil {
		return nil
	}
	return finite(float64(s.Time))
}
