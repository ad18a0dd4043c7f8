package gateway

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
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
	"github.com/winnowhq/winnow/desk/config"
	"github.com/winnowhq/winnow/gateway/live"
	"github.com/winnowhq/winnow/gateway/serve"
	"github.com/winnowhq/winnow/gateway/tenant"
	"github.com/winnowhq/winnow/gateway/transport"
	"github.com/winnowhq/winnow/plan/policy"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/token"
)

const (
	// idleRoom is after how long without a request a tenant's store is closed: longer than any
	// provider's cache lasts.
	idleRoom = 2 * time.Hour
	// mostRooms is how many tenants are at hand at a time; of more the one that nobody has asked
	// for longest goes, if nothing of it is under way.
	mostRooms = 200
	// mostShares bounds into how many parts gateway.memory is divided.
	mostShares = 16
	leastShare = 16 << 20 // bytes
	// usedEvery is how often it is noted that a token was used.
	usedEvery = time.Minute
	// readAgain is how often one session that the same person looks at is noted.
	readAgain = time.Hour
	// askAgain is how often an unknown token makes the book be read: it may be new.
	askAgain = time.Second
)

// tenants are those who share a gateway. They are its door.
type tenants struct {
	r       *Relay
	log     *slog.Logger
	version atomic.Int64 // of the gateway's settings
	known   atomic.Pointer[tenant.Directory]
	stores  source.TenantStores
	keys    atomic.Pointer[map[string]heldKey]
	settle  chan struct{} // something was spent that the book does not know
	signIn  http.Handler
	visitor func(*http.Request) *serve.Guest

	away atomic.Pointer[error] // why the book could never be read, nil once it was
	must bool                  // who asks needs a token even if there is no tenant

	reading sync.Mutex // held while the book is read
	asked   time.Time
	book    atomic.Pointer[reading] // nil until there is one

	process  string        // that reserves in the book
	patience time.Duration // for that
	renewed  time.Time     // when the reservations were
	unshared atomic.Int64  // until when reservations are not made in the book, which did not answer

	saving sync.Mutex // held while the book learns what was spent: then it has all of it

	mu      sync.Mutex
	rooms   map[string]*room
	leaving []*room              // that others have taken the place of; closed when nobody is in them
	used    map[string]time.Time // by token: when it was noted
	unset   map[string]time.Time // by token: what is not in the book yet
	reads   map[string]time.Time // by person and session
}

// reading is the book of tenants as it was opened.
type reading struct{ tenant.Book }

// Tenants lets tenants share the relay, as the book beside the store names them. It is called
// before Start. If the book is in a database that does not answer, nobody gets in until it does.
// must says that the listener is open to others and has no other tokens: without a tenant nobody
// gets in.
func (r *Relay) Tenants(ctx context.Context, must bool) error {
	d := &tenants{must: must, r: r, process: rand.Text(), patience: bookPatience, log: r.log,
		stores: source.TenantStores{App: r.app}, settle: make(chan struct{}, 1),
		rooms: map[string]*room{}, used: map[string]time.Time{},
		unset: map[string]time.Time{}, reads: map[string]time.Time{}}
	d.known.Store(tenant.NewDirectory(0, nil, nil))
	if err := d.begin(ctx); err != nil {
		return err
	}
	if err := d.readKeys(r.settings); err != nil {
		return err
	}
	if o := r.settings.Gateway.OIDC; o.Issuer != "" {
		if r.app.Shared.Missing != nil {
			return cli.Usage("gateway.oidc is for winnowd serve")
		}
		secret, key, err := signInSecrets(o)
		if err != nil {
			return err
		}
		in := r.app.Shared.NewSignIn(o, secret, key, r.app.Env.Now, r.log)
		d.signIn, d.visitor = in, in.Visitor
	}
	if r.app.Shared.Missing == nil {
		r.tenants = d
	}
	return nil
}

