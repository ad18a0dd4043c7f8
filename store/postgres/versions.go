package postgres

import (
	"context"

	"github.com/jackc/pgerrcode"
)

// Versions asks a database for the versions of tables, each by a query; 0 if there are none.
func Versions(ctx context.Context, url string, queries ...string) ([]int64, error) {
	c, _, err := Connections(ctx, url, "winnow versions")
	if err != nil {
		return nil, err
	}
	conn, _, err := reach(ctx, c.ConnConfig, DefaultWait)
	if err != nil {
		return nil, explain(ctx, "open", Redacted(url), "", err)
	}
	defer conn.Close(context.WithoutCancel(ctx))
	all := make([]int64, len(queries))
	for i, query := range queries {
		if err := conn.QueryRow(ctx, query).Scan(&all[i]); err != nil && code(err) != pgerrcode.UndefinedTable {
			return nil, explain(ctx, "open", Redacted(url), "", err)
		}
	}
	return all, nil
}
