package gateway

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/desk/config"
	"github.com/winnowhq/winnow/gateway/live"
	"github.com/winnowhq/winnow/gateway/serve"
	"github.com/winnowhq/winnow/gateway/tenant"
	"github.com/winnowhq/winnow/gateway/transport"
	"github.com/winnowhq/winnow/model"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/token"
)

// room is everything that one tenant has of a gateway while it asks: a store, a transport, a hub.
// Nothing in it is shared with another tenant.
type room struct {
	name    string
	gate    *tenant.Gate
	tell    func() // that something was spent
	metrics serve.Metrics

	making     sync.Mutex // held while it is opened, furnished or closed
	store      store.Store
	capture    string // with which the store was opened
	calibrated *token.Calibrated
	closed     bool

	mu      sync.Mutex
	hub     *live.Hub                 // nil before it is opened, and if there is no page
	now     *furniture                // nil before it is opened
	under   int                       // requests and streams that are in it
	last    time.Time                 // when one came or went
	unsaved map[string]tenant.Expense // by day, what the book does not know yet
	settled []string                  // reservations that the book can forget with it
}

// furniture is what carries the requests of a tenant until its settings change.
type furniture struct {
	settings config.Settings
	tenant   tenant.Tenant
	mode     transport.Mode
	version  int64 // of the gateway's settings
	engine   *winnow.Engine
	carrier  *transport.Transport
	page     http.Handler
	recall   http.Handler // nil if nothing is kept
	under    int
	over     bool
}

// settingsOf are the settings of the gateway as they are for a tenant.
func settingsOf(settings config.Settings, mode transport.Mode, t tenant.Tenant) (config.Settings, transport.Mode) {
	if t.Mode != "" {
		mode = transport.Mode(t.Mode)
	}
	if t.Budget.Limited() && mode == transport.Off {
		mode = transport.Observe // in the mode off nothing is counted
	}
	if t.Capture != "" {
		settings.Gateway.Capture = t.Capture
	}
	return settings, mode
}

// spent counts what was spent at a time, for which there may have been a reservation in the book.
func (m *room) spent(e tenant.Expense, at time.Time, reservation string) {
	if e == (tenant.Expense{}) && reservation == "" {
		return
	}
	m.gate.Spend(e.Dollars, at)
	defer m.tell()
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.unsaved == nil {
		m.unsaved = map[string]tenant.Expense{}
	}
	if day := tenant.DayOf(at); e != (tenant.Expense{}) {
		m.unsaved[day] = m.unsaved[day].Plus(e)
	}
	if reservation != "" {
		m.settled = append(m.settled, reservation)
	}
}

// watch counts what a request cost, unless a budget has it metered, and shows it.
func (m *room) watch(n transport.Notice, metered bool) {
	if n.Spent != nil && n.Spent.Live != nil && !metered {
		m.spent(tenant.Expense{Dollars: float64(n.Spent.Live.Billed), Requests: 1}, time.UnixMilli(int64(n.Spent.Time)), "")
	}
	if n.Receipt != nil && !n.Receipt.Prepared { // what was prepared is paid for already
		m.spent(tenant.Expense{Dollars: n.Receipt.Cost}, n.Time, "")
	}
	m.pages(func(h *live.Hub) { h.Watch(n) })
}

// pages does something with what pages show, if there is any.
func (m *room) pages(do func(*live.Hub)) {
	m.mu.Lock()
	hub := m.hub
	m.mu.Unlock()
	if hub != nil {
		do(hub)
	}
}

// enter keeps the furniture that is there until leave.
func (m *room) enter(now time.Time) *furniture {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.under++
	m.last = now
	m.now.under++
	return m.now
}

// leave lets it go; what was replaced meanwhile is ended by the last one.
func (m *room) leave(f *furniture, now time.Time, log func(error)) {
	m.mu.Lock()
	m.under--
	m.last = now
	f.under--
	last := f.over && f.under == 0
	m.mu.Unlock()
	if last {
		f.end(log)
	}
}

// end ends what carries no request any more.
func (f *furniture) end(log func(error)) {
	if f.engine == nil {
		return
	}
	f.carrier.Wait()
	if err := f.engine.Close(); err != nil {
		log(err)
	}
}

