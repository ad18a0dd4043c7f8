package gateway

import (
	"context"
	"fmt"
	"math"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/winnowhq/winnow/model/bill"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/store/memory"
	"github.com/winnowhq/winnow/team/book"
)

// asked counts how many sessions' rows are read, and since when.
type asked struct {
	store.Store
	since []time.Time
}

func (a *asked) Relayed(ctx context.Context, since session.Millis, wanted func(session.Info) bool) ([]store.Account, error) {
	a.since = append(a.since, time.UnixMilli(int64(since)).UTC())
	return store.Relayed(ctx, a.Store, since, wanted)
}

// Whenever days are rolled up and closed, and however often, the book says what summing all rows
// says, of each day and month; also if requests were written down up to a day late, and the process
// that relayed them told the book nothing.
func TestRollUp_isTheSumOfTheRows(t *testing.T) {
	shared, err := book.Open(t.Context(), filepath.Join(t.TempDir(), "book.sqlite"), time.Now)
	if err != nil {
		t.Fatal(err)
	}
	defer shared.Close()
	d := &tenants{}
	d.book.Store(&reading{shared})
	var runs atomic.Int64
	rapid.Check(t, func(r *rapid.T) {
		ctx := t.Context()
		name := fmt.Sprint("tenant-", runs.Add(1))
		kept := &asked{Store: memory.New()}
		for i := range 3 {
			if err := kept.Create(ctx, session.Info{ID: fmt.Sprint("live_", i)}); err != nil {
				r.Fatal(err)
			}
		}
		began := time.Date(2026, time.Month(rapid.IntRange(1, 12).Draw(r, "month")), rapid.IntRange(1, 28).Draw(r, "day"),
			rapid.IntRange(0, 23).Draw(r, "hour"), 0, 0, 0, time.UTC)
		now := began
		rows := map[string]float64{}
		spend := func() {
			at := now.Add(-time.Duration(rapid.IntRange(0, 23).Draw(r, "late")) * time.Hour)
			if at.Before(began) {
				at = now
			}
			s := store.Spend{Time: millis(at), Kind: "step", Cost: 9, Live: &store.Live{Billed: bill.Dollars(rapid.IntRange(1, 100).Draw(r, "cents")) / 100}}
			took := float64(s.Live.Billed)
			if rapid.Bool().Draw(r, "inherited") {
				s.Inherited, took = true, 0
			}
			id := fmt.Sprint("live_", rapid.IntRange(0, 2).Draw(r, "session"))
			if _, err := kept.Apply(ctx, id, store.Change{Spend: []store.Spend{s}}); err != nil {
				r.Fatal(err)
			}
			rows[at.Format(time.DateOnly)] += took
		}
		sums := func() {
			for range rapid.IntRange(1, 2).Draw(r, "times") {
				if err := d.rollUp(ctx, name, kept, now); err != nil {
					r.Fatal(err)
				}
			}
			day, month := 0.0, 0.0
			for of, dollars := range rows {
				if of[:7] == now.Format("2006-01") {
					month += dollars
				}
				if of == now.Format(time.DateOnly) {
					day += dollars
				}
			}
			got, err := shared.Spent(ctx, name, now)
			if err != nil {
				r.Fatal(err)
			}
			if math.Abs(got.Day-day) > 1e-9 || math.Abs(got.Month-month) > 1e-9 {
				r.Fatalf("at %s the book has $%g of the day and $%g of the month, the rows $%g and $%g: %v", now, got.Day, got.Month, day, month, rows)
			}
		}
		r.Repeat(map[string]func(*rapid.T){
			"spend": func(*rapid.T) { spend() },
			"wait": func(r *rapid.T) {
				now = now.Add(time.Duration(rapid.IntRange(1, 30).Draw(r, "hours")) * time.Hour)
				sums() // a gateway is asked at least once a day, and the job is done
			},
			"sum": func(*rapid.T) { sums() },
		})
	})
}

// Days that are closed are not read again.
func TestRollUp_readsWhatIsOpen(t *testing.T) {
	b, err := book.Open(t.Context(), filepath.Join(t.TempDir(), "book.sqlite"), time.Now)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	d := &tenants{}
	d.book.Store(&reading{b})
	kept := &asked{Store: memory.New()}
	date := func(month time.Month, day int) time.Time { return time.Date(2026, month, day, 0, 0, 0, 0, time.UTC) }
	for _, c := range []struct {
		now   time.Time
		since time.Time // from which on rows are read
	}{
		{date(5, 20).Add(12 * time.Hour), date(5, 1)},  // the first time, all of the month
		{date(5, 20).Add(13 * time.Hour), date(5, 19)}, // 18 May ended a day ago and more
		{date(5, 21).Add(time.Hour), date(5, 19)},
		{date(5, 21).Add(2 * time.Hour), date(5, 20)},
		{date(5, 1), date(5, 20)},               // a clock that was set back opens nothing
		{date(9, 1).Add(time.Hour), date(8, 1)}, // after a long time, no more than a budget asks for
		{date(9, 1).Add(2 * time.Hour), date(8, 31)},
	} {
		kept.since = nil
		if err := d.rollUp(t.Context(), "ann", kept, c.now); err != nil {
			t.Fatal(err)
		}
		if len(kept.since) != 1 || !kept.since[0].Equal(c.since) {
			t.Errorf("at %s rows are read since %v, want %s", c.now, kept.since, c.since)
		}
	}
}
