package postgres

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/jackc/pgerrcode"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/winnowhq/winnow/store"
)

// A pooler such as PgBouncer gives a connection to the server to whoever has a transaction. So
// nothing may be left behind on one: no prepared statement, no setting, no lock.

// Connections says how to connect to the database that a URL names, for what is beside the store in
// it, and whether a pooler stands between. name is what the server lists its connections as. No
// error contains a password.
func Connections(ctx context.Context, url, name string) (c *pgxpool.Config, pooled bool, err error) {
	c, err = pgxpool.ParseConfig(store.WithoutTenant(url))
	if err != nil {
		return nil, false, errUnclear
	}
	c.ConnConfig.RuntimeParams["application_name"] = name
	conn, pooled, err := reach(ctx, c.ConnConfig, DefaultWait)
	if err != nil {
		return nil, false, explain(ctx, "open", Redacted(url), "", err)
	}
	return c, pooled, conn.Close(context.WithoutCancel(ctx))
}

// errUnclear says nothing of the URL, which may hold a password; the driver's error may quote it.
var errUnclear = errors.New("this is not the URL of a PostgreSQL database; write postgres://USER@HOST/DATABASE")

// reach connects to a server, and changes c if a pooler stands between: the server behind it has
// another process than the one that it told.
func reach(ctx context.Context, c *pgx.ConnConfig, wait time.Duration) (conn *pgx.Conn, pooled bool, err error) {
	conn, err = connect(ctx, c, wait)
	var refused *pgconn.PgError
	if errors.As(err, &refused) && refused.Code == pgerrcode.ProtocolViolation &&
		strings.Contains(refused.Message, "unsupported startup parameter") {
		beginPlain(c)
		conn, err = connect(ctx, c, wait)
	}
	if err != nil {
		return nil, false, err
	}
	var process uint32
	err = conn.QueryRow(ctx, "SELECT pg_backend_pid()", pgx.QueryExecModeSimpleProtocol).Scan(&process)
	if err == nil && process == conn.PgConn().PID() {
		return conn, false, nil
	}
	conn.Close(context.WithoutCancel(ctx))
	if err != nil {
		return nil, false, err
	}
	beginPlain(c)
	if c.DefaultQueryExecMode == pgx.QueryExecModeCacheStatement {
		c.DefaultQueryExecMode = pgx.QueryExecModeCacheDescribe // it prepares nothing that lasts
	}
	conn, err = connect(ctx, c, wait)
	return conn, true, err
}

// beginPlain lets connections begin without settings, which a pooler refuses or drops.
func beginPlain(c *pgx.ConnConfig) {
	delete(c.RuntimeParams, "lock_timeout")
	delete(c.RuntimeParams, "plan_cache_mode")
}

// lookAgain is how often it is looked whether a lock is free.
const lookAgain = 50 * time.Millisecond

// Alone runs do while no other process runs something under the same number. The lock is one of a
// transaction, which ends with this process whatever stands between; who waits for it holds no
// connection of a pooler meanwhile.
func Alone(ctx context.Context, c *pgx.ConnConfig, number int64, do func() error) error {
	conn, err := pgx.ConnectConfig(ctx, c)
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	for {
		mine, err := locked(ctx, conn, number, do)
		if mine || err != nil {
			return err
		}
		if err := pause(ctx, lookAgain); err != nil {
			return err
		}
	}
}

// locked runs do if the lock is free.
func locked(ctx context.Context, conn *pgx.Conn, number int64, do func() error) (mine bool, err error) {
	tx, err := conn.Begin(ctx)
	if err != nil {
		return false, err
	}
	defer tx.Rollback(context.WithoutCancel(ctx))
	// It does nothing while others work under its lock.
	if _, err := tx.Exec(ctx, "SET LOCAL idle_in_transaction_session_timeout = 0"); err != nil {
		return false, err
	}
	if err := tx.QueryRow(ctx, "SELECT pg_try_advisory_xact_lock($1)", number).Scan(&mine); err != nil || !mine {
		return false, err
	}
	return true, do()
}
