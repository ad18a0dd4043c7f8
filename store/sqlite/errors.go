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

// code is the primary result code of SQLite in an error, or 0.
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

// explain returns the error of an operation as a store.Error: what failed, which sentinel it is,
// and what to do. If the context ended, that is the cause of whatever the driver reported.
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

// sentinel reports whether an error already names its cause.
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
		return "keep the file, most of it can often be read; move it away to start a new store"
	case errors.Is(err, store.ErrReadOnly):
		return "open it for writing, and check the permissions of the file and of " + filepath.Dir(path)
	case errors.Is(err, store.ErrFull):
		return "nothing was written; make room and try again"
	case errors.Is(err, store.ErrNewer):
		return "use the newer version of this program, or another file"
	case errors.Is(err, store.ErrConflict):
		return "read the session again and repeat the change"
	case errors.Is(err, fs.ErrNotExist):
		return "check the path; a store opened read-only is not created"
	case errors.Is(err, fs.ErrPermission), code(err) == sqlite3.SQLITE_CANTOPEN:
		return "check the permissions of the file and of " + filepath.Dir(path)
	case isIO(err):
		return "nothing was changed; the disk failed to read or write; check it and try again"
	case code(err) == sqlite3.SQLITE_TOOBIG:
		return "a single text or file can be about a gigabyte at most"
	}
	return ""
}

// explain replaces the error of an operation, if there is one, by a store.Error. Methods defer it.
func (s *Store) explain(ctx context.Context, op, id string, err *error) {
	if *err == nil {
		return
	}
	if s.closed.Load() && !sentinel(*err) {
		*err = store.ErrClosed
	}
	*err = explain(ctx, op, s.path, id, *err)
}
