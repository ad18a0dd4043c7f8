package book_test

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/winnowhq/winnow/gateway/tenant"
)

// Whoever reserves at a time, no more is let through than the budget allows, and one more; what a
// process that was killed has reserved is free again after a while, what one that is alive has is
// not.
func TestBook_reservations(t *testing.T) {
	on(t, func(t *testing.T, open func() tenant.Book) {
		books := []tenant.Book{open(), open(), open()}
		if err := books[0].Add(t.Context(), "", tenant.Tenant{Name: "ann"}); err != nil {
			t.Fatal(err)
		}
		budget, full := tenant.Budget{Day: 10}, errors.New("full")
		reserve := func(b tenant.Book, id, process string, now time.Time) error {
			return b.Reserve(t.Context(), tenant.Reservation{ID: id, Tenant: "ann", Process: process, Dollars: 3,
				Expires: now.Add(time.Minute)}, now, func(all, _ tenant.Account) error {
				if budget.Admit(all.Spent, all.Reserved, now) != nil {
					return full
				}
				return nil
			})
		}
		var all sync.WaitGroup
		var through, alive atomic.Int32
		for i := range 12 {
			all.Go(func() {
				switch err := reserve(books[i%3], fmt.Sprint(i), fmt.Sprint("process ", i%2), noon); {
				case err == nil:
					through.Add(1)
					alive.Add(int32(1 - i%2)) // of process 0
				case err != full:
					t.Error(err)
				}
			})
		}
		all.Wait()
		if n := through.Load(); n != 4 {
			t.Errorf("%d of 12 got through, want 4: three dollars each of a budget of ten", n)
		}
		if err := books[0].Renew(t.Context(), "process 0", noon.Add(2*time.Minute), noon); err != nil {
			t.Fatal(err)
		}
		later := noon.Add(90 * time.Second)
		freed := int32(0)
		for i := range 6 {
			if err := reserve(books[0], fmt.Sprint("later ", i), "other", later); err == nil {
				freed++
			}
		}
		if want := 4 - alive.Load(); freed != want {
			t.Errorf("%d got through after the other process was killed, want %d", freed, want)
		}
		if err := books[0].Settle(t.Context(), "ann", map[tenant.Spender]tenant.Expense{{Day: tenant.DayOf(later)}: {Dollars: 9.5, Estimated: 2, Requests: 4}},
			[]string{"later 0", "later 1", "later 2", "later 3", "later 4", "later 5"}); err != nil {
			t.Fatal(err)
		}
		if err := books[1].Renew(t.Context(), "nobody", later, noon.Add(time.Hour)); err != nil {
			t.Fatal(err)
		}
		if got := must[tenant.Spent](t)(books[2].Spent(t.Context(), "ann", noon)); got != (tenant.Spent{Day: 9.5, Month: 9.5, Estimated: 2}) {
			t.Errorf("spent %+v", got)
		}
		if err := reserve(books[0], "last", "other", noon.Add(time.Hour)); err != nil {
			t.Errorf("with a rest of half a dollar: %v", err)
		}
		if err := reserve(books[1], "no more", "other", noon.Add(time.Hour)); err != full {
			t.Errorf("with nothing left: %v", err)
		}
	})
}

// Processes that tell of the same days and people at a time, as at midnight, do not end each other.
func TestBook_settlesInOneOrder(t *testing.T) {
	on(t, func(t *testing.T, open func() tenant.Book) {
		books := []tenant.Book{open(), open()}
		if err := books[0].Add(t.Context(), "", tenant.Tenant{Name: "ann"}); err != nil {
			t.Fatal(err)
		}
		days := map[tenant.Spender]tenant.Expense{}
		for i := range 12 {
			days[tenant.Spender{Day: tenant.DayOf(noon.AddDate(0, 0, i%4)), Person: fmt.Sprint("person ", i/4)}] =
				tenant.Expense{Dollars: 1, Requests: 1}
		}
		const rounds = 60
		var all sync.WaitGroup
		for _, b := range books {
			all.Go(func() {
				for range rounds {
					if err := b.Settle(t.Context(), "ann", days, nil); err != nil {
						t.Error(err)
					}
				}
			})
		}
		all.Wait()
		if got := must[tenant.Spent](t)(books[0].Spent(t.Context(), "ann", noon)); got.Day != 3*2*rounds {
			t.Errorf("on the day $%g were spent", got.Day)
		}
	})
}
