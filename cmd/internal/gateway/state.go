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
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/token"
)

// tenantState is everything that one tenant has of a gateway while it asks, or the person whose
// gateway it is: a store, a transport, a hub. Nothing in it is shared with another tenant.
type tenantState struct {
	name    string       // of its store; "" of a person
	cleared int64        // tenant.Cleared when it was made
	gate    *tenant.Gate // nil of a person, as is tell
	tell    func()       // that something was spent
	metrics serve.Metrics
	clock   func() time.Time
	failed  func(error) // logs that something could not be closed

	making     sync.Mutex        // held while it is opened, built or closed
	store      store.Store       // nil until one is needed; of a person set with mu held
	capture    string            // with which the store was opened
	calibrated *token.Calibrated // nil if the counter does not learn
	closed     bool

	mu      sync.Mutex
	hub     *live.Hub                         // nil before it is opened, and if there is no page
	now     *tenantRuntime                    // nil before it is opened
	under   int                               // requests and streams that are in it
	last    time.Time                         // when one came or went
	unsaved map[tenant.Spender]tenant.Expense // what the book does not know yet
	settled []string                          // reservations that the book can forget with it
}

// tenantRuntime is what carries requests until the settings change. Its fields but the last two do
// not change once it carries any.
type tenantRuntime struct {
	settings config.Settings
	tenant   tenant.Tenant // the zero value of a person
	mode     transport.Mode
	version  int64          // of the gateway's settings
	engine   *winnow.Engine // nil in mode off
	carrier  *transport.Transport
	page     http.Handler
	recall   http.Handler // the tools that get back what was left out; nil if nothing is kept
	*routes               // nil of a tenant
	under    int          // requests that it carries; guarded by its tenant's state, as the next one
	over     bool         // another one has taken its place
}

// routes are where a listener leads to.
type routes struct {
	wanted     transport.Mode // mode, unless the store could not be opened
	handler    http.Handler
	monitoring http.Handler    // figures and probes, for an address of their own
	aside      []string        // upstreams that are a winnow themselves
	passed     map[string]bool // their hosts
}

// settingsOf are the settings of the gateway as they are for a tenant.
func settingsOf(settings config.Settings, mode transport.Mode, t tenant.Tenant) (config.Settings, transport.Mode) {
	if t.Mode != "" {
		mode = transport.Mode(t.Mode)
	}
	if t.Metered() && mode == transport.Off {
		mode = transport.Observe // in the mode off nothing is counted
	}
	if t.Capture != "" {
		settings.Gateway.Capture = t.Capture
	}
	return settings, mode
}

// spent counts what was spent at a time, for which there may have been a reservation in the book.
func (m *tenantState) spent(who string, e tenant.Expense, at time.Time, reservation string) {
	if m.gate == nil || e == (tenant.Expense{}) && reservation == "" {
		return
	}
	m.gate.Spend(e.Dollars, at)
	if who != "" {
		m.gate.Person(who).Spend(e.Dollars, at)
	}
	defer m.tell()
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.unsaved == nil {
		m.unsaved = map[tenant.Spender]tenant.Expense{}
	}
	if by := (tenant.Spender{Day: tenant.DayOf(at), Person: who}); e != (tenant.Expense{}) {
		m.unsaved[by] = m.unsaved[by].Plus(e)
	}
	if reservation != "" {
		m.settled = append(m.settled, reservation)
	}
}

// charge counts what was spent on what no client asked for.
func (m *tenantState) charge(cost float64, at time.Time) {
	m.spent("", tenant.Expense{Dollars: cost}, at, "")
}

