package postgres

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/store/internal/packed"
)

// Apply writes a change with one batch of statements, in one round trip and one transaction; in two
// round trips if it has more than a megabyte of large texts, of which it asks first which are there
// already, or if it sets a session aside.
func (s *Store) Apply(ctx context.Context, id string, c store.Change) (revision int64, err error) {
	defer func() { s.db.written.Note(err) }()
	defer s.explain(ctx, "apply", id, &err)
	if err := s.writable(ctx); err != nil {
		return 0, err
	}
	if err := c.Check(id); err != nil {
		if c.Create != nil {
			return 0, err
		}
		if _, missing := s.revision(ctx, id); missing != nil {
			return 0, missing // that says more
		}
		return 0, err
	}
	p, err := packed.NewChange(&c)
	if err != nil {
		return 0, err
	}
	w := writing{id: key(id), Change: c, packed: p, token: newToken()}
	if w.failed, err = s.failed(ctx, id, c.Vain); err != nil {
		return 0, err
	}
	ask := true
	for range 5 { // of sessions that are set aside, and contents that go, at the same moment
		if w.aside, err = s.setAside(ctx, c); err != nil {
			return 0, err
		}
		if w.contents, err = s.pack(ctx, p.Contents(), ask); err != nil {
			return 0, err
		}
		revision, err = s.send(ctx, id, &w)
		var told *pgconn.PgError
		if !errors.As(err, &told) {
			return revision, err
		}
		switch {
		case told.Code == codeWritten:
			return strconv.ParseInt(told.Message, 10, 64)
		case told.Code == codeGone:
			ask = false
			continue
		case told.Code == codeExists && told.Message == "session" && c.Aside != "":
			continue
		case told.Code == codeConflict:
			return 0, fmt.Errorf("%w: it is at revision %s, the change was decided on %d", store.ErrConflict,
				told.Message, c.Base)
		case told.Code == codeNoOther:
			return 0, fmt.Errorf("what session %s keeps: %w", c.Keep, store.ErrNotFound)
		}
		return 0, err
	}
	return 0, fmt.Errorf("%w: others change the same again and again", store.ErrLocked)
}

// send sends the batch of a change, with what a wanted summary needs behind it.
func (s *Store) send(ctx context.Context, id string, w *writing) (revision int64, err error) {
	wanted := s.db.wanted.Load()
	err = s.with(ctx, func(conn *pgxpool.Conn) error {
		b := s.batch(w)
		b.end(w).QueryRow(func(row pgx.Row) error { return row.Scan(&revision) })
		if wanted == nil || w.Prepared == nil || !w.Prepared.Wanted() {
			return conn.SendBatch(ctx, &b.Batch).Close()
		}
		return pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
			if err := tx.SendBatch(ctx, &b.Batch).Close(); err != nil {
				return err
			}
			return (*wanted)(ctx, tx, s.tenant, id, *w.Prepared)
		})
	})
	if err == nil {
		s.db.writes.Add(1)
	}
	return revision, err
}
