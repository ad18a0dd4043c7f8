package postgres_test

import (
	"context"
	"errors"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/winnowhq/winnow/internal/pgtest"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/store/postgres"
)

// What OnWanted writes is there if the change is; it is called for wishes alone.
func TestOnWanted_belongsToTheChange(t *testing.T) {
	url := pgtest.Start(t)
	db := open(t, url, postgres.Options{})
	s := db.Tenant("")
	query(t, url, `CREATE TABLE asked (what text)`)
	refused := errors.New("the queue is not there")
	var fails error
	db.OnWanted(func(ctx context.Context, tx pgx.Tx, tenant, id string, p store.Prepared) error {
		if _, err := tx.Exec(ctx, `INSERT INTO asked VALUES ($1)`, tenant+"/"+id+"/"+p.Pivot); err != nil {
			return err
		}
		return fails
	})
	info := session.Info{ID: "ses"}
	if err := s.Create(t.Context(), info); err != nil {
		t.Fatal(err)
	}
	wish := store.Prepared{Pivot: "m1", Asked: 1}
	for _, c := range []struct {
		name    string
		change  store.Change
		fails   error
		written bool
		asked   int64 // altogether
	}{
		{"a wish", store.Change{Prepared: &wish}, nil, true, 1},
		{"a wish that is refused", store.Change{Prepared: &store.Prepared{Pivot: "m2", Asked: 1}}, refused, false, 1},
		{"a wish on an old state", store.Change{Base: 1, Prepared: &wish}, nil, false, 1},
		{"a summary", store.Change{Prepared: &store.Prepared{Pivot: "m1", Asked: 1, Written: "{}"}}, nil, true, 1},
		{"a failure", store.Change{Prepared: &store.Prepared{Pivot: "m1", Asked: 1, Failed: true}}, nil, true, 1},
		{"nothing", store.Change{Prepared: &store.Prepared{}}, nil, true, 1},
		{"another change", store.Change{Spend: []store.Spend{{Kind: "step"}}}, nil, true, 1},
		{"a wish with more", store.Change{Prepared: &wish, Spend: []store.Spend{{Kind: "step"}}}, nil, true, 2},
	} {
		fails = c.fails
		before, err := s.State(t.Context(), "ses")
		if err != nil {
			t.Fatal(err)
		}
		_, err = s.Apply(t.Context(), "ses", c.change)
		if (err == nil) != c.written || c.fails != nil && !errors.Is(err, c.fails) {
			t.Errorf("%s: %v", c.name, err)
		}
		after, err := s.State(t.Context(), "ses")
		if err != nil || (after.Revision != before.Revision) != c.written {
			t.Errorf("%s: the revision was %d and is %d, %v", c.name, before.Revision, after.Revision, err)
		}
		if n := count(t, url, `SELECT count(*) FROM asked WHERE what = '/ses/m1'`); n != c.asked {
			t.Errorf("%s: %d were asked for, want %d", c.name, n, c.asked)
		}
	}
	if n := count(t, url, `SELECT count(*) FROM asked`); n != 2 {
		t.Errorf("%d were asked for", n)
	}
}
