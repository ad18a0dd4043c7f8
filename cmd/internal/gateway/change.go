package gateway

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/winnowhq/winnow/cmd/internal/cli"
	"github.com/winnowhq/winnow/desk/config"
	"github.com/winnowhq/winnow/gateway/serve"
	"github.com/winnowhq/winnow/gateway/transport"
	"github.com/winnowhq/winnow/store"
)

// lead lets a runtime lead to upstreams.
func (r *Relay) lead(ctx context.Context, g *tenantRuntime, upstreams map[string]string) (err error) {
	g.passed = map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(upstreams)) {
		to, err := url.Parse(upstreams[name])
		if err != nil {
			continue // serve.New says so
		}
		if to.Host == r.Address() {
			return cli.Usage("gateway.upstreams.%s: %s is this listener itself", name, upstreams[name])
		}
		if g.mode == transport.Off {
			continue
		}
		if mode := serve.Detect(ctx, upstreams[name]); mode != "" && mode != string(transport.Off) {
			g.aside, g.passed[to.Host] = append(g.aside, name), true
		}
	}
	var authenticator serve.Authenticator // nil, and not a nil *tenants, without
	var api http.Handler
	if r.tenants != nil {
		authenticator, api = r.tenants, r.tenants.api
	}
	c := serve.Config{Authenticator: authenticator, Admit: r.admit, Upstreams: upstreams,
		Transport: counting{r, g},
		Metrics:   r.metrics, Host: r.Address(), Mode: string(g.mode), Clients: g.settings.Gateway.Clients,
		Origins: g.settings.Gateway.Origins, Ready: r.ready, Ending: r.stopping.Load,
		Page: g.page, Jobs: r.jobs, Admin: api, MCP: g.recall, Log: r.log}
	g.handler, err = serve.New(c)
	g.monitoring = serve.Monitoring(c)
	r.upstreams = upstreams
	return err
}

// Change puts other settings in force. Requests that are under way end as they began. After an
// error all is as it was.
//
// A mode that the page has chosen stays until the settings name another one than before.
func (r *Relay) Change(ctx context.Context, settings config.Settings, mode transport.Mode,
	upstreams map[string]string) error {
	r.changing.Lock()
	defer r.changing.Unlock()
	switched := r.switched
	if mode != r.named {
		switched = ""
	}
	if err := r.change(ctx, settings, cmp.Or(switched, mode), upstreams); err != nil {
		return err
	}
	r.settings, r.named, r.switched = settings, mode, switched
	r.endRemovedClients()
	return nil
}

// admit lets a client of gateway.clients in.
func (r *Relay) admit(ctx context.Context, c *serve.Client) (_ context.Context, left func()) {
	return r.clients.admit(ctx, c, "")
}

// endRemovedClients ends what clients have under way that gateway.clients does not have any more,
// or with another token.
func (r *Relay) endRemovedClients() {
	settings, _ := r.inForce()
	ended := r.clients.endRevoked(func(_ string, c *serve.Client) bool {
		return strings.EqualFold(settings.Gateway.Clients[c.Who], c.Token)
	})
	if ended > 0 {
		r.log.Info("closed requests of clients that are no longer in gateway.clients", "requests", ended)
	}
}

// change builds another runtime. changing is locked.
func (r *Relay) change(ctx context.Context, settings config.Settings, mode transport.Mode,
	upstreams map[string]string) error {
	next, err := r.build(ctx, settings, mode)
	if err != nil {
		return err
	}
	before := r.upstreams
	if err := r.lead(ctx, next, upstreams); err != nil {
		r.upstreams = before
		next.end(r.failed)
		return err
	}
	defer r.replace(next)()
	if r.tenants != nil {
		r.tenants.version.Add(1)
	}
	return nil
}

// readiness is whether requests should go elsewhere, as the log knows it.
type readiness struct {
	mu  sync.Mutex
	why string // "" for no reason
}

// ready says why requests should go elsewhere, in words that hold no content. The log has each
// change of that, with the cause.
func (r *Relay) ready(ctx context.Context) error {
	why, cause := r.unready(ctx)
	if ctx.Err() != nil { // whoever asked did not wait: that says nothing of the store
		return why
	}
	r.readiness.mu.Lock()
	defer r.readiness.mu.Unlock()
	switch before := r.readiness.why; {
	case why == nil && before != "":
		r.readiness.why = ""
		r.log.Info("ready again")
	case why != nil && why.Error() != before:
		r.readiness.why = why.Error()
		told := []any{"why", why}
		if cause != nil {
			told = append(told, "error", cause)
		}
		r.log.Warn("not ready", told...)
	}
	return why
}

// readyPatience is how long a probe waits for the store, as a request does.
const readyPatience = 2 * time.Second

// unready says why requests should go elsewhere, with the cause, for the log alone.
func (r *Relay) unready(ctx context.Context) (why, cause error) {
	if r.stopping.Load() {
		return errors.New("winnow is about to end"), nil
	}
	r.mu.Lock()
	off, kept, lacks := r.now.mode == transport.Off, r.store, r.outage.err
	r.mu.Unlock()
	if r.tenants != nil && r.tenants.Away() != nil {
		return errors.New("it cannot be read who may ask: nobody is served"), r.tenants.Away()
	}
	if lacks != nil {
		return errors.New("the store cannot be opened: requests are relayed as they came"), lacks
	}
	if r.tenants != nil && len(r.tenants.unserved.names()) > 0 {
		return errors.New("a tenant cannot be served: the log says which, and why"), nil
	}
	if off {
		return nil, nil
	}
	ctx, stop := context.WithTimeout(ctx, readyPatience)
	defer stop()
	if r.lost() {
		return errors.New("the store is lost: nothing more is decided"), nil
	}
	if err := r.unwritable(); err != nil {
		return err, nil
	}
	// Whether it is locked or damaged shows even if there is nothing to change.
	if _, err := kept.Apply(ctx, "ready", store.Change{}); !errors.Is(err, store.ErrNotFound) {
		return errors.New("the store cannot be written"), err
	}
	return nil, nil
}

// inForce are the settings in force, and the mode that they ask for.
func (r *Relay) inForce() (config.Settings, transport.Mode) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.now.settings, r.now.wanted
}
