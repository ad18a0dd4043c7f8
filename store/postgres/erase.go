package postgres

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/store/internal/packed"
)

var _ store.Eraser = (*Store)(nil)

// Erase deletes sessions, and waits for the contents that nobody else has to go.
func (s *Store) Erase(ctx context.Context, ids ...string) (all store.Amount, err error) {
	defer s.explain(ctx, "erase", "", &err)
	if err := s.writable(ctx); err != nil {
		return all, err
	}
	for _, id := range ids {
		gone := store.Amount{Sessions: 1}
		err := s.one(ctx, `SELECT s.messages, coalesce((SELECT sum(pg_column_size(m.info) + pg_column_size(m.parts))
			FROM message AS m WHERE m.tenant = s.tenant AND m.session = s.num), 0)
			FROM session AS s WHERE s.tenant = $1 AND s.id = $2`, []any{s.tenant, key(id)}, &gone.Messages, &gone.Bytes)
		if errors.Is(err, pgx.ErrNoRows) {
			continue
		}
		if err == nil {
			err = s.delete(ctx, id)
		}
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return all, err
		}
		all = all.Plus(gone)
	}
	gone, err := s.sweepAll(ctx)
	return all.Plus(gone), err
}

// inTx runs do in a transaction, again if the connection breaks: it must do no harm then.
func (s *Store) inTx(ctx context.Context, do func(pgx.Tx) error) error {
	return s.with(ctx, func(c *pgxpool.Conn) error { return pgx.BeginFunc(ctx, c, do) })
}

// unused are the contents of a list of candidates that nothing uses: see
// migrations/00005_sweep.sql.
const unused = `unused AS MATERIALIZED (
	SELECT hash FROM candidate
	WHERE NOT EXISTS (SELECT FROM apart WHERE apart.tenant = $1 AND apart.content = candidate.hash OFFSET 0)
	AND NOT EXISTS (SELECT FROM piece WHERE piece.tenant = $1 AND piece.content = candidate.hash OFFSET 0)
	AND NOT EXISTS (SELECT FROM kept WHERE kept.tenant = $1 AND kept.content = candidate.hash OFFSET 0))`

// sweepAll is sweep, but it waits for those who are adding contents.
func (s *Store) sweepAll(ctx context.Context) (gone store.Amount, err error) {
	err = s.inTx(ctx, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, lockContents, s.tenant); err != nil {
			return err
		}
		return tx.QueryRow(ctx, `WITH candidate AS (DELETE FROM garbage WHERE tenant = $1 RETURNING hash), `+unused+`,
			gone AS (DELETE FROM content WHERE tenant = $1 AND hash = ANY (ARRAY(SELECT hash FROM unused))
				RETURNING pg_column_size(data) AS bytes)
			SELECT count(*), coalesce(sum(bytes), 0) FROM gone`, s.tenant).Scan(&gone.Texts, &gone.Bytes)
	})
	return gone, err
}

// lockContents keeps everybody else from adding contents until the transaction ends.
const lockContents = `SELECT pg_advisory_xact_lock(winnow_contents_lock($1))`

// tables are those that have rows of tenants. The sessions are the last.
var tables = []string{"found", "stale", "apart", "message", "elision", "pin", "undone", "dismissed", "receipt", "spend",
	"piece", "source", "kept", "file", "garbage", "content", "session"}

// EraseAll deletes everything that the tenant has.
func (s *Store) EraseAll(ctx context.Context) (all store.Amount, err error) {
	defer s.explain(ctx, "erase", "", &err)
	if err := s.writable(ctx); err != nil {
		return all, err
	}
	err = s.inTx(ctx, func(tx pgx.Tx) error {
		// First the sessions, as each change does: then the contents.
		if _, err := tx.Exec(ctx, `SELECT FROM session WHERE tenant = $1 ORDER BY num FOR UPDATE`, s.tenant); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, lockContents, s.tenant); err != nil {
			return err
		}
		if err := tx.QueryRow(ctx, `SELECT (SELECT count(*) FROM session WHERE tenant = $1),
			(SELECT count(*) FROM message WHERE tenant = $1), (SELECT count(*) FROM content WHERE tenant = $1),
			(SELECT coalesce(sum(pg_column_size(info) + pg_column_size(parts)), 0) FROM message WHERE tenant = $1)
			+ (SELECT coalesce(sum(pg_column_size(data)), 0) FROM content WHERE tenant = $1)`, s.tenant).
			Scan(&all.Sessions, &all.Messages, &all.Texts, &all.Bytes); err != nil {
			return err
		}
		for _, table := range tables {
			if _, err := tx.Exec(ctx, `DELETE FROM `+table+` WHERE tenant = $1`, s.tenant); err != nil {
				return err
			}
		}
		return nil
	})
	return all, err
}

// Forget takes the name of a person off all requests.
func (s *Store) Forget(ctx context.Context, person string) (requests int, err error) {
	defer s.explain(ctx, "forget", "", &err)
	if err := s.writable(ctx); err != nil {
		return 0, err
	}
	type row struct {
		session, revision, ordinal int64
		data                       []byte
	}
	err = s.inTx(ctx, func(tx pgx.Tx) error {
		requests = 0
		// Nobody changes a session meanwhile that this one changes: spends are written by changes alone.
		if _, err := tx.Exec(ctx, `SELECT FROM session AS s WHERE tenant = $1 AND EXISTS (
			SELECT FROM spend WHERE spend.tenant = $1 AND spend.session = s.num AND relayed IS NOT NULL)
			ORDER BY num FOR NO KEY UPDATE`, s.tenant); err != nil {
			return err
		}
		found, err := tx.Query(ctx, `SELECT session, revision, ordinal, data FROM spend
			WHERE tenant = $1 AND relayed IS NOT NULL`, s.tenant)
		if err != nil {
			return err
		}
		var all []row
		if all, err = pgx.CollectRows(found, func(r pgx.CollectableRow) (x row, err error) {
			err = r.Scan(&x.session, &x.revision, &x.ordinal, &x.data)
			return x, err
		}); err != nil {
			return err
		}
		changed := map[int64]bool{}
		for _, x := range all {
			data, of, err := packed.Nobodys(x.data, person)
			if err != nil {
				return err
			}
			if !of {
				continue
			}
			requests++
			changed[x.session] = true
			if _, err := tx.Exec(ctx, `UPDATE spend SET data = $1 WHERE tenant = $2 AND session = $3 AND revision = $4
				AND ordinal = $5`, bytesOf(data), s.tenant, x.session, x.revision, x.ordinal); err != nil {
				return err
			}
		}
		for num := range changed {
			if _, err := tx.Exec(ctx, `UPDATE session SET revision = revision + 1, token = NULL
				WHERE tenant = $1 AND num = $2`, s.tenant, num); err != nil {
				return err
			}
		}
		return nil
	})
	return requests, err
}
