package gateway

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/winnowhq/winnow/cmd/internal/cli"
	"github.com/winnowhq/winnow/gateway/transport"
)

// storeOutage is a store that could not be opened.
type storeOutage struct {
	err   error // nil: none is missing
	tries int
	next  time.Time // when to try again
}

// longestLack is how long it takes at most until a store that could not be opened is tried again.
const maxRetryInterval = time.Minute

// doesWithout reports whether requests are relayed although the store cannot be opened, and notes
// that it is missing. What the user has to write in another way is no such error.
func (r *Relay) toleratesOutage(ctx context.Context, err error) bool {
	if !r.failsOpen || ctx.Err() != nil || cli.IsMisuse(err) {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if was := r.outage.err; was == nil || was.Error() != err.Error() {
		r.log.Error("the store cannot be opened: until it can, requests are relayed as they came, in mode off",
			"error", err)
	}
	wait := min(time.Second<<min(r.outage.tries, 10), maxRetryInterval)
	r.outage = storeOutage{err, r.outage.tries + 1, r.app.Env.Now().Add(wait)}
	return true
}

// lacking reports whether a store is missing that it is time to try again.
func (r *Relay) retryDue(now time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.outage.err != nil && !now.Before(r.outage.next)
}

// away is 1 while the store is missing or does not answer, else 0.
func (r *Relay) away() float64 {
	r.mu.Lock()
	lacks := r.outage.err
	r.mu.Unlock()
	if lacks != nil || r.lost() {
		return 1
	}
	return 0
}

// lost reports whether a store, the person's or a tenant's, does not answer.
func (r *Relay) lost() bool {
	return slices.ContainsFunc(r.everybody(), func(m *tenantState) bool {
		m.mu.Lock()
		f := m.now
		m.mu.Unlock()
		return f != nil && f.carrier.Lost()
	})
}

// retry opens a store that is missing, if that can be done by now, and puts the mode in force that
// it was missing for.
func (r *Relay) retry(ctx context.Context) {
	r.changing.Lock()
	defer r.changing.Unlock()
	if !r.retryDue(r.app.Env.Now()) {
		return // somebody else was quicker
	}
	if err := r.open(ctx, r.settings.Gateway); err != nil {
		r.toleratesOutage(ctx, err)
		return
	}
	if w := r.work.Load(); w != nil {
		if err := w.share(ctx); err != nil {
			r.toleratesOutage(ctx, err)
			return
		}
		r.mu.Lock()
		r.outage = storeOutage{}
		r.mu.Unlock()
	}
	mode := cmp.Or(r.switched, r.named)
	if err := r.change(ctx, r.settings, mode, r.upstreams); err != nil {
		r.log.Error("the store can be opened, and not be used", "error", err)
		return
	}
	if mode != transport.Off && len(r.now.aside) < len(r.upstreams) {
		r.Mode = mode
	}
	r.log.Info("the store can be opened again", "mode", mode)
}
