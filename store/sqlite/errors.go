package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/winnowhq/winnow/store"
)

// code is the primary result code of SQLite in an error, 0 without one.
func code(err error) int {
	var e *sqlite.Error
	if errors.As(err, &e) {
		return e.Code() & 0xff // the rest is detail
	}
	return 0
}

func isBusy(err error) bool {
	return code(err) == sqlite3.SQLITE_BUSY || code(err) == sqlite3.SQLITE_LOCKED
}
func isFull(err error) bool     { return code(err) == sqlite3.SQLITE_FULL }
func isReadOnly(err error) bool { return code(err) == sqlite3.SQLITE_READONLY }
func isIO(err error) bool       { return code(err) == sqlite3.SQLITE_IOERR }

// explain makes the error of an operation: what it was about, what it means for a caller, what to do. A context that ended
// explains whatever the driver said because of it.
func explain(ctx context.Context, op, path, id string, err error) error {
	e := &store.Error{Op: op, Path: path, Session: id, Err: err}
	ended := ctx.Err()
	switch code(err) {
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED:
		e.Err = fmt.Errorf("%w: %w", store.ErrLocked, err)
	case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB:
		e.Err = fmt.Errorf("%w: %w", store.ErrCorrupt, err)
	case sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM:
		e.Err = fmt.Errorf("%w: %w", store.ErrReadOnly, err)
	case sqlite3.SQLITE_FULL:
		e.Err = fmt.Errorf("%w: %w", store.ErrFull, err)
	default:
		if ended != nil && !sentinel(err) {
			e.Err = ended
		}
	}
	if ended != nil && isBusy(err) {
		e.Err = ended // it would have waited longer
	}
	e.Hint = hint(e.Err, path)
	return e
}

// sentinel reports whether an error says by itself what it is.
func sentinel(err error) bool {
	for _, known := range []error{
		store.ErrNotFound, store.ErrExists, store.ErrConflict, store.ErrNoMessage, store.ErrNoBase, store.ErrNoWord,
		store.ErrCorrupt, store.ErrReadOnly, store.ErrNewer, store.ErrClosed,
	} {
		if errors.Is(err, known) {
			return true
		}
	}
	return false
}

func hint(err error, path string) string {
	switch {
	case errors.Is(err, store.ErrLocked):
		return "another process is writing; try again, or end it"
	case errors.Is(err, store.ErrCorrupt):
		return "keep the file, most of it can often be read; move it away to begin a new store"
	case errors.Is(err, store.ErrReadOnly):
		return "open it for writing, and look at the permissions of the file and of " + filepath.Dir(path)
	case errors.Is(err, store.ErrFull):
		return "nothing was written; make room and try again"
	case errors.Is(err, store.ErrNewer):
		return "use the newer version of this program, or another file"
	case errors.Is(err, store.ErrConflict):
		return "read the session again and decide anew"
	case errors.Is(err, fs.ErrNotExist):
		return "look at the path; a store that is opened only for reading is not made"
	case errors.Is(err, fs.ErrPermission), code(err) == sqlite3.SQLITE_CANTOPEN:
		return "look at the permissions of the file and of " + filepath.Dir(path)
	case isIO(err):
		return "nothing was changed; the disk failed to read or write, look at it and try again"
	case code(err) == sqlite3.SQLITE_TOOBIG:
		return "one text or one file takes about a gigabyte at most"
	}
	return ""
}

// failed is explain for an operation of an open store.
func (s *Store) failed(ctx context.Context, op, id string, err error) error {
	if s.closed.Load() && !sentinel(err) {
		err = store.ErrClosed
	}
	return explain(ctx, op, s.path, id, err)
}
