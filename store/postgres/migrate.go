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
	version  = 6                // of the last migration
	versions = "winnow_version" // the table of those that were done
	// turn is the lock of those that migrate: "winnow" as a number.
	turn = 0x77696e6e6f77
)

// migrate brings the tables to this version. Of several that do so at once, one does, and the
// others wait for it.
func migrate(ctx context.Context, c *pgx.ConnConfig, wait time.Duration, readOnly bool) error {
	conn, err := connect(ctx, c, wait)
	if err != nil {
		return err
	}
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
		return fmt.Errorf("%w: its tables have version %d, this program knows %d", store.ErrNewer, now, version)
	case now == version:
		return nil
	case readOnly:
		return fmt.Errorf("%w: its tables have version %d, this program reads %d; open it for writing once to upgrade "+
			"it",
			store.ErrReadOnly, now, version)
	}
	if _, err := conn.Exec(ctx, "SET lock_timeout = 0"); err != nil { // a long migration is no reason to fail
		return err
	}
	if _, err := conn.Exec(ctx, "SELECT pg_advisory_lock($1)", int64(turn)); err != nil {
		return err
	}
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

// versionOf is the version of the tables, 0 if there are none.
func versionOf(ctx context.Context, conn *pgx.Conn) (now int64, err error) {
	err = conn.QueryRow(ctx, "SELECT coalesce(max(version_id), 0) FROM "+versions+" WHERE is_applied").Scan(&now)
	var missing *pgconn.PgError
	if errors.As(err, &missing) && missing.Code == pgerrcode.UndefinedTable {
		return 0, nil
	}
	return now, err
}
