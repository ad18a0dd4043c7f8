package gateway

import (
	"github.com/winnowhq/winnow/cmd/internal/source"
	"github.com/winnowhq/winnow/gateway/live"
	"github.com/winnowhq/winnow/gateway/shared"
	"github.com/winnowhq/winnow/store"
)

// joinBus has the pages show the other processes that serve from the same database, too.
func (r *Relay) joinBus() error {
	name := source.StoreForChild(r.app)
	if !r.failsOpen && r.tenants == nil || r.app.Shared.Missing != nil || !store.IsURL(name) {
		return nil
	}
	bus, err := r.app.Shared.OpenBus(name, r.heard, r.log)
	if err != nil {
		return err
	}
	r.bus = bus
	r.pages(func(h *live.Hub) { r.share(r.tenantState, h) })
	return nil
}

// share has the changes of a hub told to the other processes.
func (r *Relay) share(m *tenantState, h *live.Hub) {
	if r.bus == nil {
		return
	}
	h.Share(func(c live.Change) {
		m.mu.Lock()
		name := m.name // of a person it is known when the store is open
		m.mu.Unlock()
		r.bus.Tell(name, func() []byte { return c.Encode(shared.MostTold) })
	})
}

// heard shows a change that another process made for a tenant, if its page is at hand here.
func (r *Relay) heard(tenant string, text []byte) {
	c, err := live.Decode(text)
	if err != nil {
		r.log.Debug("another process tells something that cannot be read", "error", err)
		return
	}
	if m := r.stateOf(tenant); m != nil {
		m.pages(func(h *live.Hub) { h.Take(c) })
	}
}

// stateOf returns the state of a tenant, or of the person; nil if it is not at hand.
func (r *Relay) stateOf(tenant string) *tenantState {
	r.mu.Lock()
	own := r.name
	r.mu.Unlock()
	switch {
	case tenant == own:
		return r.tenantState
	case r.tenants == nil:
		return nil
	}
	r.tenants.mu.Lock()
	defer r.tenants.mu.Unlock()
	return r.tenants.states[tenant]
}
