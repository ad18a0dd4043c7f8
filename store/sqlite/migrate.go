package sqlite

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/pressly/goose/v3"

	"github.com/winnowhq/winnow/store"
)

//go:embed migrations/*.sql
var migrations embed.FS

const (
	application = 2003725943 // "wnnw"; the migrations set it
	version     = 12         // of the last migration, which sets it as user_version
)

// stamp is what a database says about itself.
type stamp struct {
	application, version int64
	foreign              int // how many tables there are that goose did not create
}

func readStamp(ctx context.Context, db *sql.DB) (s stamp, err error) {
	err = db.QueryRowContext(ctx, `SELECT
		(SELECT application_id FROM pragma_application_id),
		(SELECT user_version FROM pragma_user_version),
		(SELECT count(*) FROM sqlite_schema WHERE name NOT LIKE 'sqlite_%' AND tbl_name <> 'goose_db_version')`).
		Scan(&s.application, &s.version, &s.foreign)
	return s, err
}

// VersionOf is the version of the tables in a file, 0 if there is no file, or nothing in it.
func VersionOf(ctx context.Context, path string) (int64, error) {
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return 0, err
	}
	db, err := sql.Open("sqlite", source(path, time.Second, "mode", "ro"))
	if err != nil {
		return 0, err
	}
	defer db.Close()
	s, err := readStamp(ctx, db)
	return s.version, err
}

// check refuses databases of other programs and of newer versions of this one.
func (s stamp) check() error {
	switch {
	case s.application != application && (s.application != 0 || s.foreign > 0):
		return fmt.Errorf("%w: it is a database of another program", store.ErrCorrupt)
	case s.version > version:
		return fmt.Errorf("%w: it has version %d, this program knows %d", store.ErrNewer, s.version, version)
	}
	return nil
}

// migrate upgrades the database to this version. Another process may be doing the same: the later
// one fails because a table exists already, and looks again.
func migrate(ctx context.Context, db *sql.DB, wait time.Duration) error {
	for deadline := time.Now().Add(wait); ; {
		done, err := migrateOnce(ctx, db)
		if done || ctx.Err() != nil || time.Now().After(deadline) {
			return err
		}
		select {
		case <-ctx.Done():
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// migrateOnce reports whether it is done: trying again would change nothing.
func migrateOnce(ctx context.Context, db *sql.DB) (done bool, err error) {
	s, err := readStamp(ctx, db)
	if err != nil {
		return !isBusy(err), err
	}
	if err := s.check(); err != nil {
		return true, err
	}
	// The mode is stored in the file. SQLite does not wait for other processes to change it.
	var mode string
	if err := db.QueryRowContext(ctx, `PRAGMA journal_mode = WAL`).Scan(&mode); err != nil {
		return !isBusy(err), err
	}
	if s.version == version {
		return true, nil
	}
	scripts, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return true, err
	}
	provider, err := goose.NewProvider(goose.DialectSQLite3, db, scripts)
	if err != nil {
		return true, err
	}
	if _, err = provider.Up(ctx); err == nil {
		return true, nil
	}
	if again, stampErr := readStamp(ctx, db); stampErr == nil && again.version == version {
		return true, nil // another process did it
	}
	return isFull(err) || isReadOnly(err) || isIO(err), err
}
