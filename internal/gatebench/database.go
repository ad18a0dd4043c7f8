//go:build unix

package main

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/winnowhq/winnow/internal/pgtest"
)

// within does something with a connection of its own to a cluster.
func within(c *pgtest.Cluster, do func(ctx context.Context, conn *pgx.Conn) error) error {
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, c.URL())
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	return do(ctx, conn)
}

// query reads one row.
func query(c *pgtest.Cluster, sql string, to ...any) error {
	return within(c, func(ctx context.Context, conn *pgx.Conn) error { return conn.QueryRow(ctx, sql).Scan(to...) })
}

// execute does what a statement says.
func execute(c *pgtest.Cluster, sql string) error {
	return within(c, func(ctx context.Context, conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, sql)
		return err
	})
}