// watch counts what a request cost, unless a budget has it metered, and shows it.
func (m *tenantState) watch(n transport.Notice, metered bool) {
	if n.Spent != nil && n.Spent.Live != nil && !metered {
		m.spent(n.Spent.Live.Person, tenant.Expense{Dollars: float64(n.Spent.Live.Billed), Requests: 1},
			time.UnixMilli(int64(n.Spent.Time)), "")
	}
	if n.Receipt != nil && !n.Receipt.Prepared { // what was prepared is paid for already
		m.charge(n.Receipt.Cost, n.Time)
	}
	m.pages(func(h *live.Hub) { h.Watch(n) })
}

// pages does something with what pages show, if there is any.
func (m *tenantState) pages(do func(*live.Hub)) {
	m.mu.Lock()
	hub := m.hub
	m.mu.Unlock()
	if hub != nil {
		do(hub)
	}
}

// enter keeps the runtime that is there until leave.
func (m *tenantState) enter() *tenantRuntime {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.under++
	m.last = m.clock()
	m.now.under++
	return m.now
}

// hold keeps a runtime that carries a request for what goes on beside it, until leave.
func (m *tenantState) hold(f *tenantRuntime) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.under++
	f.under++
}

// leave lets it go; what was replaced meanwhile is ended by the last one.
func (m *tenantState) leave(f *tenantRuntime) {
	m.mu.Lock()
	m.under--
	m.last = m.clock()
	f.under--
	last := f.over && f.under == 0
	m.mu.Unlock()
	if last {
		f.end(m.failed)
	}
}

// end ends what carries no request any more.
func (f *tenantRuntime) end(log func(error)) {
	if f.engine == nil {
		return
	}
	f.carrier.Wait()
	if err := f.engine.Close(); err != nil {
		log(err)
	}
}

// replace puts another runtime in. The one before ends when nobody uses it: if nobody does now, when
// the caller calls ended, which may have to wait for the store.
func (m *tenantState) replace(f *tenantRuntime) (ended func()) {
	m.mu.Lock()
	old := m.now
	m.now = f
	idle := old != nil && old.under == 0
	if old != nil {
		old.over = true
	}
	m.mu.Unlock()
	if old != nil {
		m.pages((*live.Hub).End) // streams would keep the old one
	}
	return func() {
		if idle {
			old.end(m.failed)
		}
	}
}

// idle reports whether nothing is in it or still to be recorded, and since when.
func (m *tenantState) idle() (since time.Time, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.last, m.under == 0 && (m.now == nil || !m.now.carrier.Busy())
}

// owes reports whether the book does not know yet all that was spent.
func (m *tenantState) owes() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.unsaved)+len(m.settled) > 0
}

// save hands what was spent to the book. What the book does not take is kept.
func (m *tenantState) save(ctx context.Context, b tenant.Book) error {
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
		m.unsaved = map[tenant.Spender]tenant.Expense{}
	}
	for by, e := range unsaved {
		m.unsaved[by] = m.unsaved[by].Plus(e)
	}
	m.settled = append(m.settled, settled...)
	return err
}

// close ends everything. Nobody is in it.
func (m *tenantState) close() {
	m.making.Lock()
	defer m.making.Unlock()
	if m.closed {
		return
	}
	m.closed = true
	m.shut()
}

// shut ends what is open. making is locked.
func (m *tenantState) shut() {
	m.pages((*live.Hub).Close)
	m.mu.Lock()
	f := m.now
	m.now = nil
	m.mu.Unlock()
	if f != nil {
		f.carrier.Close()
		f.end(m.failed)
	}
	if m.store != nil {
		if err := m.store.Close(); err != nil {
			m.failed(err)
		}
		m.store = nil
	}
}

// totals are what was done for the tenant since it was opened.
func (m *tenantState) totals() transport.Totals {
	m.mu.Lock()
	f := m.now
	m.mu.Unlock()
	if f == nil {
		return transport.Totals{}
	}
	return f.carrier.Totals()
}

// budget is what the budget says, in words for the page.
func (m *tenantState) budget(now time.Time) string {
	if v := m.gate.Verdict(now); v != nil {
		return v.Message()
	}
	return ""
}
