package gateway

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"
)

// unserved are tenants that cannot be served, because their stores cannot be opened.
type unserved struct {
	mu  sync.Mutex
	all map[string]*failure // by name
}

// note notes how it ended to enter a tenant's state. What a client that left broke off says nothing.
func (u *unserved) note(ctx context.Context, log *slog.Logger, now time.Time, name string, err error) {
	if err != nil && ctx.Err() != nil {
		return
	}
	u.mu.Lock()
	f := u.all[name]
	if f == nil && err != nil {
		f = &failure{fails: "a tenant cannot be served", ended: "a tenant can be served again"}
		if u.all == nil {
			u.all = map[string]*failure{}
		}
		u.all[name] = f
	}
	if err == nil {
		delete(u.all, name)
	}
	u.mu.Unlock()
	if f != nil {
		f.note(log.With("tenant", name), now, err)
	}
}

// forget forgets a tenant that was removed.
func (u *unserved) forget(name string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	delete(u.all, name)
}

// names are those of the tenants that cannot be served.
func (u *unserved) names() []string {
	u.mu.Lock()
	defer u.mu.Unlock()
	return slices.Collect(maps.Keys(u.all))
}

// retryUnserved tries to open the stores that could not be opened, so that it shows without a request
// when they can. It has bookPatience for all of them, which come in any order.
func (d *tenants) retryUnserved(ctx context.Context, now time.Time) {
	ctx, stop := context.WithTimeout(ctx, bookPatience)
	defer stop()
	for _, name := range d.unserved.names() {
		t, there := d.known.Load().Tenant(name)
		if !there {
			d.unserved.forget(name)
			continue
		}
		if m, f, err := d.open(ctx, t); err == nil {
			m.leave(f)
			d.unserved.note(ctx, d.log, now, name, nil)
		}
	}
}
