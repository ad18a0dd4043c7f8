package gateway

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/winnowhq/winnow/cmd/internal/cli"
	"github.com/winnowhq/winnow/cmd/internal/source"
	"github.com/winnowhq/winnow/gateway/live"
	"github.com/winnowhq/winnow/gateway/serve"
	"github.com/winnowhq/winnow/gateway/shared"
	"github.com/winnowhq/winnow/gateway/tenant"
	"github.com/winnowhq/winnow/store"
)

const (
	// idleAfter is after how long without a request a tenant's store is closed: longer than any
	// provider's cache lasts.
	idleAfter = 2 * time.Hour
	// mostStates is how many tenants are at hand at a time; of more the one that nobody has asked
	// for longest goes, if nothing of it is under way.
	mostStates = 200
	// usedEvery is how often it is noted that a token was used.
	usedEvery = time.Minute
	// askAgain is how often an unknown token makes the book be read: it may be new.
	askAgain = time.Second
)

// tenants are those who share a gateway. They are its serve.Authenticator.
type tenants struct {
	r       *Relay
	log     *slog.Logger
	version atomic.Int64 // of the gateway's settings
	known   atomic.Pointer[tenant.Directory]
	stores  source.TenantStores
	keys    atomic.Pointer[map[string]heldKey]
	settle  chan struct{} // something was spent that the book does not know
	signIn  shared.SignIn // nil if nobody can
	api     http.Handler  // for admins

	must bool // whoever asks needs a token, even if there is no tenant

	bookState
	reservations
	admissions
	saving   sync.Mutex // held while the book learns what was spent: then it has all of it
	failures failures
	unserved unserved

	mu      sync.Mutex
	states  map[string]*tenantState
	leaving []*tenantState // that others have taken the place of; closed when nobody is in them
	tokenUse
}

// bookState is how the book is read.
type bookState struct {
	away    atomic.Pointer[error] // why it could never be read, nil once it was
	unread  atomic.Bool           // it could not be read when it was last tried
	reading sync.Mutex            // held while it is read
	asked   time.Time
	book    atomic.Pointer[reading] // nil until there is one
}

// reservations are those of this process in the book.
type reservations struct {
	process  string        // that reserves
	patience time.Duration // for that
	renewed  time.Time     // when they were
	unshared atomic.Int64  // until when none are made, as the book did not answer
}

// failures are those that the log repeats once a minute.
type failures struct{ read, save, used, renew, share *failure }

// tokenUse is when tokens were used; the lock of the tenants guards it.
type tokenUse struct {
	used  map[string]time.Time // by token: when it was noted
	unset map[string]time.Time // by token: what is not in the book yet
	reads map[string]time.Time // by person and session
}

// reading is the book of tenants as it was opened.
type reading struct{ tenant.Book }

// Tenants lets tenants share the relay, as the book beside the store names them. It is called
// before Start. If the book is in a database that does not answer, nobody gets in until it does.
// must says that other computers reach the listener: whoever asks needs a token, even if there is
// no tenant.
func (r *Relay) Tenants(ctx context.Context, must bool) error {
	d := &tenants{must: must, r: r, log: r.log, stores: source.TenantStores{App: r.app}, settle: make(chan struct{}, 1),
		reservations: reservations{process: rand.Text(), patience: bookPatience}, states: map[string]*tenantState{},
		tokenUse: tokenUse{map[string]time.Time{}, map[string]time.Time{}, map[string]time.Time{}},
		failures: newFailures()}
	d.known.Store(tenant.NewDirectory(0, nil, nil))
	if err := d.begin(ctx); err != nil {
		return err
	}
	if must && d.Away() == nil && d.Empty() && len(r.settings.Gateway.Clients) == 0 {
		r.log.Warn("there is no tenant yet, so nobody may ask: make one with winnowd tenant add NAME, and its token " +
			"with winnowd tenant token add NAME")
	}
	keys := readKeys(r.app, r.settings, nil)
	if err := unreadKeys(keys); err != nil {
		return err
	}
	d.keys.Store(&keys)
	if o := r.settings.Gateway.OIDC; o.Issuer != "" {
		secret, key, err := signInSecrets(r.app, o)
		if err != nil {
			return err
		}
		d.signIn = r.app.Shared.NewSignIn(o, secret, key, r.app.Env.Now, r.log)
	}
	if r.app.Shared.Missing == nil {
		d.api = r.app.Shared.NewAdmin(d.service, d.looked, r.log)
		r.tenants = d
	}
	return nil
}

