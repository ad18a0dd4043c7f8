package gateway

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/winnowhq/winnow/gateway/serve"
	"github.com/winnowhq/winnow/gateway/tenant"
	"github.com/winnowhq/winnow/gateway/transport"
)

const (
	// reservedFor is after how long a reservation of a process that was killed expires, and
	// renewEvery how often one that is alive puts that off.
	reservedFor = 2 * time.Minute
	renewEvery  = 30 * time.Second
	// bookPatience is how long a request waits for a reservation in the book; after one that waited in
	// vain others do not wait for bookPause, and are held to the budget by each process alone.
	bookPatience = 2 * time.Second
	bookPause    = 5 * time.Second
)

// reserving is how the requests of a tenant are paid for by its budget: see
// transport.Options.Reserve.
func (d *tenants) reserving(m *tenantState) func(context.Context, transport.Quote) (func(transport.Charge), error) {
	return func(ctx context.Context, q transport.Quote) (func(transport.Charge), error) {
		if q.Unmetered != "" {
			return nil, &tenant.Refusal{Kind: "unmetered", Message: fmt.Sprintf("%s %s: %s", q.Method, q.Path, q.Unmetered)}
		}
		now, who := d.r.app.Env.Now(), serve.ClientOf(ctx).Payer()
		release, refused := m.gate.Reserve(q.Most, now)
		if refused != nil {
			return nil, refused
		}
		freed, refused := m.gate.Person(who).Reserve(q.Most, now)
		if refused != nil {
			release()
			refused.Person = who
			return nil, refused
		}
		id, refused := d.share(ctx, m, who, q.Most, now)
		if refused != nil {
			release()
			freed()
			return nil, refused
		}
		return func(c transport.Charge) {
			defer release()
			defer freed()
			e := tenant.Expense{Dollars: c.Dollars}
			if c.Estimated {
				e.Estimated = c.Dollars
			}
			if c.Dollars > 0 || q.Most == 0 { // it was answered
				e.Requests = 1
			}
			m.spent(who, e, now, id)
		}, nil
	}
}

// share makes a reservation in the book, where every process of the gateway sees it. A book that
// does not answer holds nobody back.
func (d *tenants) share(ctx context.Context, m *tenantState, who string, most float64, now time.Time) (
	id string, refused *tenant.Refusal) {
	b := d.book.Load()
	t, known := d.known.Load().OfStore(m.name)
	if b == nil || !known || now.UnixNano() < d.unshared.Load() {
		return "", nil
	}
	ctx, stop := context.WithTimeout(ctx, d.patience)
	defer stop()
	id = rand.Text()
	err := b.Reserve(ctx, tenant.Reservation{ID: id, Tenant: m.name, Person: who, Process: d.process,
		Dollars: most, Expires: now.Add(reservedFor)}, now, func(all, person tenant.Account) error {
		m.gate.Learn(all.Spent, now)
		m.gate.Person(who).Learn(person.Spent, now)
		if refused := t.Budget.Admit(all.Spent, all.Reserved, now); refused != nil {
			return refused
		}
		if refused := t.PersonBudget().Admit(person.Spent, person.Reserved, now); refused != nil {
			refused.Person = who
			return refused
		}
		return nil
	})
	switch {
	case errors.As(err, &refused):
		return "", refused
	case err == nil || !errors.Is(ctx.Err(), context.Canceled) && !errors.Is(err, tenant.ErrNotFound):
		d.failures.share.note(d.log, now, err)
		if err != nil {
			d.unshared.Store(now.Add(bookPause).UnixNano())
		}
	}
	return id, nil // after an error it may have been made all the same
}

// renew keeps the reservations of this process.
func (d *tenants) renew(ctx context.Context, now time.Time) {
	if now.Sub(d.renewed) < renewEvery {
		return
	}
	d.renewed = now
	d.failures.renew.note(d.log, now, d.book.Load().Renew(ctx, d.process, now.Add(reservedFor), now))
}
