package postgres

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"time"

	"github.com/jackc/pgerrcode"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// longest is the longest pause before something is tried again.
const longest = 250 * time.Millisecond

// with runs do on a connection. If that breaks, or the server is starting, stopping or ended a
// deadlock, it runs it again on another one, until the wait is over. do must do no harm when it is
// run twice, even if it was done the first time.
func (s *Store) with(ctx context.Context, do func(*pgxpool.Conn) error) error {
	return s.again(ctx, func() error { return s.db.pool.AcquireFunc(ctx, do) })
}

// again repeats do until it succeeds, fails permanently, or the wait is over.
func (s *Store) again(ctx context.Context, do func() error) error {
	if err := s.ready(ctx); err != nil {
		return err
	}
	next := time.Millisecond
	for deadline := time.Now().Add(s.db.wait); ; {
		if lost := s.db.Lost(); lost != nil {
			return lost
		}
		err := do()
		if err == nil {
			s.db.reads.Add(1)
			return nil
		}
		if ctx.Err() != nil || !passing(err) || s.db.closed.Load() {
			return err
		}
		if time.Now().After(deadline) {
			if unreachable(err) {
				s.db.lose(err)
			}
			return err
		}
		if broken(err) {
			s.db.breaks.Add(1)
			s.db.pool.Reset() // what broke one connection has broken the others
		}
		if pause(ctx, next) != nil {
			return err
		}
		next = min(2*next, longest)
	}
}

// pause waits, or returns the error of a context that ended.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// passing reports whether an error may be gone when the same is tried again soon.
func passing(err error) bool {
	if e := (*pgconn.PgError)(nil); errors.As(err, &e) {
		switch e.Code {
		case pgerrcode.SerializationFailure, pgerrcode.DeadlockDetected, pgerrcode.TooManyConnections,
			pgerrcode.AdminShutdown, pgerrcode.CrashShutdown, pgerrcode.CannotConnectNow:
			return true
		}
		return strings.HasPrefix(e.Code, "08") // connections
	}
	return broken(err)
}

// broken reports whether an error is one of the connection, not an answer.
func broken(err error) bool {
	if e := (*pgconn.PgError)(nil); errors.As(err, &e) {
		switch e.Code {
		case pgerrcode.AdminShutdown, pgerrcode.CrashShutdown:
			return true
		}
		return false
	}
	var network net.Error
	var refused *pgconn.ConnectError
	return errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) || errors.Is(err, net.ErrClosed) ||
		errors.Is(err, pgconn.ErrConnClosed) || errors.As(err, &network) || errors.As(err, &refused) ||
		pgconn.SafeToRetry(err)
}

// one reads one row with a query.
func (s *Store) one(ctx context.Context, sql string, args []any, into ...any) error {
	return s.with(ctx, func(c *pgxpool.Conn) error { return c.QueryRow(ctx, sql, args...).Scan(into...) })
}

// rows reads all rows of a query.
func rows[T any](ctx context.Context, s *Store, read pgx.RowToFunc[T], sql string, args ...any) (all []T, err error) {
	err = s.with(ctx, func(c *pgxpool.Conn) error {
		found, err := c.Query(ctx, sql, args...)
		if err != nil {
			return err
		}
		all, err = pgx.CollectRows(found, read)
		return err
	})
	return all, err
}
