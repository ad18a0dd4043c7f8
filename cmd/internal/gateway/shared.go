package gateway

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/winnowhq/winnow/store/postgres"
	"github.com/winnowhq/winnow/team/river"
)

// connections are how many the jobs of one process may have of a database: two that work, one that
// fetches what is due, and one that listens. They are not those of requests, which never wait for a
// job.
const connections = 4

// MigrateJobs makes or upgrades the tables of jobs in the database of a store, and reports whether
// the store is in one.
func MigrateJobs(ctx context.Context, address string) (bool, error) {
	if !postgres.IsURL(address) {
		return false, nil
	}
	pool, err := pooled(ctx, address)
	if err != nil {
		return false, err
	}
	defer pool.Close()
	return true, river.Migrate(ctx, pool)
}

// errUnclear says nothing of the address, which may hold a password.
var errUnclear = errors.New("the address of the store cannot be understood; write postgres://USER@HOST/DATABASE")

// pooled connects to the database of a store. Nothing of a password is in its errors.
func pooled(ctx context.Context, address string) (*pgxpool.Pool, error) {
	to, err := url.Parse(address)
	if err != nil {
		return nil, errUnclear
	}
	q := to.Query()
	q.Del("tenant") // it is the store's: jobs are of all tenants
	to.RawQuery = q.Encode()
	set, err := pgxpool.ParseConfig(to.String())
	if err != nil {
		return nil, errUnclear
	}
	set.MaxConns = connections
	set.ConnConfig.RuntimeParams["application_name"] = "winnow jobs"
	pool, err := pgxpool.NewWithConfig(ctx, set)
	if err != nil {
		return nil, fmt.Errorf("connect to the database for jobs: %w", err)
	}
	return pool, nil
}

// shared is a queue in the database of the store, where every replica works on it, with its page.
func (w *Jobs) shared(ctx context.Context, address string) (*river.Queue, error) {
	pool, err := pooled(ctx, address)
	if err != nil {
		return nil, err
	}
	showing, stop := context.WithCancel(context.WithoutCancel(ctx))
	end := func() {
		stop()
		pool.Close()
	}
	var queue *river.Queue
	if err = river.Migrate(ctx, pool); err == nil {
		queue, err = river.New(ctx, pool, river.Config{Workers: workers, Log: w.relay.log, Now: w.relay.app.Env.Now})
	}
	var page http.Handler
	if err == nil {
		page, err = queue.Page(showing, "/jobs")
	}
	if err != nil {
		end()
		return nil, err
	}
	w.relay.jobs, w.close = page, end
	return queue, nil
}
