package gateway

import (
	"context"
	"time"

	"github.com/winnowhq/winnow/gateway/job"
	"github.com/winnowhq/winnow/gateway/tenant"
	"github.com/winnowhq/winnow/store"
)

// closedAfter is how long after its end a day of a tenant is closed: whatever is written down late,
// with the next request of a client or after a database was lost, has come by then, or is known to
// the process that relayed it.
const closedAfter = 24 * time.Hour

// rollUp brings what the sessions of a tenant know of its costs into the book, and closes the days
// that are over. Days that are closed are not summed again. It may be done again at any time, and
// by several processes at once.
func (d *tenants) rollUp(ctx context.Context, name string, kept store.Store, now time.Time) error {
	b := d.book.Load()
	since, err := b.OpenSince(ctx, name)
	if err != nil {
		return err
	}
	// Of a tenant that was away for long, no more than what a budget can still ask for.
	if _, month := tenant.Periods(now.Add(-closedAfter - 24*time.Hour)); since.Before(month) {
		since = month
	}
	days, err := spentSince(ctx, kept, since)
	if err != nil {
		return err
	}
	for day, dollars := range days {
		at, err := time.Parse(time.DateOnly, day)
		if err != nil {
			continue
		}
		if err := b.AtLeast(ctx, name, dollars, at); err != nil {
			return err
		}
	}
	today, _ := tenant.Periods(now.Add(-closedAfter))
	if last := today.AddDate(0, 0, -1); !last.Before(since) {
		return b.CloseUntil(ctx, name, last)
	}
	return nil
}

// spentSince are the dollars of a tenant by day since a time, as its sessions have them.
func spentSince(ctx context.Context, kept store.Store, since time.Time) (map[string]float64, error) {
	all, err := store.Relayed(ctx, kept, millis(since), nil)
	if err != nil {
		return nil, err
	}
	days := map[string]float64{}
	for _, account := range all {
		for i := range account.Spent {
			s := &account.Spent[i]
			at := time.UnixMilli(int64(s.Time))
			switch {
			case s.Inherited || at.Before(since):
			case s.Live != nil:
				days[tenant.DayOf(at)] += float64(s.Live.Billed)
			default:
				days[tenant.DayOf(at)] += s.Cost
			}
		}
	}
	return days, nil
}

// sum rolls up the costs of a tenant. The job without a key asks for one for each tenant.
func (w *Jobs) sum(ctx context.Context, a job.Attempt) error {
	d := w.relay.tenants
	if d == nil || d.book.Load() == nil {
		return nil // nobody has a budget
	}
	if a.Key == "" {
		return w.askForEach(ctx, costs)
	}
	t, ok := d.known.Load().OfStore(a.Key)
	if !ok {
		return nil // it was removed
	}
	return d.withStore(ctx, t.Store, func(kept store.Store) error {
		return d.rollUp(ctx, t.Store, kept, w.relay.app.Env.Now())
	})
}
