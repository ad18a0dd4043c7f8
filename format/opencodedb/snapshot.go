package opencodedb

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"iter"
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
	quiet    bool // there is no log that could hold anything: no program has the database open
	size     int64
	modified time.Time
}

// stampOf looks at a database. Its path has no links: the log lies beside the file, not beside a
// link to it.
func stampOf(path string) (stamp, error) {
	info, err := os.Stat(path)
	if err != nil {
		return stamp{}, err
	}
	log, logErr := os.Stat(path + "-wal")
	// A program that has the database open made the log before anything else, and its index with
	// it.
	unused := logErr != nil || log.Size() == 0 && !isThere(path+"-shm")
	return stamp{unused && !isThere(path+"-journal"), info.Size(), info.ModTime()}, nil
}

func isThere(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// snapshot reads in one transaction, which sees one moment of the database. It may call read again
// if the first time did not count.
func snapshot[T any](ctx context.Context, d database, read func(*sql.Tx) (T, error)) (found T, err error) {
	path, err := filepath.EvalSymlinks(string(d))
	if err != nil {
		return found, err
	}
	before, err := stampOf(path)
	if err != nil {
		return found, err
	}
	if before.quiet {
		found, err = once(ctx, path, read, url.Values{"mode": {"ro"}, "immutable": {"1"}})
		if after, statErr := stampOf(path); ctx.Err() != nil || statErr == nil && after == before {
			return found, err
		}
		// The product has started meanwhile, and what was read may be half old and half new.
	}
	return once(ctx, path, read, url.Values{"mode": {"ro"}})
}

func once[T any](
	ctx context.Context, path string, read func(*sql.Tx) (T, error), how url.Values,
) (found T, err error) {
	how["_pragma"] = []string{"busy_timeout(" + strconv.FormatInt(wait.Milliseconds(), 10) + ")", "query_only(1)"}
	// "file:" and the absolute path, escaped as in a URL; a drive letter has a slash before it.
	slashed := "/" + strings.TrimPrefix(filepath.ToSlash(path), "/")
	name := url.URL{Scheme: "file", OmitHost: true, Path: slashed, RawQuery: how.Encode()}
	db, err := sql.Open("sqlite", name.String())
	if err != nil {
		return found, err
	}
	defer func() { err = errors.Join(explainSQL(ctx, path, err), db.Close()) }()
	db.SetMaxOpenConns(1)
	tx, err := db.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return found, err
	}
	defer tx.Rollback() // nothing was written
	return read(tx)
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
		return fmt.Errorf("a program ended while it wrote to the database, and its half-done work must first be "+
			"undone from the journal it left (-journal): start OpenCode once, or copy both "+
			"files to a folder of yours and open the copy with `sqlite3 FILE .schema`: %w", err)
	}
	switch e.Code() & 0xff {
	case sqlite3.SQLITE_NOTADB:
		return fmt.Errorf("%w: it is not an SQLite database", ErrNoSessions)
	case sqlite3.SQLITE_CORRUPT:
		return fmt.Errorf("the database is damaged; `sqlite3 FILE .recover` may save what is left: %w", err)
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED:
		return fmt.Errorf("another program holds the database locked; try again when it is done: %w", err)
	case sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY:
		// The system says why a file may not be read. It is asked only now: to open and close the
		// file takes away the locks of anything else in this process that reads it.
		file, openErr := os.Open(path)
		if openErr != nil {
			return openErr
		}
		return errors.Join(file.Close(), fmt.Errorf("it cannot be opened: the index (-shm) of its log (-wal) can be "+
			"neither read nor made; copy the database with its log to a folder of yours: %w", err))
	}
	return err
}

// record is one row by the names of its columns. Versions of the product differ in which there are.
type record map[string]any

// records yields the rows of an answer.
func records(rows *sql.Rows, err error) iter.Seq2[record, error] {
	return func(yield func(record, error) bool) {
		if err != nil {
			yield(nil, err)
			return
		}
		defer rows.Close()
		names, err := rows.Columns()
		for err == nil && rows.Next() {
			values, into := make([]any, len(names)), make([]any, len(names))
			for i := range values {
				into[i] = &values[i]
			}
			r := record{}
			if err = rows.Scan(into...); err == nil {
				for i, name := range names {
					r[name] = values[i]
				}
				if !yield(r, nil) {
					return
				}
			}
		}
		if err = cmp.Or(err, rows.Err()); err != nil {
			yield(nil, err)
		}
	}
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

// number is a column as a number, 0 when it is NULL, missing, or something else.
func (r record) number(name string) float64 {
	n, _ := number(r[name])
	return n
}

// number is the number that a column holds; ok is false when it holds none.
func number(value any) (n float64, ok bool) {
	switch v := value.(type) {
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
