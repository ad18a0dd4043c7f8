package gateway

import (
	"context"
	"net/http"

	"github.com/winnowhq/winnow/gateway/live"
	"github.com/winnowhq/winnow/gateway/serve"
	"github.com/winnowhq/winnow/gateway/transport"
	"github.com/winnowhq/winnow/model"
)

// page is what browsers are shown while a runtime lasts.
func (r *Relay) page(m *tenantState, f *tenantRuntime, audit func(context.Context, live.Deed) error) http.Handler {
	c := live.Config{Engine: f.engine, Mode: string(f.mode), Modes: Modes(), Models: f.settings.Catalogue(model.Default()),
		Now: r.app.Env.Now}
	if m.gate == nil {
		c.Switch = r.switchTo
		c.Tenant = func(q *http.Request) string { return q.Header.Get(serve.ClientHeader) }
	} else {
		c.Audit, c.Others = audit, r.tenants.links
		c.Budget = func() string { return m.budget(r.app.Env.Now()) }
		c.Tenant = func(*http.Request) string { return f.tenant.Name }
		c.Person = func(q *http.Request) string {
			if asks := serve.ClientOf(q.Context()); asks != nil && asks.Token == "" {
				return asks.Person
			}
			return ""
		}
	}
	return live.New(m.hub, c)
}

// Page is the path of the page at the address of the listener, "" if there is none. TOKEN stands
// for that of a client, where clients need one.
func (r *Relay) Page() string {
	switch {
	case r.now.page == nil:
		return ""
	case len(r.now.settings.Gateway.Clients) > 0, r.tenants != nil && r.tenants.Closed():
		return "/TOKEN/"
	}
	return "/"
}

// switchTo puts another mode in force for new requests, until the configuration names another one
// than now.
func (r *Relay) switchTo(ctx context.Context, mode string) error {
	if err := CheckMode(mode); err != nil {
		return err
	}
	r.changing.Lock()
	defer r.changing.Unlock()
	if err := r.change(ctx, r.settings, transport.Mode(mode), r.upstreams); err != nil {
		return err
	}
	r.switched = transport.Mode(mode)
	if len(r.now.aside) < len(r.upstreams) {
		r.Mode = r.switched
	}
	r.log.Warn("the mode was switched on the page", "mode", mode)
	return nil
}