// begin reads the book for the first time. A database that does not answer is asked again with
// every tick.
func (d *tenants) begin(ctx context.Context) error {
	d.r.mu.Lock()
	err := d.r.outage.err // it was waited for once
	d.r.mu.Unlock()
	if err == nil || !store.IsURL(source.BookAt(d.r.app)) {
		_, err = d.look(ctx, true)
	}
	if err == nil {
		return nil
	}
	if !IsAway(ctx, d.r.app, err) {
		return err
	}
	d.log.Error("nobody is served until it can be read who the tenants are", "error", err)
	d.away.Store(&err)
	return nil
}

// IsAway reports whether an error may be that of a database that does not answer now: not one of
// what the user wrote, nor of a file.
func IsAway(ctx context.Context, a *cli.App, err error) bool {
	return ctx.Err() == nil && !cli.IsMisuse(err) && store.IsURL(source.BookAt(a))
}

// Away implements serve.Authenticator.
func (d *tenants) Away() error {
	if err := d.away.Load(); err != nil {
		return *err
	}
	return nil
}

// look reads the book if it has changed, and reports whether it had.
func (d *tenants) look(ctx context.Context, always bool) (changed bool, err error) {
	d.reading.Lock()
	defer d.reading.Unlock()
	if now := d.r.app.Env.Now(); !always && now.Sub(d.asked) < askAgain && !now.Before(d.asked) {
		return false, nil
	} else {
		d.asked = now
	}
	b := d.book.Load()
	if b == nil {
		at := source.BookAt(d.r.app)
		if _, err := os.Stat(at); at == "" || !store.IsURL(at) && err != nil {
			return false, nil // nobody has made a tenant
		}
		made, err := source.OpenBook(ctx, d.r.app, source.Making)
		if err != nil {
			return false, err
		}
		b = &reading{made}
		d.book.Store(b)
	}
	number, err := b.Revision(ctx)
	if err != nil || number == d.known.Load().Revision() {
		return false, err
	}
	known, err := b.Directory(ctx)
	if err != nil {
		return false, err
	}
	d.known.Store(known)
	return true, nil
}

// Closed implements serve.Authenticator. Once there was a tenant the listener stays closed: otherwise
// the sessions of a removed tenant would be open to everybody.
func (d *tenants) Closed() bool { return d.must || d.known.Load().Revision() > 1 }

// Empty implements serve.Authenticator.
func (d *tenants) Empty() bool { return d.known.Load().Len() == 0 }