// begin reads the book for the first time. A database that does not answer is asked again with
// every tick.
func (d *tenants) begin(ctx context.Context) error {
	d.r.mu.Lock()
	err := d.r.lacks.err // it was waited for once
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

// Away implements serve.Door.
func (d *tenants) Away() error {
	if err := d.away.Load(); err != nil {
		return *err
	}
	return nil
}

// HasTenants reports whether a gateway on this store asks everybody for a tenant's token.
func HasTenants(ctx context.Context, a *cli.App) (bool, error) {
	b, err := source.OpenBook(ctx, a, source.Changing)
	if errors.Is(err, source.ErrNoStore) || source.BookAt(a) == "" {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer b.Close()
	number, err := b.Revision(ctx)
	return number > 1, err
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
		made, err := source.OpenBook(ctx, d.r.app, source.Changing)
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

// Closed implements serve.Door. Where there was ever a tenant it stays closed, or what belongs to
// nobody any more would be everybody's.
func (d *tenants) Closed() bool { return d.must || d.known.Load().Revision() > 1 }

// Guest implements serve.Door.
func (d *tenants) Guest(shown string) *serve.Guest {
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
	return &serve.Guest{Tenant: t.Name, Who: by.ID, Scopes: by.Scopes}
}

// Visitor implements serve.Door.
func (d *tenants) Visitor(r *http.Request) *serve.Guest {
	if d.visitor == nil {
		return nil
	}
	g := d.visitor(r)
	if g == nil {
		return nil
	}
	if _, ok := d.known.Load().Tenant(g.Tenant); !ok {
		return nil
	}
	return g
}

// SignIn implements serve.Door.
func (d *tenants) SignIn() http.Handler { return d.signIn }

// Others implements serve.Door.
func (d *tenants) Others() []string { return slices.Sorted(maps.Keys(d.known.Load().Tenants())) }

// mostLinks is how many tenants a page leads to; the list of all has the others.
const mostLinks = 20

// links lead who may see all tenants to their pages.
func (d *tenants) links(r *http.Request) (all []live.Link) {
	g := serve.GuestOf(r.Context())
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

// Metrics implements serve.Door.
func (d *tenants) Metrics() map[string]serve.Metrics {
	d.mu.Lock()
	defer d.mu.Unlock()
	all := make(map[string]serve.Metrics, len(d.rooms))
	for name, m := range d.rooms {
		all[name] = m.metrics
	}
	return all
}

// Enter implements serve.Door.
func (d *tenants) Enter(ctx context.Context, g *serve.Guest, relayed bool) (*serve.Stay, *tenant.Refusal, error) {
	now := d.r.app.Env.Now()
	t, ok := d.known.Load().Tenant(g.Tenant)
	if !ok {
		return nil, nil, errors.New("the tenant was removed")
	}
	m, f, err := d.open(ctx, t)
	if err != nil {
		return nil, nil, err
	}
	left := sync.OnceFunc(func() { m.leave(f, d.r.app.Env.Now(), d.failed) })
	stay := &serve.Stay{Carrier: f.carrier, Metrics: m.metrics, Page: f.page, MCP: f.recall, Keys: d.keysOf(t),
		Counted: t.Budget.Limited(), Leave: left}
	if !relayed {
		return stay, nil, nil
	}
	pass, refused := m.gate.Enter(now)
	if refused != nil {
		left()
		return nil, refused, nil
	}
	if stay.Warning = pass.Warning; pass.First {
		d.log.Warn("budget: "+pass.Warning.Message(), "tenant", t.Name)
	}
	stay.Leave = func() { pass.Leave(); left() }
	return stay, nil, nil
}

// failed logs that something could not be closed.
func (d *tenants) failed(err error) { d.log.Error("closing", "why", err) }

// settled says that something may have been spent.
func (d *tenants) settled() {
	select {
	case d.settle <- struct{}{}:
	default:
	}
}

// open enters the room of a tenant, which is opened and furnished as its settings say now.
func (d *tenants) open(ctx context.Context, t tenant.Tenant) (*room, *furniture, error) {
	for {
		d.mu.Lock()
		m := d.rooms[t.Name]
		if m == nil {
			m = d.room(t)
			d.rooms[t.Name] = m
		}
		d.mu.Unlock()
		f, closed, err := d.furnished(ctx, m, t)
		if err != nil {
			return nil, nil, err
		}
		if !closed {
			return m, f, nil
		}
		// it was closed since; there is another one
		d.mu.Lock()
		if d.rooms[t.Name] == m {
			delete(d.rooms, t.Name)
		}
		d.mu.Unlock()
	}
}

func (d *tenants) room(t tenant.Tenant) *room {
	m := &room{name: t.Name, gate: tenant.NewGate(t), tell: d.settled, last: d.r.app.Env.Now()}
	m.metrics = d.r.app.Shared.NewMetrics(m.totals, true)
	return m
}

// furnished enters a room, and furnishes it first where that is due.
func (d *tenants) furnished(ctx context.Context, m *room, t tenant.Tenant) (f *furniture, closed bool, err error) {
	m.making.Lock()
	defer m.making.Unlock()
	if m.closed {
		return nil, true, nil
	}
	d.r.mu.Lock()
	version := d.version.Load()
	settings, mode := d.r.now.settings, d.r.now.wanted
	d.r.mu.Unlock()
	capture := cmp.Or(t.Capture, settings.Gateway.Capture)
	if m.store != nil && capture != m.capture {
		d.retire(m, t)
		return nil, true, nil
	}
	m.mu.Lock()
	current := m.now
	m.mu.Unlock()
	if current != nil && current.version == version && same(current.tenant, t) {
		return m.enter(d.r.app.Env.Now()), false, nil
	}
	if m.store == nil {
		if err := d.unlock(ctx, m, t, settings, capture); err != nil {
			return nil, false, err
		}
	}
	share := settings.Gateway.Memory / min(max(d.known.Load().Len(), 1), mostShares)
	f, err = m.furnish(d.r, t, version, settings, mode, max(share, leastShare), d.audit(m.name))
	if err != nil {
		return nil, false, err
	}
	m.gate.Set(t)
	m.replace(f, d.failed)
	return m.enter(d.r.app.Env.Now()), false, nil
}

// retire puts a new room in the place of one whose store is to keep other things from now on. What
// is under way in the old one ends as it began.
func (d *tenants) retire(m *room, t tenant.Tenant) {
	d.mu.Lock()
	if d.rooms[t.Name] == m {
		next := d.room(t)
		next.gate = m.gate
		d.rooms[t.Name], d.leaving = next, append(d.leaving, m)
	}
	d.mu.Unlock()
	m.pages((*live.Hub).End)
}

// same reports whether two versions of a tenant are the same.
func same(a, b tenant.Tenant) bool {
	return maps.Equal(a.Keys, b.Keys) && a.Limits == b.Limits && a.Budget == b.Budget && a.Retention == b.Retention &&
		a.Capture == b.Capture && a.Mode == b.Mode
}

// unlock opens the store of a room, and learns what was spent. making is locked.
func (d *tenants) unlock(ctx context.Context, m *room, t tenant.Tenant, settings config.Settings,
	capture string) error {
	kept, err := d.stores.Open(ctx, t.Name)
	if err != nil {
		return err
	}
	now := d.r.app.Env.Now()
	if err := d.learn(ctx, m, kept, now); err != nil {
		kept.Close()
		return err
	}
	d.r.inTransaction(kept)
	m.store, m.capture = kept, capture
	if capture == config.CaptureNone {
		m.store = transport.Withhold(kept, max(settings.Gateway.Memory/2/mostShares, leastShare))
	}
	m.calibrated = nil
	if settings.Counter == "auto" && settings.Policy == policy.Balanced {
		m.calibrated = token.NewCalibrated("auto", token.Linear{})
	}
	if settings.Gateway.Page {
		hub := live.NewHub(capture == config.CaptureNone, now)
		m.mu.Lock()
		m.hub = hub
		m.mu.Unlock()
	}
	return nil
}

// learn tells the gate what was spent in this month: what the book knows, and what the sessions
// know beyond that, should a process have been killed before it told the book.
func (d *tenants) learn(ctx context.Context, m *room, kept store.Store, now time.Time) error {
	if err := d.rollUp(ctx, m.name, kept, now); err != nil {
		return err
	}
	known, err := d.book.Load().Spent(ctx, m.name, now)
	if err == nil {
		m.gate.Learn(known, now)
	}
	return err
}

func millis(t time.Time) session.Millis { return session.Millis(t.UnixMilli()) }

// audit notes what somebody does with a tenant's sessions, before it is done: what cannot be noted
// is not done. That somebody looks at a session is noted once an hour.
func (d *tenants) audit(name string) func(context.Context, live.Deed) error {
	return func(ctx context.Context, deed live.Deed) error {
		e := tenant.Entry{Tenant: name, Did: deed.Did, Session: deed.Session, What: deed.What}
		if g := serve.GuestOf(ctx); g != nil {
			e.Who = g.Who
		}
		if deed.Did == "read" {
			key, now := e.Who+"\x00"+name+"\x00"+deed.Session, d.r.app.Env.Now()
			d.mu.Lock()
			before := d.reads[key]
			fresh := now.Sub(before) < readAgain
			if len(d.reads) > 10_000 {
				clear(d.reads)
			}
			d.mu.Unlock()
			if fresh {
				return nil
			}
			defer func() {
				d.mu.Lock()
				d.reads[key] = now
				d.mu.Unlock()
			}()
		}
		return d.book.Load().Audit(ctx, e)
	}
}

// run keeps the book until the context ends: it is read again when it has changed, learns what was
// spent and which tokens were used, and rooms that nobody uses are closed.
func (d *tenants) run(ctx context.Context) {
	ticker := time.NewTicker(2 * time.Second)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-d.settle:
			d.save(ctx)
		case <-ticker.C:
			d.tick(ctx)
		}
	}
}

// tick does what is due now and then.
func (d *tenants) tick(ctx context.Context) {
	changed, err := d.look(ctx, true)
	if err == nil && d.away.Swap(nil) != nil {
		d.log.Info("it can be read again who the tenants are")
	}
	switch {
	case err != nil && ctx.Err() == nil && d.away.Load() != nil:
		return // it was said before
	case err != nil && ctx.Err() == nil:
		d.log.Error("the book of tenants cannot be read; what is known stays in force", "why", err)
		return
	case changed:
		d.log.Info("the tenants were read again", "tenants", d.known.Load().Len())
	}
	if d.book.Load() == nil {
		return
	}
	d.r.mu.Lock()
	settings := d.r.now.settings
	d.r.mu.Unlock()
	if err := d.readKeys(settings); err != nil { // a file may have another key now
		d.log.Error("the keys cannot be read; those that are known stay in force", "why", err)
	}
	d.save(ctx)
	now := d.r.app.Env.Now()
	d.renew(ctx, now)
	d.mu.Lock()
	used := d.unset
	d.unset = map[string]time.Time{}
	d.mu.Unlock()
	if err := d.book.Load().Used(ctx, used); err != nil {
		d.log.Error("when tokens were used cannot be noted", "why", err)
	}
	for _, m := range d.all() {
		known, err := d.book.Load().Spent(ctx, m.name, now) // other processes spend, too
		if err == nil {
			m.gate.Learn(known, now)
		}
	}
	d.tidy(now)
}

func (d *tenants) all() []*room {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.AppendSeq(slices.Clone(d.leaving), maps.Values(d.rooms))
}

// save hands what was spent to the book. It is not broken off in the middle: then nobody would know
// what the book has.
func (d *tenants) save(ctx context.Context) {
	d.saving.Lock()
	defer d.saving.Unlock()
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer stop()
	for _, m := range d.all() {
		if err := m.save(ctx, d.book.Load()); err != nil {
			d.log.Error("what was spent cannot be noted yet", "tenant", m.name, "why", err)
		}
	}
}

// tidy closes the rooms that nobody has used for long, those of tenants that were removed, and of
// too many the ones that were used last.
func (d *tenants) tidy(now time.Time) {
	rooms := d.all()
	slices.SortFunc(rooms, func(a, b *room) int {
		first, _ := a.idle()
		second, _ := b.idle()
		return first.Compare(second)
	})
	for i, m := range rooms {
		since, idle := m.idle()
		_, there := d.known.Load().Tenant(m.name)
		if !there {
			m.pages((*live.Hub).End)
		}
		d.mu.Lock()
		replaced := slices.Contains(d.leaving, m)
		d.mu.Unlock()
		if idle && (!there || replaced || now.Sub(since) >= idleRoom || len(rooms)-i > mostRooms) {
			d.drop(m)
		}
	}
}

// drop closes a room if nobody is in it.
func (d *tenants) drop(m *room) {
	m.making.Lock()
	_, idle := m.idle()
	m.mu.Lock()
	unsaved := len(m.unsaved) + len(m.settled)
	m.mu.Unlock()
	if idle && unsaved == 0 {
		m.closed = true
		m.shut(d.failed)
	}
	gone := m.closed
	m.making.Unlock()
	if gone {
		d.mu.Lock()
		if d.rooms[m.name] == m {
			delete(d.rooms, m.name)
		}
		d.leaving = slices.DeleteFunc(d.leaving, func(other *room) bool { return other == m })
		d.mu.Unlock()
	}
}

// expire deletes the conversations of a tenant that are older than its retention, or the gateway's
// if it has none.
func (d *tenants) expire(ctx context.Context, name string, now time.Time) error {
	t, ok := d.known.Load().Tenant(name)
	if !ok {
		return nil // it was removed
	}
	age := time.Duration(t.Retention) * 24 * time.Hour
	if age == 0 {
		d.r.mu.Lock()
		own := d.r.now.settings.Gateway.Retention
		d.r.mu.Unlock()
		var limited bool
		if age, limited = config.Expires(own); !limited {
			return nil
		}
	}
	d.mu.Lock()
	_, present := d.rooms[name]
	d.mu.Unlock()
	m, f, err := d.open(ctx, t)
	if err != nil {
		return fmt.Errorf("open the store of %s: %w", name, err)
	}
	deleted, err := expire(ctx, m.store, age, now)
	m.leave(f, d.r.app.Env.Now(), d.failed)
	if !present { // not to have all of them open at a time
		d.drop(m)
	}
	if deleted > 0 {
		d.log.Info("deleted old conversations", "tenant", name, "sessions", deleted)
	}
	if err != nil {
		return fmt.Errorf("delete old conversations of %s: %w", name, err)
	}
	return nil
}

// pages ends the streams of all pages.
func (d *tenants) pages() {
	for _, m := range d.all() {
		m.pages((*live.Hub).Close)
	}
}

// quiet ends what is sent of our own.
func (d *tenants) quiet() {
	for _, m := range d.all() {
		m.mu.Lock()
		f := m.now
		m.mu.Unlock()
		if f != nil {
			f.carrier.Close()
		}
	}
}

// close closes everything; nothing is under way.
func (d *tenants) close() {
	for _, m := range d.all() {
		m.close(d.failed) // waits for what is being recorded
	}
	if err := d.stores.Close(); err != nil {
		d.failed(err)
	}
	if d.book.Load() == nil {
		return
	}
	ctx, stop := context.WithTimeout(context.Background(), 10*time.Second)
	defer stop()
	d.save(ctx)
	d.mu.Lock()
	used := d.unset
	d.mu.Unlock()
	if err := d.book.Load().Used(ctx, used); err != nil {
		d.log.Error("when tokens were used cannot be noted", "why", err)
	}
	if err := d.book.Load().Close(); err != nil {
		d.failed(err)
	}
}
