package postgres

import (
	"context"
	"crypto/rand"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/store/internal/exact"
	"github.com/winnowhq/winnow/store/internal/packed"
)

// Create adds an empty session.
func (s *Store) Create(ctx context.Context, info session.Info) (err error) {
	defer s.explain(ctx, "create", info.ID, &err)
	if err := s.writable(ctx); err != nil {
		return err
	}
	if info.ID == "" {
		return errors.New("a session needs an id")
	}
	data, err := exact.Encode(info)
	if err != nil {
		return err
	}
	// The token tells a session that this call made, and whose answer was lost, from another one.
	token, made := newToken(), false
	err = s.one(ctx, `
		WITH made AS (
			INSERT INTO session (tenant, id, info, updated, revision, messages, token) VALUES ($1, $2, $3, $4, 1, 0, $5)
			ON CONFLICT DO NOTHING RETURNING true
		) SELECT EXISTS (SELECT FROM made) OR EXISTS (SELECT FROM session WHERE tenant = $1 AND id = $2 AND token = $5)`,
		[]any{s.tenant, key(info.ID), bytesOf(data), updated(info), token}, &made)
	if err != nil {
		return err
	}
	s.db.writes.Add(1)
	if !made {
		return store.ErrExists
	}
	return nil
}

// updated returns the time to sort by.
func updated(info session.Info) float64 { return packed.Finite(float64(info.Time.Updated)) }

// newToken is the name of a change that no other one has.
func newToken() []byte {
	token := make([]byte, 16)
	rand.Read(token)
	return token
}

// Delete deletes a session, everything that belongs to it, and the contents that no other session
// uses.
func (s *Store) Delete(ctx context.Context, id string) (err error) {
	defer s.explain(ctx, "delete", id, &err)
	if err := s.writable(ctx); err != nil {
		return err
	}
	if err := s.delete(ctx, id); err != nil {
		return err
	}
	return s.sweep(ctx)
}

// delete deletes a session, and leaves its contents.
func (s *Store) delete(ctx context.Context, id string) error {
	tried := false
	return s.with(ctx, func(c *pgxpool.Conn) error {
		_, err := c.Exec(ctx, `SELECT winnow_delete($1, $2)`, s.tenant, key(id))
		if tried && code(err) == codeNotFound {
			return nil // it was deleted, and the answer was lost
		}
		tried = err != nil
		return err
	})
}

// sweep deletes contents that are in use no longer, some at a time, so that a change that adds some
// does not wait for all of them.
func (s *Store) sweep(ctx context.Context) error {
	for looked := int64(1); looked > 0; {
		if err := s.one(ctx, `SELECT winnow_sweep($1)`, []any{s.tenant}, &looked); err != nil {
			return err
		}
	}
	return nil
}

// aside is the session that makes place for a new one.
type aside struct {
	id, info []byte
	revision int64
}

// setAside encodes the info that a session gets that makes place for a new one.
func (s *Store) setAside(ctx context.Context, c store.Change) (a aside, err error) {
	if c.Create == nil || c.Aside == "" {
		return a, nil
	}
	var data []byte
	err = s.one(ctx, `SELECT info, revision FROM session WHERE tenant = $1 AND id = $2`,
		[]any{s.tenant, key(c.Create.ID)}, &data, &a.revision)
	if errors.Is(err, pgx.ErrNoRows) {
		return a, nil // there is no session to set aside
	}
	if err != nil {
		return a, err
	}
	encoded, err := packed.Renamed(data, c.Aside)
	if err != nil {
		return a, err
	}
	a.id, a.info = key(c.Aside), bytesOf(encoded)
	return a, nil
}