// Client implements serve.Authenticator.
func (d *tenants) Client(shown string) *serve.Client {
	now := d.r.app.Env.Now()
	t, by, ok := d.known.Load().Who(shown, now)
	if !ok {
		ctx, stop := context.WithTimeout(context.Background(), 5*time.Second)
		defer stop()
		if changed, err := d.look(ctx, false); err != nil || !changed {
			return nil
		}
		if t, by, ok = d.known.Load().Who(shown, now); !ok {
			return nil
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if now.Sub(d.used[by.ID]) >= usedEvery {
		d.used[by.ID], d.unset[by.ID] = now, now
	}
	return &serve.Client{Tenant: t.Name, Who: by.ID, Token: by.ID, Person: by.Owner, Scopes: by.Scopes}
}

// Viewer implements serve.Authenticator.
func (d *tenants) Viewer(r *http.Request) *serve.Client {
	if d.signIn == nil {
		return nil
	}
	g := d.signIn.Viewer(r)
	if g == nil {
		return nil
	}
	t, ok := d.known.Load().Tenant(g.Tenant)
	if !ok || g.Since.Before(t.Created.Truncate(time.Second)) { // it was for one that had this name before
		return nil
	}
	return g
}

// SignIn implements serve.Authenticator.
func (d *tenants) SignIn() http.Handler {
	if d.signIn == nil {
		return nil // and not a nil that is one
	}
	return d.signIn
}

// Others implements serve.Authenticator.
func (d *tenants) Others() []string { return slices.Sorted(maps.Keys(d.known.Load().Tenants())) }

// mostLinks is how many tenants a page leads to; the list of all has the others.
const mostLinks = 20

// links lead who may see all tenants to their pages.
func (d *tenants) links(r *http.Request) (all []live.Link) {
	g := serve.ClientOf(r.Context())
	if g == nil || !g.Scopes.Has(tenant.Admin) {
		return nil
	}
	up := "~t/"
	if g.Elsewhere { // the page stands at /~t/NAME/
		up = "../"
	}
	all = append(all, live.Link{Name: "all tenants", To: cmp.Or(strings.TrimSuffix(up, "../"), "../")})
	names := d.Others()
	if len(names) > mostLinks {
		return all
	}
	for _, name := range names {
		all = append(all, live.Link{Name: name, To: up + name + "/", Here: name == g.Tenant})
	}
	return all
}

// Metrics implements serve.Authenticator.
func (d *tenants) Metrics() map[string]serve.Metrics {
	d.mu.Lock()
	defer d.mu.Unlock()
	all := make(map[string]serve.Metrics, len(d.states))
	for store, m := range d.states {
		if t, ok := d.known.Load().OfStore(store); ok {
			all[t.Name] = m.metrics
		}
	}
	return all
}

// Enter implements serve.Authenticator.
func (d *tenants) Enter(ctx context.Context, g *serve.Client, relayed bool) (*serve.Access, *tenant.Refusal, error) {
	now := d.r.app.Env.Now()
	known := d.known.Load()
	t, ok := known.Tenant(g.Tenant)
	if !ok || !known.Admits(t.Store, g.Token, now) { // another one may have its name now
		d.log.Warn("refused: the tenant was removed, or the token revoked, meanwhile", "tenant", g.Tenant)
		return nil, nil, errors.New("the tenant was removed, or the token was revoked")
	}
	m, f, err := d.open(ctx, t)
	if d.unserved.note(ctx, d.log, now, t.Name, err); err != nil {
		return nil, nil, err
	}
	ctx, ended := d.admit(ctx, g, t.Store)
	left := sync.OnceFunc(func() { ended(); m.leave(f) })
	access := &serve.Access{Context: ctx, Carrier: f.carrier, Metrics: m.metrics, Page: f.page, MCP: f.recall,
		Keys: d.keysOf(t), Allows: t.AllowsRoute, Counted: t.Metered(), Leave: left}
	if !relayed {
		return access, nil, nil
	}
	if v := m.gate.Person(g.Payer()).Verdict(now); v != nil && v.Stop {
		left()
		m.metrics.Refused("budget")
		return nil, &tenant.Refusal{Kind: "budget", Message: v.Message(), After: v.Begins.Sub(now), Verdict: v,
			Person: g.Payer()}, nil
	}
	pass, refused := m.gate.Enter(now)
	if refused != nil {
		left()
		m.metrics.Refused(refused.Kind)
		return nil, refused, nil
	}
	if access.Warning = pass.Warning; pass.First {
		d.log.Warn("budget: "+pass.Warning.Message(), "tenant", t.Name)
	}
	access.Leave = func() { pass.Leave(); left() }
	return access, nil, nil
}

// settled says that something may have been spent.
func (d *tenants) settled() {
	select {
	case d.settle <- struct{}{}:
	default:
	}
}
