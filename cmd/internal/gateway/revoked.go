package gateway

import (
	"context"
	"sync"
	"time"

	"github.com/winnowhq/winnow/gateway/serve"
)

// lookEvery is how often the book is looked at for changes. What a token let in must end within two
// seconds of its revocation, on every replica.
const lookEvery = time.Second

// admissions are the requests and streams of clients that are under way.
type admissions struct {
	mu   sync.Mutex
	open map[*admission]struct{}
}

// admission is one of them.
type admission struct {
	client *serve.Client
	store  string // of the tenant
	end    context.CancelCauseFunc
}

// admit lets a client in until left is called, or until its token counts no more: then the context
// ends, and its cause is serve.ErrRevoked.
func (a *admissions) admit(ctx context.Context, c *serve.Client, store string) (_ context.Context, left func()) {
	ctx, end := context.WithCancelCause(ctx)
	one := &admission{c, store, end}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.open == nil {
		a.open = map[*admission]struct{}{}
	}
	a.open[one] = struct{}{}
	return ctx, func() {
		a.mu.Lock()
		delete(a.open, one)
		a.mu.Unlock()
		end(nil)
	}
}

// endRevoked ends what clients have under way that may ask no more, and returns how many there
// were.
func (a *admissions) endRevoked(still func(store string, c *serve.Client) bool) (ended int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for one := range a.open {
		if !still(one.store, one.client) {
			one.end(serve.ErrRevoked)
			delete(a.open, one)
			ended++
		}
	}
	return ended
}

// watch reads the book again when it has changed, and ends what is under way with a token that was
// revoked, has expired, or was a removed tenant's, until the context ends.
func (d *tenants) watch(ctx context.Context) {
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		d.follow(ctx)
		now, known := d.r.app.Env.Now(), d.known.Load()
		ended := d.endRevoked(func(store string, c *serve.Client) bool { return known.Admits(store, c.Token, now) })
		if ended > 0 {
			d.log.Info("closed requests whose tokens are no longer valid", "requests", ended)
		}
	}
}

// follow reads the book again when it has changed.
func (d *tenants) follow(ctx context.Context) {
	asking, stop := context.WithTimeout(ctx, bookPatience)
	defer stop()
	changed, err := d.look(asking, true)
	d.unread.Store(err != nil)
	if err == nil && d.away.Swap(nil) != nil {
		d.log.Info("it can be read again who the tenants are")
	}
	if d.away.Load() == nil && ctx.Err() == nil { // else it was said before
		d.failures.read.note(d.log, d.r.app.Env.Now(), err)
	}
	if changed {
		d.log.Info("the tenants were read again", "tenants", d.known.Load().Len())
	}
}
