package gateway

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/winnowhq/winnow/desk/config"
	"github.com/winnowhq/winnow/gateway/live"
	"github.com/winnowhq/winnow/gateway/tenant"
	"github.com/winnowhq/winnow/gateway/transport"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
)

// open enters the state of a tenant, which is opened and built as its settings say now.
func (d *tenants) open(ctx context.Context, t tenant.Tenant) (*tenantState, *tenantRuntime, error) {
	for {
		d.mu.Lock()
		m := d.states[t.Store]
		if m == nil {
			m = d.newState(t)
			d.states[t.Store] = m
		}
		d.mu.Unlock()
		f, closed, err := d.upToDate(ctx, m, t)
		if err != nil {
			return nil, nil, err
		}
		if !closed {
			return m, f, nil
		}
		// it was closed since; there is another one
		d.mu.Lock()
		if d.states[t.Store] == m {
			delete(d.states, t.Store)
		}
		d.mu.Unlock()
	}
}

func (d *tenants) newState(t tenant.Tenant) *tenantState {
	now := d.r.app.Env.Now
	m := &tenantState{name: t.Store, cleared: t.Cleared, gate: tenant.NewGate(t), tell: d.settled, last: now(), clock: now,
		failed: d.r.failed}
	m.metrics = d.r.app.Shared.NewMetrics(m.totals, true)
	return m
}

// upToDate enters the state of a tenant, and builds its runtime first where that is due.
func (d *tenants) upToDate(ctx context.Context, m *tenantState, t tenant.Tenant) (
	f *tenantRuntime, closed bool, err error) {
	m.making.Lock()
	defer m.making.Unlock()
	if m.closed {
		return nil, true, nil
	}
	version := d.version.Load() // before the settings: of newer ones it is built again
	settings, mode := d.r.inForce()
	capture := cmp.Or(t.Capture, settings.Gateway.Capture)
	if m.store != nil && capture != m.capture || t.Cleared > m.cleared {
		d.retire(m, t)
		return nil, true, nil
	}
	m.mu.Lock()
	current := m.now
	m.mu.Unlock()
	if current != nil && current.version == version && same(current.tenant, t) {
		return m.enter(), false, nil
	}
	if m.store == nil {
		if err := d.openStore(ctx, m, t, settings, capture); err != nil {
			return nil, false, err
		}
	}
	settings, mode = settingsOf(settings, mode, t)
	f = &tenantRuntime{settings: settings, tenant: t, mode: mode, version: version}
	if err := d.r.buildRuntime(m, f, d.audit(m.name)); err != nil {
		return nil, false, err
	}
	m.gate.Set(t)
	m.replace(f)()
	return m.enter(), false, nil
}

// retire puts a new state in the place of one whose store is to keep other things from now on, or
// that holds what was erased. What is under way in the old one ends as it began.
func (d *tenants) retire(m *tenantState, t tenant.Tenant) {
	d.mu.Lock()
	if d.states[t.Store] == m {
		next := d.newState(t)
		if t.Cleared == m.cleared {
			next.gate = m.gate
		} else {
			clear(d.reads) // it names people
		}
		d.states[t.Store], d.leaving = next, append(d.leaving, m)
	}
	d.mu.Unlock()
	m.pages((*live.Hub).End)
}

// same reports whether two versions of a tenant are the same.
func same(a, b tenant.Tenant) bool {
	return maps.Equal(a.Keys, b.Keys) && a.Limits == b.Limits && a.Budget == b.Budget && a.Each == b.Each &&
		a.Retention == b.Retention && a.KeepPinned == b.KeepPinned && a.Capture == b.Capture && a.Mode == b.Mode &&
		slices.Equal(a.Routes, b.Routes) && slices.Equal(a.Models, b.Models)
}

// openStore opens the store of a tenant, and learns what was spent. making is locked.
func (d *tenants) openStore(ctx context.Context, m *tenantState, t tenant.Tenant, settings config.Settings,
	capture string) error {
	kept, err := d.stores.Open(ctx, t.Store)
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
		m.store = transport.Withhold(kept, d.r.memory)
	}
	m.calibrated = calibrated(settings)
	if settings.Gateway.Page {
		hub := live.NewHub(capture == config.CaptureNone, now)
		d.r.share(m, hub)
		m.mu.Lock()
		m.hub = hub
		m.mu.Unlock()
	}
	return nil
}

// learn tells the gate what was spent in this month: what the book knows, and what the sessions
// know beyond that, should a process have been killed before it told the book.
func (d *tenants) learn(ctx context.Context, m *tenantState, kept store.Store, now time.Time) error {
	if err := d.rollUp(ctx, m.name, kept, now); err != nil {
		return err
	}
	return d.learnSpent(ctx, now, m)
}

// learnSpent tells gates the sums that the book has of tenants and their people.
func (d *tenants) learnSpent(ctx context.Context, now time.Time, states ...*tenantState) error {
	var names, each []string // each: whose people have budgets
	for _, m := range states {
		names = append(names, m.name)
		if t, _ := d.known.Load().OfStore(m.name); t.Each.Limited() {
			each = append(each, m.name)
		}
	}
	spent, people, err := d.book.Load().Sums(ctx, names, each, now)
	if err != nil {
		return err
	}
	for _, m := range states {
		m.gate.Learn(spent[m.name], now)
		for who, spent := range people[m.name] {
			m.gate.Person(who).Learn(spent, now)
		}
	}
	return nil
}

func millis(t time.Time) session.Millis { return session.Millis(t.UnixMilli()) }
