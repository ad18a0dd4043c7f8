package gateway

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/winnowhq/winnow/job/river"
)

// connections are how many the jobs of one process may have of a database: two that work, one that
// fetches what is due, and one that listens. They are not those of requests, which never wait for a
// job.
const connections = 4

// shared puts the queue into the database of the store, where every replica works on it.
func (w *Jobs) shared(ctx context.Context, address string) error {
	set, err := pgxpool.ParseConfig(address)
	if err != nil {
		return errors.New("the address of the store cannot be understood; write postgres://USER@HOST/DATABASE") // it may hold a password
	}
	set.MaxConns = connections
	pool, err := pgxpool.NewWithConfig(ctx, set)
	if err != nil {
		return fmt.Errorf("connect to the database for jobs: %w", err)
	}
	if err = river.Migrate(ctx, pool); err == nil {
		w.queue, err = river.New(ctx, pool, river.Config{Log: w.relay.log, Now: w.relay.app.Env.Now})
	}
	if err != nil {
		pool.Close()
		return err
	}
	w.close = pool.Close
	return nil
}
