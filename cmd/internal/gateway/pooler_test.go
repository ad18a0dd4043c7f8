package gateway

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/winnowhq/winnow/internal/pgtest"
	"github.com/winnowhq/winnow/store"
)

// A replica with tenants and jobs works behind PgBouncer in transaction mode, with nothing configured:
// the request of a tenant is decided about, its summary is written by a job, and what that cost is in
// the book.
func TestReplica_behindPgBouncer(t *testing.T) {
	c := pgtest.NewCluster(t, false)
	model := &scribe{}
	r, w := replica(t, c.Bouncer(t), model, "ann")
	works(t, w)
	p := newProvider(t)
	x, ok := r.tenants.known.Load().Tenant("ann")
	if !ok {
		t.Fatal("there is no tenant")
	}
	m, f, err := r.tenants.open(t.Context(), x)
	if err != nil {
		t.Fatal(err)
	}
	defer m.leave(f)
	ask(t, f.carrier, p, talk("quince", 0))
	ask(t, f.carrier, p, talk("quince", 1))
	until(t, "the summary", func() bool {
		prepared := only(t, f.engine.Store()).Prepared
		return prepared != nil && prepared.Written != ""
	})
	until(t, "the book", func() bool {
		r.tenants.save(t.Context())
		s, err := r.tenants.book.Load().Spent(t.Context(), "ann", r.app.Env.Now())
		return err == nil && s.Day > 0.25
	})
	direct, err := pgx.Connect(t.Context(), c.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer direct.Close(context.WithoutCancel(t.Context()))
	until(t, "the end of all locks", func() bool {
		var locks int
		err := direct.QueryRow(t.Context(), `SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'`).Scan(&locks)
		return err == nil && locks == 0
	})
	if lost := store.Lost(f.engine.Store()); lost != nil {
		t.Errorf("the store is lost: %v", lost)
	}
}
