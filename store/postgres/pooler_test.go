package postgres_test

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/winnowhq/winnow/internal/pgtest"
	"github.com/winnowhq/winnow/internal/storetest"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/store/postgres"
)

// bouncers are how PgBouncer may be told to treat the settings that connections begin with.
var bouncers = map[string][]string{
	"refuses settings": nil,
	"drops settings":   {"ignore_startup_parameters = lock_timeout,plan_cache_mode"},
}

// Behind PgBouncer in transaction mode, of a version that knows no prepared statements, the store
// keeps what it promises, with nothing configured, and leaves nothing behind on the server.
func TestStore_behindPgBouncer(t *testing.T) {
	for name, settings := range bouncers {
		t.Run(name, func(t *testing.T) {
			c := pgtest.NewCluster(t, false)
			url := c.Bouncer(t, settings...)
			var all sync.WaitGroup
			for range 6 { // more than PgBouncer has connections
				all.Go(func() {
					d, err := postgres.Open(t.Context(), url, postgres.Options{})
					if err != nil {
						t.Error(err)
						return
					}
					d.Close()
				})
			}
			all.Wait()
			if t.Failed() {
				return
			}
			if settings == nil {
				readOnly(t, url)
				return // the rest is the same
			}
			d := open(t, url, postgres.Options{})
			var tenants atomic.Int64
			storetest.Suite{
				Open: func(t *testing.T) store.Store { return d.Tenant(fmt.Sprint("t", tenants.Add(1))) },
			}.Run(t)
			readOnly(t, url)
			direct, err := pgx.Connect(t.Context(), c.URL())
			if err != nil {
				t.Fatal(err)
			}
			defer direct.Close(t.Context())
			var locks int
			if err := direct.QueryRow(t.Context(), `SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'`).Scan(&locks); err != nil || locks != 0 {
				t.Errorf("%d locks are left on the server, %v", locks, err)
			}
		})
	}
}

// readOnly opens a store read-only, which does not make others so that get its connections.
func readOnly(t *testing.T, url string) {
	t.Helper()
	d := open(t, url, postgres.Options{})
	reading := open(t, url, postgres.Options{ReadOnly: true}).Tenant("read")
	for i := range 20 {
		info := session.Info{ID: fmt.Sprint("s", i)}
		if err := reading.Create(t.Context(), info); !errors.Is(err, store.ErrReadOnly) {
			t.Errorf("a store that was opened read-only: %v", err)
		}
		if _, err := reading.List(t.Context()); err != nil {
			t.Error(err)
		}
		if err := d.Tenant("read").Create(t.Context(), info); err != nil {
			t.Fatalf("another one: %v", err)
		}
	}
}