// replace puts other furniture in, and ends the one before when nobody uses it.
func (m *room) replace(f *furniture, log func(error)) {
	m.mu.Lock()
	old := m.now
	m.now = f
	idle := old != nil && old.under == 0
	if old != nil {
		old.over = true
	}
	m.mu.Unlock()
	if idle {
		old.end(log)
	}
	if old != nil {
		m.pages((*live.Hub).End) // streams would keep the old one
	}
}

// idle reports whether nothing is in it, and since when.
func (m *room) idle() (since time.Time, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.last, m.under == 0
}

// save hands what was spent to the book. What the book does not take is kept.
func (m *room) save(ctx context.Context, b tenant.Book) error {
	m.mu.Lock()
	unsaved, settled := m.unsaved, m.settled
	m.unsaved, m.settled = nil, nil
	m.mu.Unlock()
	if len(unsaved)+len(settled) == 0 {
		return nil
	}
	err := b.Settle(ctx, m.name, unsaved, settled)
	if err == nil {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.unsaved == nil {
		m.unsaved = map[string]tenant.Expense{}
	}
	for day, e := range unsaved {
		m.unsaved[day] = m.unsaved[day].Plus(e)
	}
	m.settled = append(m.settled, settled...)
	return err
}

// close ends everything. Nobody is in it.
func (m *room) close(log func(error)) {
	m.making.Lock()
	defer m.making.Unlock()
	if m.closed {
		return
	}
	m.closed = true
	m.shut(log)
}

// shut ends what is open. making is locked.
func (m *room) shut(log func(error)) {
	m.pages((*live.Hub).Close)
	m.mu.Lock()
	f := m.now
	m.now = nil
	m.mu.Unlock()
	if f != nil {
		f.carrier.Close()
		f.end(log)
	}
	if m.store != nil {
		if err := m.store.Close(); err != nil {
			log(err)
		}
		m.store = nil
	}
}

// totals are what was done for the tenant since the room was opened.
func (m *room) totals() transport.Totals {
	m.mu.Lock()
	f := m.now
	m.mu.Unlock()
	if f == nil {
		return transport.Totals{}
	}
	return f.carrier.Totals()
}

// furnish makes what carries the requests of a tenant. making is locked.
func (m *room) furnish(r *Relay, t tenant.Tenant, version int64, settings config.Settings, mode transport.Mode,
	share int, audit func(context.Context, live.Deed) error) (*furniture, error) {
	settings, mode = settingsOf(settings, mode, t)
	settings.Gateway.Memory = share
	f := &furniture{settings: settings, tenant: t, mode: mode, version: version}
	var err error
	if mode != transport.Off {
		if f.engine, err = r.engine(settings, mode, m.store, m.calibrated); err != nil {
			return nil, err
		}
	}
	o := r.options(settings, mode, m.store)
	o.Recall = false // the tenant's computer does not have this store
	if f.engine != nil && !withholds(m.store) {
		f.recall, o.RecallTool = recalling(r.app.Version, f.engine, audit), true
	}
	metered := t.Budget.Limited()
	o.Watch = func(n transport.Notice) { m.watch(n, metered) }
	if metered {
		o.Reserve = r.tenants.reserving(m)
	}
	o.Prepare = r.preparing(m.name, m.store, f.engine, func(cost float64, at time.Time) {
		m.spent(tenant.Expense{Dollars: cost}, at, "")
	})
	if m.hub != nil && settings.Gateway.Page {
		f.page = live.New(m.hub, live.Config{Engine: f.engine, Mode: string(mode), Modes: Modes(),
			Models: settings.Catalogue(model.Default()), Now: r.app.Env.Now, Audit: audit, Others: r.tenants.links,
			Budget: func() string { return m.budget(r.app.Env.Now()) },
			Tenant: func(*http.Request) string { return m.name }})
	}
	m.mu.Lock()
	before := m.now
	m.mu.Unlock()
	if before != nil {
		f.carrier = before.carrier.Changed(f.engine, o)
	} else {
		f.carrier = transport.New(f.engine, o)
	}
	return f, nil
}

// budget is what the budget says, in words for the page.
func (m *room) budget(now time.Time) string {
	if v := m.gate.Verdict(now); v != nil {
		return v.Message()
	}
	return ""
}
