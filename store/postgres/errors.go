package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgerrcode"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/winnowhq/winnow/store"
)

// Codes with which the functions of the database end (migrations/00002_changes.sql
// and 00006_steps.sql).
const (
	codeWritten   = "WN208"
	codeNotFound  = "WN404"
	codeNoMessage = "WN405"
	codeNoOther   = "WN406"
	codeConflict  = "WN409"
	codeExists    = "WN410"
	codeGone      = "WN412"
)

// code is the code of a server's error, or "".
func code(err error) string {
	var e *pgconn.PgError
	if errors.As(err, &e) {
		return e.Code
	}
	return ""
}

// explain returns the error of an operation as a store.Error: what failed, which sentinel it is,
// and what to do. If the context ended, that is the cause of whatever the driver reported.
func explain(ctx context.Context, op, place, id string, err error) error {
	e := &store.Error{Op: op, Path: place, Session: id, Err: err}
	switch c := code(err); {
	case ctx.Err() != nil && !sentinel(err):
		e.Err = ctx.Err()
	case c == codeNotFound:
		e.Err = store.ErrNotFound
	case c == codeExists:
		e.Err = store.ErrExists
	case c == pgerrcode.ReadOnlySQLTransaction:
		e.Err = fmt.Errorf("%w: %w", store.ErrReadOnly, err)
	case c == pgerrcode.DiskFull:
		e.Err = fmt.Errorf("%w: %w", store.ErrFull, err)
	case c == pgerrcode.LockNotAvailable || c == pgerrcode.DeadlockDetected || c == pgerrcode.SerializationFailure:
		e.Err = fmt.Errorf("%w: %w", store.ErrLocked, err)
	case c == pgerrcode.DataCorrupted || c == pgerrcode.IndexCorrupted:
		e.Err = fmt.Errorf("%w: %w", store.ErrCorrupt, err)
	}
	e.Hint = hint(e.Err)
	if lines := strings.Split(e.Err.Error(), "\n"); len(lines) > 1 { // one for each attempt to connect
		e.Err = oneLine{e.Err, strings.TrimSpace(lines[len(lines)-1])}
	}
	return e
}

// oneLine is an error whose text is one line.
type oneLine struct {
	error
	text string
}

func (e oneLine) Error() string { return e.text }
func (e oneLine) Unwrap() error { return e.error }

// sentinel reports whether an error already names its cause.
func sentinel(err error) bool {
	for _, known := range []error{
		store.ErrNotFound, store.ErrExists, store.ErrConflict, store.ErrNoMessage, store.ErrNoBase, store.ErrNoWord,
		store.ErrNotKept, store.ErrCorrupt, store.ErrReadOnly, store.ErrNewer, store.ErrClosed,
	} {
		if errors.Is(err, known) {
			return true
		}
	}
	return strings.HasPrefix(code(err), "WN")
}

func hint(err error) string {
	switch c := code(err); {
	case errors.Is(err, store.ErrLocked):
		return "another gateway is writing to this session; try again"
	case errors.Is(err, store.ErrCorrupt):
		return "restore the database from a backup; what can be read still can"
	case errors.Is(err, store.ErrReadOnly):
		return "check that this is the primary server, and that its user may write"
	case errors.Is(err, store.ErrFull):
		return "nothing was written; make room on the disk of the server and try again"
	case errors.Is(err, store.ErrNewer):
		return "use the newer version of this program, or another database"
	case errors.Is(err, store.ErrConflict):
		return "read the session again and repeat the change"
	case c == pgerrcode.InvalidPassword || c == pgerrcode.InvalidAuthorizationSpecification:
		return "check the user, and its password in PGPASSWORD, ~/.pgpass or the URL"
	case c == pgerrcode.InvalidCatalogName:
		return "create the database (createdb NAME), or check its name"
	case c == pgerrcode.InsufficientPrivilege:
		return "the user of the database must be allowed to create tables in its schema, or have been granted those " +
			"that exist"
	case c == pgerrcode.TooManyConnections:
		return "raise max_connections of the server, or lower pool_max_conns in the URL"
	case c == pgerrcode.UndefinedTable || c == pgerrcode.UndefinedFunction:
		return "the tables are not those of this version; open the store for writing once to upgrade them"
	case c == "" && broken(err):
		return "check that the server runs, and that its host and port are right"
	}
	return ""
}

// explain replaces the error of an operation, if there is one, by a store.Error. Methods defer it.
func (s *Store) explain(ctx context.Context, op, id string, err *error) {
	if *err == nil {
		return
	}
	if (s.closed.Load() || s.db.closed.Load()) && !sentinel(*err) && ctx.Err() == nil {
		*err = store.ErrClosed
	}
	*err = explain(ctx, op, s.db.place, id, *err)
}
