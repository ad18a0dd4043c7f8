package gateway

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/winnowhq/winnow/gateway/live"
)

// listed is the audit log's name for looking at the list of all tenants, as the command and the
// admin API have it.
const listed = "tenant list"

// List implements serve.Authenticator.
func (d *tenants) List() http.Handler {
	return live.Tenants(live.TenantsConfig{Tenants: d.list, Now: d.r.app.Env.Now,
		Audit: func(ctx context.Context) error { return d.looked(ctx, "", listed) }})
}

// list is every tenant, by name.
func (d *tenants) list(ctx context.Context) ([]live.TenantLine, error) {
	b := d.book.Load()
	if b == nil {
		return nil, errNoBook
	}
	d.save(ctx) // what this process alone knows
	uses, err := b.Uses(ctx, d.r.app.Env.Now())
	if err != nil {
		return nil, err
	}
	seen := d.seen()
	var all []live.TenantLine
	for name, t := range d.known.Load().Tenants() {
		u := uses[t.Store]
		if seen[name].After(u.Seen) {
			u.Seen = seen[name].UTC().Truncate(time.Second)
		}
		all = append(all, live.TenantLine{Tenant: name, Requests: live.PerDay[int64]{Day: u.Requests.Day,
			Month: u.Requests.Month},
			Spent: live.PerDay[float64]{Day: u.Spent.Day, Month: u.Spent.Month}, Seen: u.Seen,
			Budget: live.PerDay[float64]{Day: t.Budget.Day, Month: t.Budget.Month}})
	}
	slices.SortFunc(all, func(a, b live.TenantLine) int { return strings.Compare(a.Tenant, b.Tenant) })
	return all, nil
}

// seen is when each tenant last showed a token to this process.
func (d *tenants) seen() map[string]time.Time {
	owners := d.known.Load().Owners()
	d.mu.Lock()
	defer d.mu.Unlock()
	all := map[string]time.Time{}
	for id, at := range d.used {
		if name := owners[id]; at.After(all[name]) {
			all[name] = at
		}
	}
	return all
}
