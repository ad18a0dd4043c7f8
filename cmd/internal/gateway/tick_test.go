package gateway

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/winnowhq/winnow/gateway/tenant"
)

// counted counts how often a book is asked for the sums of one tenant, and may refuse to note when
// tokens were used.
type counted struct {
	tenant.Book
	sums int
	full error
	used map[string]time.Time
}

func (b *counted) Spent(ctx context.Context, name string, at time.Time) (tenant.Spent, error) {
	b.sums++
	return b.Book.Spent(ctx, name, at)
}

func (b *counted) People(ctx context.Context, name string, at time.Time) (map[string]tenant.Spent, error) {
	b.sums++
	return b.Book.People(ctx, name, at)
}

func (b *counted) Used(ctx context.Context, when map[string]time.Time) error {
	if b.full != nil {
		return b.full
	}
	b.used = when
	return b.Book.Used(ctx, when)
}

// ticking is a gateway with tenants at hand, whose book is counted.
func ticking(t *testing.T, names ...string) (*tenants, *counted) {
	t.Helper()
	r, _ := replica(t, filepath.Join(t.TempDir(), "store.db"), &scribe{}, names...)
	d := r.tenants
	b := &counted{Book: d.book.Load().Book}
	for _, name := range names {
		_, err := b.Set(t.Context(), "test", name, func(s *tenant.Tenant) error {
			s.Budget.Day, s.Each.Day = 5, 3
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if _, err := d.look(t.Context(), true); err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		x, _ := d.known.Load().Tenant(name)
		m, f, err := d.open(t.Context(), x)
		if err != nil {
			t.Fatal(err)
		}
		m.leave(f)
	}
	d.book.Store(&reading{b})
	return d, b
}

// However many tenants are at hand, none is asked for by itself every two seconds; each learns what
// others spent.
func TestTick_asksForAllTenantsAtOnce(t *testing.T) {
	names := []string{"ann", "bob", "eve"}
	d, b := ticking(t, names...)
	now := time.Now()
	for i, name := range names {
		err := b.Settle(t.Context(), name, map[tenant.Spender]tenant.Expense{{Day: tenant.DayOf(now), Person: "zoe"}: {Dollars: float64(2 * i)}}, nil)
		if err != nil {
			t.Fatal(err)
		}
	}
	d.tick(t.Context())
	if b.sums > 0 {
		t.Errorf("the book was asked %d times for the sum of one tenant", b.sums)
	}
	for i, name := range names {
		m := d.states[name]
		if stops := m.gate.Person("zoe").Verdict(now); (stops != nil && stops.Stop) != (2*i >= 3) {
			t.Errorf("%s spent $%d, and zoe's budget of $3 says %+v", name, 2*i, stops)
		}
		if v := m.gate.Verdict(now); (v != nil) != (2*i >= 4) {
			t.Errorf("%s spent $%d, and its budget of $5 says %+v", name, 2*i, v)
		}
	}
}

// When tokens were used is noted as soon as that is possible, and the newest time counts.
func TestTick_keepsWhenTokensWereUsed(t *testing.T) {
	d, b := ticking(t, "ann")
	shown, kept, err := tenant.NewToken("ann", "", tenant.Scopes{tenant.Relay}, time.Now(), 0)
	if err == nil {
		err = b.AddToken(t.Context(), "test", kept)
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.look(t.Context(), true); err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	d.r.app.Env.Now = func() time.Time { return now }
	b.full = errors.New("the disk is full")
	for range 2 {
		if d.Client(shown) == nil {
			t.Fatal("nobody has the token")
		}
		d.noteUse(t.Context())
		now = now.Add(usedEvery)
	}
	b.full = nil
	d.noteUse(t.Context())
	if got := b.used[kept.ID]; !got.Equal(now.Add(-usedEvery)) {
		t.Errorf("it was used at %v, and %v was noted", now.Add(-usedEvery), got)
	}
	d.noteUse(t.Context())
	if len(b.used) > 0 {
		t.Errorf("%v was noted again", b.used)
	}
}
