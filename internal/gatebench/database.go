//go:build unix

package main

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/winnowhq/winnow/internal/pgtest"
)

// query reads one row of a cluster.
func query(c *pgtest.Cluster, sql string, to ...any) error {
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, c.URL())
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	return conn.QueryRow(ctx, sql).Scan(to...)
}
