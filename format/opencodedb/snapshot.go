package opencodedb

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// stamp is what can be seen of a database from outside.
type stamp struct {
	quiet    bool // there is no log in which anything could stand: nobody has the database open
	size     int64
	modified time.Time
}

// stampOf looks at the database that has a path without links: its log lies beside the file, not beside a link to it.
func stampOf(path string) (stamp, error) {
	info, err := os.Stat(path)
	if err != nil {
		return stamp{}, err
	}
	there := func(suffix string) (bool, int64) {
		info, err := os.Stat(path + suffix)
		if err != nil {
			return false, 0
		}
		return true, info.Size()
	}
	log, length := there("-wal")
	index, _ := there("-shm")
	journal, _ := there("-journal")
	// Whoever has the database open made the log before anything else, and its index with it.
	quiet := !journal && (!log || length == 0 && !index)
	return stamp{quiet: quiet, size: info.Size(), modified: info.ModTime()}, nil
}

// snapshot reads in one transaction, which sees one moment of the database. read may be called again when the first time did not
// count, and must forget what it had.
func (s *Store) snapshot(ctx context.Context, read func(context.Context, *sql.Tx) error) error {
	path, err := filepath.EvalSymlinks(s.path)
	if err != nil {
		return err
	}
	before, err := stampOf(path)
	if err != nil {
		return err
	}
	if before.quiet {
		err := s.once(ctx, path, read, "mode", "ro", "immutable", "1")
		if after, statErr := stampOf(path); ctx.Err() != nil || statErr == nil && after == before {
			return err
		}
		// The product has started meanwhile, and what was read may be half of this and half of that.
	}
	return s.once(ctx, path, read, "mode", "ro")
}

func (s *Store) once(ctx context.Context, path string, read func(context.Context, *sql.Tx) error, parameters ...string) (err error) {
	db, err := sql.Open("sqlite", source(path, s.wait, parameters...))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(explainSQL(ctx, path, err), db.Close()) }()
	db.SetMaxOpenConns(1)
	tx, err := db.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return err
	}
	defer tx.Rollback() // nothing was written
	return read(ctx, tx)
}

func source(path string, wait time.Duration, parameters ...string) string {
	q := url.Values{"_pragma": {"busy_timeout(" + strconv.FormatInt(wait.Milliseconds(), 10) + ")", "query_only(1)"}}
	for i := 0; i < len(parameters); i += 2 {
		q.Add(parameters[i], parameters[i+1])
	}
	// "file:" and the absolute path, with what a URL would take for its own escaped; a drive letter has a slash before it.
	path = "/" + strings.TrimPrefix(filepath.ToSlash(path), "/")
	u := url.URL{Scheme: "file", OmitHost: true, Path: path, RawQuery: q.Encode()}
	return u.String()
}

// explainSQL says in words what SQLite says in codes.
func explainSQL(ctx context.Context, path string, err error) error {
	var e *sqlite.Error
	if !errors.As(err, &e) {
		return err
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if e.Code() == sqlite3.SQLITE_READONLY_ROLLBACK {
		return fmt.Errorf("a program ended while it wrote to the database, and left its journal (-journal), by which the half of it has to be undone first: "+
			"start OpenCode once, or copy both files to a folder of yours and open the copy with `sqlite3 FILE .schema`: %w", err)
	}
	switch e.Code() & 0xff {
	case sqlite3.SQLITE_NOTADB:
		return fmt.Errorf("%w: it is not an SQLite database", ErrNoSessions)
	case sqlite3.SQLITE_CORRUPT:
		return fmt.Errorf("the database is damaged; `sqlite3 FILE .recover` may save what is left: %w", err)
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED:
		return fmt.Errorf("another program holds the database locked; try again when it is done: %w", err)
	case sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY:
		// The system says why a file may not be read. It is asked only now: to open and close the file takes away the locks of whoever else in this
		// process is reading it.
		if file, err := os.Open(path); err != nil {
			return err
		} else if err := file.Close(); err != nil {
			return err
		}
		return fmt.Errorf("it cannot be opened: it has a log (-wal) whose index (-shm) can be neither read nor made; copy the database with its log to a folder of yours: %w", err)
	}
	return err
}

// columns are the names of a table's columns, none when there is no such table.
func columns(ctx context.Context, tx *sql.Tx, table string) (map[string]bool, error) {
	names, err := list[string](ctx, tx, `SELECT name FROM pragma_table_info(?)`, table)
	if err != nil {
		return nil, err
	}
	has := map[string]bool{}
	for _, name := range names {
		has[name] = true
	}
	return has, nil
}

// list reads a query of one column.
func list[T any](ctx context.Context, tx *sql.Tx, query string, args ...any) ([]T, error) {
	rows, err := tx.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var values []T
	for rows.Next() {
		var v T
		if err := rows.Scan(&v); err != nil {
			return nil, err
		}
		values = append(values, v)
	}
	return values, rows.Err()
}

// record is one row by the names of its columns. Versions of the product differ in which there are.
type record map[string]any

// records reads a query into records.
func records(ctx context.Context, tx *sql.Tx, query string, args ...any) ([]record, error) {
	rows, err := tx.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	names, err := rows.Columns()
	if err != nil {
		return nil, err
	}
	var found []record
	for rows.Next() {
		values, into := make([]any, len(names)), make([]any, len(names))
		for i := range values {
			into[i] = &values[i]
		}
		if err := rows.Scan(into...); err != nil {
			return nil, err
		}
		r := record{}
		for i, name := range names {
			r[name] = values[i]
		}
		found = append(found, r)
	}
	return found, rows.Err()
}

// text is a column as a string, "" when it is NULL, missing, or something else.
func (r record) text(name string) string {
	switch v := r[name].(type) {
	case string:
		return v
	case []byte:
		return string(v)
	}
	return ""
}

// number is a column as a number; ok is false when it is NULL, missing, or something else.
func (r record) number(name string) (n float64, ok bool) {
	switch v := r[name].(type) {
	case int64:
		return float64(v), true
	case float64:
		return v, true
	case time.Time:
		return float64(v.UnixMilli()), true
	case string:
		n, err := strconv.ParseFloat(v, 64)
		return n, err == nil
	}
	return 0, false
}

func (r record) has(name string) bool { return r[name] != nil }
