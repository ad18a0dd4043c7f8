package sqlite

import (
	"context"
	"errors"

	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/store/internal/packed"
)

var _ store.Relayer = (*Store)(nil)

// Relayed returns the sessions of which a gateway relayed requests since a time.
func (s *Store) Relayed(ctx context.Context, since session.Millis, wanted func(session.Info) bool) (
	all []store.Account, err error) {
	defer s.explain(ctx, "status", "", &err)
	ids, err := column[string](s.reader.db.QueryContext(ctx, `
		SELECT session.id FROM session JOIN (
			SELECT session AS num, max(relayed) AS newest FROM spend WHERE relayed >= ? GROUP BY session
		) USING (num) ORDER BY newest DESC, session.id`, packed.Finite(float64(since))))
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		a, err := s.account(ctx, id, wanted)
		if errors.Is(err, store.ErrNotFound) {
			continue // it was deleted meanwhile, or is not wanted
		}
		if err != nil {
			return nil, err
		}
		all = append(all, a)
	}
	return all, nil
}

// account is a session with its requests, or ErrNotFound if it is not wanted.
func (s *Store) account(ctx context.Context, id string, wanted func(session.Info) bool) (a store.Account, err error) {
	now, err := s.reader.at(ctx, id)
	if err != nil {
		return a, err
	}
	defer now.Rollback()
	if a.Info, err = packed.Decode[session.Info](now.row.info); err != nil {
		return a, err
	}
	if wanted != nil && !wanted(a.Info) {
		return a, store.ErrNotFound
	}
	a.Spent, err = all[store.Spend](ctx, now, "spend")
	return a, err
}
