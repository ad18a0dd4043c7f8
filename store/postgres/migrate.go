package postgres

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/jackc/pgerrcode"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/database"

	"github.com/winnowhq/winnow/store"
)

//go:embed migrations/*.sql
var migrations embed.FS

const (
	version  = 8                // of the last migration
	versions = "winnow_version" // the table of those that were done
	// turn is the lock of those that migrate: "winnow" as a number.
	turn = 0x77696e6e6f77
)

// A program works on the tables of its own version, and on those of the next one if their migration
// says that it may, so that replicas can be replaced one after the other, and put back. A migration
// says so with its last statements:
//
//	CREATE TABLE IF NOT EXISTS winnow_compatible (version bigint PRIMARY KEY);
//	INSERT INTO winnow_compatible VALUES (7);
//
// It may if all that the program before reads and writes stays as it was: tables and columns may be
// added, with defaults, and functions; nothing is renamed, removed or given another meaning. What
// the version before uses is removed in the migration after the next.

// migrate brings the tables to this version, by a connection that it closes. Of several that do so
// at once, one does, and the others wait for it.
func migrate(ctx context.Context, conn *pgx.Conn, c *pgx.ConnConfig, readOnly bool) error {
	defer conn.Close(context.WithoutCancel(ctx))
	var encoding string
	if err := conn.QueryRow(ctx, "SHOW server_encoding").Scan(&encoding); err != nil {
		return err
	}
	if encoding != "UTF8" {
		return fmt.Errorf("the encoding of the database is %s, not UTF8; create one WITH ENCODING 'UTF8' TEMPLATE "+
			"template0", encoding)
	}
	now, err := versionOf(ctx, conn)
	switch {
	case err != nil:
		return err
	case now > version:
		if fits, err := compatible(ctx, conn, now); err != nil || fits {
			return err
		}
		return fmt.Errorf("%w: its tables have version %d, this program knows %d", store.ErrNewer, now, version)
	case now == version:
		return nil
	case readOnly:
		return fmt.Errorf("%w: its tables have version %d, this program reads %d; open it for writing once to upgrade "+
			"it",
			store.ErrReadOnly, now, version)
	}
	return Alone(ctx, c, turn, func() error { return upgrade(ctx, c) })
}

// upgrade runs the migrations that are missing.
func upgrade(ctx context.Context, c *pgx.ConnConfig) error {
	scripts, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return err
	}
	table, err := database.NewStore(database.DialectPostgres, versions)
	if err != nil {
		return err
	}
	db := stdlib.OpenDB(*c)
	defer db.Close()
	provider, err := goose.NewProvider("", db, scripts, goose.WithStore(table))
	if err != nil {
		return err
	}
	_, err = provider.Up(ctx)
	return err
}

// connect connects to a server, and waits for one that is starting or stopping.
func connect(ctx context.Context, c *pgx.ConnConfig, wait time.Duration) (*pgx.Conn, error) {
	for deadline := time.Now().Add(wait); ; {
		conn, err := pgx.ConnectConfig(ctx, c)
		var refused *pgconn.PgError
		if err == nil || !errors.As(err, &refused) || refused.Code != pgerrcode.CannotConnectNow ||
			time.Now().After(deadline) || pause(ctx, longest) != nil {
			return conn, err
		}
	}
}

// compatible reports whether this program can work on tables of a newer version.
func compatible(ctx context.Context, conn *pgx.Conn, now int64) (fits bool, err error) {
	if now != version+1 {
		return false, nil
	}
	err = conn.QueryRow(ctx, "SELECT EXISTS (SELECT FROM winnow_compatible WHERE version = $1)", now).Scan(&fits)
	if code(err) == pgerrcode.UndefinedTable {
		return false, nil
	}
	return fits, err
}

// versionOf is the version of the tables, 0 if there are none.
func versionOf(ctx context.Context, conn *pgx.Conn) (now int64, err error) {
	err = conn.QueryRow(ctx, "SELECT coalesce(max(version_id), 0) FROM "+versions+" WHERE is_applied").Scan(&now)
	if code(err) == pgerrcode.UndefinedTable {
		return 0, nil
	}
	return now, err
}
