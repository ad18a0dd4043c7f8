package postgres_test

import (
	"strings"
	"sync/atomic"
	"testing"

	"github.com/winnowhq/winnow/internal/pgtest"
	"github.com/winnowhq/winnow/internal/storetest"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/store/postgres"
)

func open(t testing.TB, url string, o postgres.Options) *postgres.Database {
	t.Helper()
	d, err := postgres.Open(t.Context(), url, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return d
}

// The stores of the suite are those of tenants in one database, and work at the same time.
func TestStore(t *testing.T) {
	url := pgtest.Start(t)
	d := open(t, url, postgres.Options{})
	var tenants atomic.Int64
	storetest.Suite{
		Open: func(t *testing.T) store.Store {
			return d.Tenant(strings.Repeat("'\\@", 3) + string(rune('a'+tenants.Add(1))))
		},
		Reopen: func(t *testing.T, s store.Store) store.Store {
			again := open(t, url, postgres.Options{})
			return again.Tenant(s.(*postgres.Store).Name())
		},
		Sound: func(t *testing.T, s store.Store) {
			h, err := d.Tenant(s.(*postgres.Store).Name()).Check(t.Context())
			if err != nil || len(h.Problems) > 0 {
				t.Errorf("it is not sound: %q, %v", h.Problems, err)
			}
		},
	}.Run(t)
}
