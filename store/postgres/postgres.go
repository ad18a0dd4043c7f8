// Package postgres keeps sessions in a PostgreSQL database, for many people, and gateways on any
// number of machines.
//
// A database holds tenants, which share nothing: each has its sessions, files and contents, and a
// Store is that of one tenant. Nothing about a session is held in memory: a request reads what it
// needs in one round trip (State, Revision, Messages of a short log), and a change is one round
// trip, one batch that checks the revision it was decided on and writes all of it or nothing (see
// batch.go). So of two gateways that decide at once the first wins, the other gets
// store.ErrConflict, and none can act on what it remembers.
//
// A connection that breaks is replaced, and its statements are sent again, for as long as
// Options.Wait. Then the server is lost: everything fails at once until it answers, which is tried
// in the background. A change carries a token, so that one whose answer was lost is not written
// twice.
package postgres

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/store/internal/packed"
)

// DefaultWait is how long an operation waits for a server that does not answer, or for another one
// that writes to the same session.
const DefaultWait = 10 * time.Second

// DefaultConnections is how many connections there are at most: enough for two processors of a
// server, and for many gateways under its usual limit of 100.
const DefaultConnections = 16

// connectWait is how long connecting may take, unless the URL says so (connect_timeout).
const connectWait = 5 * time.Second

// Options say how to use a database. The zero value is ready.
type Options struct {
	// Wait is how long an operation waits for a server that is starting or whose connections broke,
	// and for others that write to the same session. Default DefaultWait.
	Wait time.Duration
	// Connections is how many connections there are at most. Default DefaultConnections, or
	// pool_max_conns of the URL.
	Connections int
	// ReadOnly never writes to the database: not to the tables, and not to upgrade them. Every
	// change is store.ErrReadOnly.
	ReadOnly bool
	// Tracer is told of every statement, and of those of a change if it is a pgx.BatchTracer, too.
	// Optional; for tests and traces.
	Tracer pgx.QueryTracer
}

// Database is a database with the sessions of tenants. Use Open.
type Database struct {
	pool     *pgxpool.Pool
	place    string // the URL without secrets
	wait     time.Duration
	readOnly bool
	packer   packed.Compressor

	reading   atomic.Int64 // how many iterations hold a connection
	most      int64        // how many may
	closed    atomic.Bool
	closeOnce sync.Once

	loss          loss
	reads, writes atomic.Int64 // answered
	breaks        atomic.Int64 // of connections: the server may have lost its newest changes
	written       store.Written
	wanted        atomic.Pointer[Wanted]
}

// Open opens a database that is named by a URL (postgres://user@host:port/name) or by keywords and
// values, as libpq reads them, and upgrades its tables. A password is better in PGPASSWORD or
// ~/.pgpass than in the URL. Its errors are store.ErrNewer, store.ErrReadOnly and those of a server
// that cannot be reached, or refuses; no error contains a password.
func Open(ctx context.Context, url string, o Options) (*Database, error) {
	d, err := open(ctx, url, o)
	if err != nil {
		return nil, explain(ctx, "open", Redacted(url), "", err)
	}
	return d, nil
}

// OpenStore opens the store of one tenant, with a database of its own that is closed with it. The
// URL names the tenant by a parameter, postgres://host/name?tenant=NAME; without it, it is the one
// of a person, "".
func OpenStore(ctx context.Context, url string, o Options) (*Store, error) {
	url, tenant := store.CutTenant(url)
	d, err := Open(ctx, url, o)
	if err != nil {
		return nil, err
	}
	s := d.Tenant(tenant)
	s.owns = true
	return s, nil
}

