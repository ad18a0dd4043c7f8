package sqlite

import (
	"context"
	"database/sql"
	"errors"

	"github.com/winnowhq/winnow/plan/pivot"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/store/internal/packed"
)

// List returns one line for each session, last updated first.
func (s *Store) List(ctx context.Context) (list []store.Listing, err error) {
	defer s.explain(ctx, "list", "", &err)
	rows, err := s.reader.db.QueryContext(ctx, `
		SELECT session.info, session.messages, coalesce(source.format, '')
		FROM session LEFT JOIN source ON source.session = session.num
		ORDER BY session.updated DESC, session.changed DESC`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var l store.Listing
		var info []byte
		if err := rows.Scan(&info, &l.Messages, &l.Origin); err != nil {
			return nil, err
		}
		if l.Info, err = packed.Decode[session.Info](info); err != nil {
			return nil, err
		}
		list = append(list, l)
	}
	return list, rows.Err()
}

// Revision returns State.Revision alone.
func (s *Store) Revision(ctx context.Context, id string) (revision int64, err error) {
	defer s.explain(ctx, "revision", id, &err)
	done, err := s.reader.briefly(ctx)
	if err != nil {
		return 0, err
	}
	defer done()
	// A row that is read by its key waits for nobody; to watch the context would take a goroutine.
	err = s.reader.revision.QueryRowContext(context.WithoutCancel(ctx), id).Scan(&revision)
	if errors.Is(err, sql.ErrNoRows) {
		err = store.ErrNotFound
	}
	return revision, err
}

// State returns all that is known about a session except its messages.
func (s *Store) State(ctx context.Context, id string) (state store.State, err error) {
	defer s.explain(ctx, "state", id, &err)
	done, err := s.reader.briefly(ctx)
	if err != nil {
		return state, err
	}
	defer done()
	now, err := s.reader.at(ctx, id)
	if err != nil {
		return state, err
	}
	defer now.Rollback()
	state.Revision, state.Messages = now.row.revision, now.row.messages
	if state.Info, err = packed.Decode[session.Info](now.row.info); err != nil {
		return state, err
	}
	elisions, err := all[rule.Elision](ctx, now, "elision")
	if err != nil {
		return state, err
	}
	state.Ledger = rule.NewLedger(elisions...)
	if state.Pins, err = all[rule.Pin](ctx, now, "pin"); err != nil {
		return state, err
	}
	if state.Receipts, err = all[pivot.Receipt](ctx, now, "receipt"); err != nil {
		return state, err
	}
	if state.Spent, err = all[store.Spend](ctx, now, "spend"); err != nil {
		return state, err
	}
	if state.Prepared, err = now.prepared(ctx); err != nil {
		return state, err
	}
	if state.Undone, err = set(now.QueryContext(ctx, `SELECT marker FROM undone WHERE session = ?`,
		now.row.num)); err != nil {
		return state, err
	}
	state.Dismissed, err = set(now.QueryContext(ctx, `SELECT words FROM dismissed WHERE session = ?`, now.row.num))
	return state, err
}

// all decodes what a table holds for a session, in order.
func all[T any](ctx context.Context, now moment, table string) ([]T, error) {
	rows, err := column[[]byte](now.QueryContext(ctx,
		`SELECT data FROM `+table+` WHERE session = ? ORDER BY position`, now.row.num))
	if err != nil {
		return nil, err
	}
	return packed.All[T](rows)
}

// prepared is the summary that is wanted or written, nil if there is none.
func (m moment) prepared(ctx context.Context) (*store.Prepared, error) {
	rows, err := column[[]byte](m.QueryContext(ctx, `SELECT data FROM prepared WHERE session = ?`, m.row.num))
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	p, err := packed.Decode[store.Prepared](rows[0])
	if err != nil {
		return nil, err
	}
	return &p, nil
}

// set reads a column of texts as a set, nil if there are none.
func set(rows *sql.Rows, err error) (map[string]bool, error) {
	keys, err := column[string](rows, err)
	return packed.Set(keys), err
}

// column reads the only column of a result.
func column[T any](rows *sql.Rows, err error) (values []T, _ error) {
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var v T
		if err := rows.Scan(&v); err != nil {
			return nil, err
		}
		values = append(values, v)
	}
	return values, rows.Err()
}
