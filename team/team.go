package team

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/winnowhq/winnow/desk/config"
	"github.com/winnowhq/winnow/gateway/admin"
	"github.com/winnowhq/winnow/gateway/job"
	"github.com/winnowhq/winnow/gateway/serve"
	"github.com/winnowhq/winnow/gateway/shared"
	"github.com/winnowhq/winnow/gateway/tenant"
	"github.com/winnowhq/winnow/gateway/transport"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/store/postgres"
	"github.com/winnowhq/winnow/team/api"
	"github.com/winnowhq/winnow/team/book"
	"github.com/winnowhq/winnow/team/bus"
	"github.com/winnowhq/winnow/team/metrics"
	"github.com/winnowhq/winnow/team/river"
	"github.com/winnowhq/winnow/team/signin"
)

// Parts are those of a gateway that several processes and many people share.
func Parts() *shared.Parts {
	return &shared.Parts{Redacted: postgres.Redacted, Versions: versions, OpenStore: openStore, OpenStores: openStores,
		OpenBook: openBook, OpenQueue: openQueue, OnWish: onWish, MigrateQueue: migrateQueue, OpenBus: openBus,
		NewSignIn: newSignIn, NewMetrics: newMetrics, NewAdmin: newAdmin}
}

func versions(ctx context.Context, url string) (v shared.Versions, err error) {
	all, err := postgres.Versions(ctx, url, "SELECT coalesce(max(version_id), 0) FROM winnow_version WHERE is_applied",
		"SELECT coalesce(max(version_id), 0) FROM book_version WHERE is_applied",
		"SELECT coalesce(max(version), 0) FROM river_migration")
	if err != nil {
		return v, err
	}
	return shared.Versions{Store: all[0], Tenants: all[1], Jobs: all[2]}, nil
}

func openStore(ctx context.Context, url string, readOnly bool) (store.Store, error) {
	s, err := postgres.OpenStore(ctx, url, postgres.Options{ReadOnly: readOnly})
	if err != nil {
		return nil, err // not a nil *postgres.Store, which would be a store that is not nil
	}
	return s, nil
}

// stores are those of tenants in one database.
type stores struct{ *postgres.Database }

func (s stores) Tenant(name string) shared.TenantStore { return s.Database.Tenant(name) }

func openStores(ctx context.Context, url string) (shared.Stores, error) {
	d, err := postgres.Open(ctx, url, postgres.Options{})
	if err != nil {
		return nil, err
	}
	return stores{d}, nil
}

func openBook(ctx context.Context, at string, now func() time.Time) (tenant.Book, error) {
	b, err := book.Open(ctx, at, now)
	if err != nil {
		return nil, err
	}
	return b, nil
}

func newSignIn(o config.GatewayOIDC, secret string, key []byte, now func() time.Time, log *slog.Logger) shared.SignIn {
	return signin.New(o, secret, key, now, log)
}

func newMetrics(totals func() transport.Totals, ofTenant bool) serve.Metrics {
	if ofTenant {
		return metrics.OfTenant(totals)
	}
	return metrics.New(totals)
}

func newAdmin(service func(context.Context) (admin.Service, error),
	looked func(ctx context.Context, of, did string) error, log *slog.Logger) http.Handler {
	return api.New(api.Config{Service: service, Looked: looked, Log: log})
}

// queue is River's, with connections of its own.
type queue struct {
	*river.Queue
	page http.Handler
	end  func()
}

func (q *queue) Page() http.Handler { return q.page }
func (q *queue) Close()             { q.end() }

func openQueue(ctx context.Context, url string, o shared.QueueOptions) (shared.Queue, error) {
	pool, polls, err := connect(ctx, url)
	if err != nil {
		return nil, err
	}
	showing, stop := context.WithCancel(context.WithoutCancel(ctx))
	q := &queue{end: func() {
		stop()
		pool.Close()
	}}
	if err = river.Migrate(ctx, pool); err == nil {
		q.Queue, err = river.New(ctx, pool, river.Config{Workers: o.Workers, Log: o.Log, Now: o.Now, Polls: polls})
	}
	if err == nil {
		q.page, err = q.Queue.Page(showing, "/jobs")
	}
	if err != nil {
		q.end()
		return nil, err
	}
	return q, nil
}

func migrateQueue(ctx context.Context, url string) error {
	pool, _, err := connect(ctx, url)
	if err != nil {
		return err
	}
	defer pool.Close()
	return river.Migrate(ctx, pool)
}

func onWish(kept store.Store, wanted func(tenant, session, pivot string) (job.Queue, job.Job)) {
	s, ok := kept.(*postgres.Store)
	if !ok {
		return
	}
	s.Database().OnWanted(func(ctx context.Context, tx pgx.Tx, tenant, session string, p store.Prepared) error {
		q, j := wanted(tenant, session, p.Pivot)
		if q, ok := q.(*queue); ok {
			return q.AddTx(ctx, tx, j)
		}
		return nil // it is asked for behind the change
	})
}

// connections are how many the jobs of one process may have of a database: two that work, one that
// fetches what is due, and one that listens. They are not those of requests, which never wait for a
// job.
const connections = 4

// openBus joins the processes that share a database.
func openBus(address string, heard func(tenant string, text []byte), log *slog.Logger) (shared.Bus, error) {
	return bus.Open(func(ctx context.Context) (*pgx.Conn, error) {
		set, pooled, err := postgres.Connections(ctx, address, "winnow pages")
		if err != nil {
			return nil, err
		}
		if pooled {
			return nil, errors.New("a pooler passes no notifications on")
		}
		return pgx.ConnectConfig(ctx, set.ConnConfig)
	}, heard, log), nil
}

// connect connects to the database of a store, and reports whether a pooler stands before it.
// Nothing of a password is in its errors.
func connect(ctx context.Context, address string) (pool *pgxpool.Pool, pooled bool, err error) {
	set, pooled, err := postgres.Connections(ctx, address, "winnow jobs")
	if err == nil {
		set.MaxConns = connections
		pool, err = pgxpool.NewWithConfig(ctx, set)
	}
	if err != nil {
		return nil, false, fmt.Errorf("connect to the database for jobs: %w", err)
	}
	return pool, pooled, nil
}
