package gateway

import (
	"context"
	"net/http"

	"github.com/winnowhq/winnow/desk/config"
	"github.com/winnowhq/winnow/gateway/live"
	"github.com/winnowhq/winnow/gateway/serve"
	"github.com/winnowhq/winnow/gateway/transport"
	"github.com/winnowhq/winnow/model"
)

// page is what browsers are shown while a generation lasts.
func (r *Relay) page(g *generation, settings config.Settings) http.Handler {
	return live.New(r.hub, live.Config{Engine: g.engine, Mode: string(g.mode), Modes: Modes(), Switch: r.switchTo,
		Models: settings.Catalogue(model.Default()), Now: r.app.Env.Now,
		Tenant: func(q *http.Request) string { return q.Header.Get(serve.ClientHeader) }})
}

// Page is the path of the page at the address of the listener, "" if there is none. TOKEN stands
// for that of a client, where clients need one.
func (r *Relay) Page() string {
	switch {
	case r.now.page == nil:
		return ""
	case len(r.now.clients) > 0, r.tenants != nil && r.tenants.Closed():
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
