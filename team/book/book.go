// Package book keeps the tenants of a gateway, their tokens, spending and audit log: in
// a SQLite file, or in a PostgreSQL database.
//
// Of a token only its SHA-256 is kept, and no key of a provider at all.
package book

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	_ "modernc.org/sqlite" // the driver sqlite

	"github.com/winnowhq/winnow/gateway/tenant"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/store/postgres"
)

//go:embed migrations/*.sql
var migrations embed.FS

// versions is the table in which goose notes migrations: a store in the same database has
// one of its own.
const versions = "book_version"

// Book keeps tenants. It is safe for concurrent use, also by several processes. Use Open.
type Book struct {
	db     *sql.DB
	file   bool // it is one
	now    func() time.Time
	person string // who changes it, beside the token; "" for nobody in particular
}

// As is the book for somebody whose changes are noted with the person beside the token.
func (b *Book) As(person string) tenant.Book { return &Book{b.db, b.file, b.now, person} }

// IsPostgres reports whether an address names a PostgreSQL database.
func IsPostgres(address string) bool {
	return strings.HasPrefix(address, "postgres://") || strings.HasPrefix(address, "postgresql://")
}

// Open opens a book: the path of a file, which is created with mode 0600, its folder with 0700, or
// the address of a PostgreSQL database. now is the clock.
func Open(ctx context.Context, address string, now func() time.Time) (*Book, error) {
	open := openFile
	if IsPostgres(address) {
		open = openDatabase
	}
	db, err := open(ctx, address)
	if err != nil {
		return nil, fmt.Errorf("open the book of tenants: %w", err)
	}
	return &Book{db: db, file: !IsPostgres(address), now: now}, nil
}

// openFile opens a file and upgrades its tables.
func openFile(ctx context.Context, path string) (*sql.DB, error) {
	source, err := makeFile(path)
	if err != nil {
		return nil, err
	}
	db, err := sql.Open("sqlite", source)
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(connections)
	for try := 0; ; try++ { // another process may be at it: then what it made is there already
		err := upgrade(ctx, db, goose.DialectSQLite3)
		if err == nil {
			return db, nil
		}
		if try == 20 || ctx.Err() != nil || errors.Is(err, store.ErrNewer) {
			return nil, errors.Join(err, db.Close())
		}
		select {
		case <-ctx.Done():
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// openDatabase connects to a database and upgrades its tables.
func openDatabase(ctx context.Context, address string) (*sql.DB, error) {
	c, _, err := postgres.Connections(ctx, address, "winnow tenants")
	if err != nil {
		return nil, err
	}
	db := stdlib.OpenDB(*c.ConnConfig)
	db.SetMaxOpenConns(connections)
	err = postgres.Alone(ctx, c.ConnConfig, migrationLock,
		func() error { return upgrade(ctx, db, goose.DialectPostgres) })
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

// connections are how many a book has at most.
const connections = 4

// makeFile creates the file and its folder, readable by the owner alone, and returns what the
// driver calls it.
func makeFile(path string) (source string, err error) {
	if path, err = filepath.Abs(path); err != nil {
		return "", err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return "", err
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return "", err
	}
	if err := f.Close(); err != nil {
		return "", err
	}
	q := url.Values{"_pragma": {"busy_timeout(10000)", "journal_mode(WAL)", "synchronous(FULL)", "foreign_keys(ON)"},
		"_txlock": {"immediate"}}
	u := url.URL{Scheme: "file", OmitHost: true, Path: "/" + strings.TrimPrefix(filepath.ToSlash(path), "/"),
		RawQuery: q.Encode()}
	return u.String(), nil
}

// migrationLock keeps two processes from migrating one database at a time.
const migrationLock = 2003725944

// upgrade runs the migrations that are missing. Tables of the next version are taken as they are if
// their migration says so, in book_compatible as that of a store does in winnow_compatible: see
// store/postgres/migrate.go.
func upgrade(ctx context.Context, db *sql.DB, dialect goose.Dialect) error {
	scripts, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return err
	}
	provider, err := goose.NewProvider(dialect, db, scripts, goose.WithTableName(versions))
	if err != nil {
		return err
	}
	now, known, err := provider.GetVersions(ctx)
	if err != nil {
		return err
	}
	if now <= known {
		_, err = provider.Up(ctx)
		return err
	}
	var marked int
	if now == known+1 { // without the table nothing is marked
		_ = db.QueryRowContext(ctx, `SELECT count(*) FROM book_compatible WHERE version = $1`, now).Scan(&marked)
	}
	if marked == 0 {
		return fmt.Errorf("%w: its tables have version %d, this program knows %d", store.ErrNewer, now, known)
	}
	return nil
}

// Close closes the book.
func (b *Book) Close() error { return b.db.Close() }

// change runs a change of tenants or tokens in one transaction, with an entry in the audit log,
// unless it is nil, and a new revision. do may add to the entry.
func (b *Book) change(ctx context.Context, e *tenant.Entry, do func(*sql.Tx) error) error {
	tx, err := b.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	if err := do(tx); err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, `UPDATE book_revision SET number = number + 1 WHERE one = 1`); err != nil {
		return err
	}
	if e != nil {
		e.Person = b.person
		if err := b.write(ctx, tx, *e); err != nil {
			return err
		}
	}
	return tx.Commit()
}

// Revision is a number that grows with each change of tenants and tokens.
func (b *Book) Revision(ctx context.Context) (number int64, err error) {
	err = b.db.QueryRowContext(ctx, `SELECT number FROM book_revision WHERE one = 1`).Scan(&number)
	return number, err
}

func millis(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

func fromMillis(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}
