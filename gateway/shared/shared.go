// Package shared declares the parts of a gateway that several processes and many people share: a
// store and a book in a database, a job queue, sign-in, metrics. Package team makes them; a program
// that does not link it has none.
package shared

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/winnowhq/winnow/desk/config"
	"github.com/winnowhq/winnow/gateway/admin"
	"github.com/winnowhq/winnow/gateway/job"
	"github.com/winnowhq/winnow/gateway/serve"
	"github.com/winnowhq/winnow/gateway/tenant"
	"github.com/winnowhq/winnow/gateway/transport"
	"github.com/winnowhq/winnow/store"
)

// Parts makes the shared parts.
type Parts struct {
	// Missing is why the program has none of them, nil if it has them: see None.
	Missing error
	// Redacted names a database by its servers, without what is secret in its URL.
	Redacted func(url string) string
	// Versions are those of the tables in a database.
	Versions func(ctx context.Context, url string) (Versions, error)
	// OpenStore opens the store of a tenant, whom the URL names, in a database.
	OpenStore func(ctx context.Context, url string, readOnly bool) (store.Store, error)
	// OpenStores connects to the stores of all tenants in a database.
	OpenStores func(ctx context.Context, url string) (Stores, error)
	// OpenBook opens the book of tenants: the path of a file, which is made if it is missing, or the
	// URL of a database.
	OpenBook func(ctx context.Context, at string, now func() time.Time) (tenant.Book, error)
	// OpenQueue connects to the queue in a database, and makes its tables.
	OpenQueue func(ctx context.Context, url string, o QueueOptions) (Queue, error)
	// OnWish has a store in a database ask for a job in the transaction of each change that says that
	// a summary is wanted: the one that wanted names, in a queue of the same database. A nil queue
	// is asked for none; stores elsewhere ask for none.
	OnWish func(kept store.Store, wanted func(tenant, session, pivot string) (job.Queue, job.Job))
	// MigrateQueue makes or upgrades the tables of the queue in a database.
	MigrateQueue func(ctx context.Context, url string) error
	// OpenBus joins the processes that share the database with a URL: heard is called with what the
	// others tell.
	OpenBus func(url string, heard func(tenant string, text []byte), log *slog.Logger) (Bus, error)
	// NewSignIn lets people sign in to the page. The key seals cookies.
	NewSignIn func(o config.GatewayOIDC, secret string, key []byte, now func() time.Time, log *slog.Logger) SignIn
	// NewMetrics counts for a listener or for one of its tenants.
	NewMetrics func(totals func() transport.Totals, ofTenant bool) serve.Metrics
	// NewAdmin is the admin API, with what is asked for by whoever sends a request. looked notes
	// that somebody looks at a tenant, "" for all, and how. nil in a program without tenants.
	NewAdmin func(service func(context.Context) (admin.Service, error),
		looked func(ctx context.Context, of, did string) error, log *slog.Logger) http.Handler
}

// None are the parts of a program that serves one person: it counts nothing, and whatever needs a
// database ends with an error.
func None(missing error) *Parts {
	return &Parts{
		Missing:      missing,
		Redacted:     func(string) string { return "postgres://…" },
		Versions:     func(context.Context, string) (Versions, error) { return Versions{}, missing },
		OpenStore:    func(context.Context, string, bool) (store.Store, error) { return nil, missing },
		OpenStores:   func(context.Context, string) (Stores, error) { return nil, missing },
		OpenBook:     func(context.Context, string, func() time.Time) (tenant.Book, error) { return nil, missing },
		OpenQueue:    func(context.Context, string, QueueOptions) (Queue, error) { return nil, missing },
		OnWish:       func(store.Store, func(tenant, session, pivot string) (job.Queue, job.Job)) {},
		MigrateQueue: func(context.Context, string) error { return missing },
		OpenBus:      func(string, func(string, []byte), *slog.Logger) (Bus, error) { return nil, missing },
		NewMetrics:   func(func() transport.Totals, bool) serve.Metrics { return serve.Uncounted{} },
	}
}

// Versions are those of the tables in a database, 0 for missing ones.
type Versions struct {
	Store   int64 `json:"store"`   // version of the tables of sessions
	Tenants int64 `json:"tenants"` // version of the tables of tenants
	Jobs    int64 `json:"jobs"`    // version of the tables of jobs
}

// Stores are those of tenants, in one database.
type Stores interface {
	// Tenant is the store of one, which has the sessions of that tenant alone.
	Tenant(name string) TenantStore
	Close() error
}

// TenantStore is the store of a tenant in a database that has those of several.
type TenantStore interface {
	store.Store
	Name() string // of the tenant
	// EraseAll deletes everything that the tenant has.
	EraseAll(ctx context.Context) (store.Amount, error)
}

// QueueOptions say how a queue works.
type QueueOptions struct {
	Workers int // jobs that this process does at a time
	Log     *slog.Logger
	Now     func() time.Time
}

// Queue is a queue in a database, where every process works on it.
type Queue interface {
	job.Queue
	// Page shows what waits, runs and has failed.
	Page() http.Handler
	// Close lets go of the database, after Run has ended.
	Close()
}

// Bus carries changes of pages between the processes of a gateway.
type Bus interface {
	// Tell tells the others something of a tenant, and waits for nobody: what write returns later,
	// which nothing is told of if it is nil.
	Tell(tenant string, write func() []byte)
	Close()
}

// MostTold is how many bytes a text on a Bus may have.
const MostTold = 7500

// SignIn is where browsers sign in and out.
type SignIn interface {
	http.Handler
	// Viewer is who has signed in with the browser that sends a request, nil if nobody has.
	Viewer(r *http.Request) *serve.Client
}