func open(ctx context.Context, url string, o Options) (_ *Database, err error) {
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, errUnclear
	}
	d := &Database{place: Redacted(url), wait: o.Wait, readOnly: o.ReadOnly}
	d.loss.ended, d.loss.end = context.WithCancel(context.Background())
	if d.wait <= 0 {
		d.wait = DefaultWait
	}
	c := config.ConnConfig
	if c.ConnectTimeout == 0 {
		c.ConnectTimeout = connectWait
	}
	if c.RuntimeParams["application_name"] == "" {
		c.RuntimeParams["application_name"] = "winnow"
	}
	c.RuntimeParams["lock_timeout"] = fmt.Sprint(d.wait.Milliseconds())
	c.RuntimeParams["client_encoding"] = "UTF8"
	// A plan for one tenant takes it to have hardly any rows if it began after the server last
	// looked at the tables, and then may read all of them for each query. A plan that is the same
	// for all looks up the session.
	c.RuntimeParams["plan_cache_mode"] = "force_generic_plan"
	c.Tracer = o.Tracer
	if o.Connections > 0 {
		config.MaxConns = int32(o.Connections)
	} else if !strings.Contains(url, "pool_max_conns") {
		config.MaxConns = DefaultConnections
	}
	d.most = max(1, int64(config.MaxConns)/2)
	// A connection is not asked whether it is alive, which would be a round trip: one that is not
	// is replaced when it is used.
	config.ShouldPing = func(context.Context, pgxpool.ShouldPingParams) bool { return false }
	conn, pooled, err := reach(ctx, c, d.wait)
	if err != nil {
		return nil, err
	}
	if err := migrate(ctx, conn, c, o.ReadOnly); err != nil {
		return nil, err
	}
	if o.ReadOnly && !pooled {
		// Not as a parameter: target_session_attrs=read-write would take the server for a standby.
		c.AfterConnect = func(ctx context.Context, conn *pgconn.PgConn) error {
			return conn.Exec(ctx, "SET default_transaction_read_only = on").Close()
		}
	}
	d.pool, err = pgxpool.NewWithConfig(ctx, config)
	return d, err
}

// Close closes the database. It waits for writes under way; an iteration that has begun may go
// on to its end.
func (d *Database) Close() error {
	d.closeOnce.Do(func() {
		d.closed.Store(true)
		d.loss.end()
		if d.reading.Load() > 0 {
			go d.pool.Close() // it waits for the iterations, one of which may be that of the caller
		} else {
			d.pool.Close()
		}
	})
	return nil
}

// Place is the URL of the database without secrets.
func (d *Database) Place() string { return d.place }

// Tenant returns the store of a tenant. The tenant of a person is "". A store needs not be closed;
// closing it leaves the database open.
func (d *Database) Tenant(name string) *Store { return &Store{db: d, tenant: name} }

// Store is the store of one tenant. It sees nothing of the others. Use Database.Tenant or
// OpenStore.
type Store struct {
	db     *Database
	tenant string
	owns   bool // the database is closed with it
	closed atomic.Bool
}

var (
	_ store.Store    = (*Store)(nil)
	_ store.Searcher = (*Store)(nil)
	_ store.Sketcher = (*Store)(nil)
	_ store.Filer    = (*Store)(nil)
	_ store.Keeper   = (*Store)(nil)
	_ store.Relayer  = (*Store)(nil)
	_ store.Resumer  = (*Store)(nil)
	_ store.Remote   = (*Store)(nil)
	_ store.Writer   = (*Store)(nil)
	_ store.Checker  = (*Store)(nil)
)

// Close closes the store: its methods fail from then on.
func (s *Store) Close() error {
	s.closed.Store(true)
	if s.owns {
		return s.db.Close()
	}
	return nil
}

// Path returns the URL of the database without secrets.
func (s *Store) Path() string { return s.db.place }

// Database is the database of the store.
func (s *Store) Database() *Database { return s.db }

// Name is the name of the tenant.
func (s *Store) Name() string { return s.tenant }

// writable is ready for operations that write.
func (s *Store) writable(ctx context.Context) error {
	if err := s.ready(ctx); err != nil || !s.db.readOnly {
		return err
	}
	return store.ErrReadOnly
}

// ready returns an error if the store is closed, the context ended or the tenant has no name that a
// database takes.
func (s *Store) ready(ctx context.Context) error {
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case s.closed.Load() || s.db.closed.Load():
		return store.ErrClosed
	case len(s.tenant) > 200 || !utf8.ValidString(s.tenant) || strings.ContainsRune(s.tenant, 0):
		return fmt.Errorf("%q cannot be the name of a tenant: it must be text of at most 200 bytes", s.tenant)
	}
	return nil
}
