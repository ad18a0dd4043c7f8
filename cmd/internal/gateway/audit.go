package gateway

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/winnowhq/winnow/cmd/internal/source"
	"github.com/winnowhq/winnow/gateway/admin"
	"github.com/winnowhq/winnow/gateway/live"
	"github.com/winnowhq/winnow/gateway/serve"
	"github.com/winnowhq/winnow/gateway/tenant"
)

// readAgain is how often it is noted that the same person looks at the same thing.
const readAgain = time.Hour

var errNoBook = errors.New("there is no book of tenants")

// Audit implements serve.Authenticator.
func (d *tenants) Audit(ctx context.Context, c *serve.Client, did, what string) error {
	b := d.book.Load()
	if b == nil {
		return errNoBook
	}
	return b.Audit(ctx, tenant.Entry{Tenant: d.storeOf(c.Tenant), Who: c.Who, Person: c.Person, Did: did, What: what})
}

// storeOf is the name of the store of a tenant, "" for none.
func (d *tenants) storeOf(name string) string {
	t, _ := d.known.Load().Tenant(name)
	return t.Store
}

// audit notes what somebody does with the sessions of a tenant's store, before it is done: what cannot be noted
// is not done.
func (d *tenants) audit(of string) func(context.Context, live.Deed) error {
	return func(ctx context.Context, deed live.Deed) error {
		e := tenant.Entry{Tenant: of, Did: deed.Did, Session: deed.Session, What: deed.What}
		if deed.Did == "read" {
			return d.noteLook(ctx, e)
		}
		return d.book.Load().Audit(ctx, d.by(ctx, e))
	}
}

// by is an entry with who asks.
func (d *tenants) by(ctx context.Context, e tenant.Entry) tenant.Entry {
	if g := serve.ClientOf(ctx); g != nil {
		e.Tenant, e.Who, e.Person = cmp.Or(e.Tenant, d.storeOf(g.Tenant)), g.Who, g.Person
	}
	return e
}

// looked notes that somebody looks at a tenant, "" for all, which is noted at the tenant of who
// looks.
func (d *tenants) looked(ctx context.Context, of, did string) error {
	store := d.storeOf(of)
	if b := d.book.Load(); store == "" && of != "" && b != nil { // it may be new
		t, err := b.Tenant(ctx, of)
		if err != nil && !errors.Is(err, tenant.ErrNotFound) {
			return err
		}
		store = cmp.Or(t.Store, of)
	}
	return d.noteLook(ctx, tenant.Entry{Tenant: store, Did: did})
}

// noteLook notes that somebody looks at something, once an hour.
func (d *tenants) noteLook(ctx context.Context, e tenant.Entry) error {
	e = d.by(ctx, e)
	key, now := e.Who+"\x00"+e.Tenant+"\x00"+e.Did+"\x00"+e.Session, d.r.app.Env.Now()
	d.mu.Lock()
	fresh := now.Sub(d.reads[key]) < readAgain
	if len(d.reads) > 10_000 {
		clear(d.reads)
	}
	d.mu.Unlock()
	if fresh {
		return nil
	}
	b := d.book.Load()
	if b == nil {
		return errNoBook
	}
	if err := b.Audit(ctx, e); err != nil {
		return err
	}
	d.mu.Lock()
	d.reads[key] = now
	d.mu.Unlock()
	return nil
}

// service is the admin API's service for the client of a request.
func (d *tenants) service(ctx context.Context) (admin.Service, error) {
	b := d.book.Load()
	if b == nil {
		return admin.Service{}, errNoBook
	}
	d.save(ctx) // what was spent, as far as this process alone knows it
	c := serve.ClientOf(ctx)
	own := b.As(c.Person)
	return admin.Service{Book: own, Who: c.Who, Now: d.r.app.Env.Now, At: source.BookName(d.r.app),
		Eraser: Eraser{App: d.r.app, Book: own, Who: c.Who},
		Left:   func(store string) string { return source.TenantLeft(d.r.app, store) },
		Erased: func(t tenant.Removed) (time.Time, error) {
			settings, _ := d.r.inForce()
			at, _ := ErasedAt(t, settings.Gateway.Retention)
			return at, nil
		}}, nil
}
