package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/winnowhq/winnow/pivot"
	"github.com/winnowhq/winnow/rule"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/store/internal/exact"
)

// List returns what is known about the sessions, last updated first.
func (s *Store) List(ctx context.Context) ([]store.Listing, error) {
	list, err := s.list(ctx)
	if err != nil {
		return nil, s.failed(ctx, "list", "", err)
	}
	return list, nil
}

func (s *Store) list(ctx context.Context) ([]store.Listing, error) {
	rows, err := s.reader.db.QueryContext(ctx, `
		SELECT session.info, session.messages, coalesce(source.format, '')
		FROM session LEFT JOIN source ON source.session = session.num
		ORDER BY session.updated DESC, session.changed DESC`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var list []store.Listing
	for rows.Next() {
		var l store.Listing
		var info []byte
		if err := rows.Scan(&info, &l.Messages, &l.Origin); err != nil {
			return nil, err
		}
		if l.Info, err = exact.Decode[session.Info](info); err != nil {
			return nil, fmt.Errorf("%w: %w", store.ErrCorrupt, err)
		}
		list = append(list, l)
	}
	return list, rows.Err()
}

// Revision returns the revision of the state alone.
func (s *Store) Revision(ctx context.Context, id string) (revision int64, err error) {
	err = s.reader.revision.QueryRowContext(ctx, id).Scan(&revision)
	if errors.Is(err, sql.ErrNoRows) {
		err = store.ErrNotFound
	}
	if err != nil {
		return 0, s.failed(ctx, "revision", id, err)
	}
	return revision, nil
}

// State returns all that is known about a session but for its messages.
func (s *Store) State(ctx context.Context, id string) (store.State, error) {
	state, err := s.state(ctx, id)
	if err != nil {
		return store.State{}, s.failed(ctx, "state", id, err)
	}
	return state, nil
}

func (s *Store) state(ctx context.Context, id string) (state store.State, err error) {
	now, err := s.reader.at(ctx, id)
	if err != nil {
		return state, err
	}
	defer now.Rollback()
	state.Revision, state.Messages = now.row.revision, now.row.messages
	if state.Info, err = exact.Decode[session.Info](now.row.info); err != nil {
		return state, fmt.Errorf("%w: %w", store.ErrCorrupt, err)
	}
	elisions, err := all[rule.Elision](ctx, now.Tx, `SELECT data FROM elision WHERE session = ? ORDER BY position`, now.row.num)
	if err != nil {
		return state, err
	}
	state.Ledger = rule.NewLedger(elisions...)
	if state.Pins, err = all[rule.Pin](ctx, now.Tx, `SELECT data FROM pin WHERE session = ? ORDER BY position`, now.row.num); err != nil {
		return state, err
	}
	if state.Receipts, err = all[pivot.Receipt](ctx, now.Tx,
		`SELECT data FROM receipt WHERE session = ? ORDER BY position`, now.row.num); err != nil {
		return state, err
	}
	if state.Spent, err = all[store.Spend](ctx, now.Tx,
		`SELECT data FROM spend WHERE session = ? ORDER BY position`, now.row.num); err != nil {
		return state, err
	}
	if state.Undone, err = marked(ctx, now.Tx, `SELECT marker FROM undone WHERE session = ?`, now.row.num); err != nil {
		return state, err
	}
	state.Dismissed, err = marked(ctx, now.Tx, `SELECT words FROM dismissed WHERE session = ?`, now.row.num)
	return state, err
}

// marked is the set of texts that a query gives, nil for none.
func marked(ctx context.Context, tx *sql.Tx, query string, num int64) (set map[string]bool, err error) {
	rows, err := tx.QueryContext(ctx, query, num)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var key string
		if err := rows.Scan(&key); err != nil {
			return nil, err
		}
		if set == nil {
			set = map[string]bool{}
		}
		set[key] = true
	}
	return set, rows.Err()
}
