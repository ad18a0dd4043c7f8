package book_test

import (
	"database/sql"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/winnowhq/winnow/gateway/tenant"
	"github.com/winnowhq/winnow/team/book"
)

// A tenant that is added after one of its name was removed has a store of its own, whatever the
// case of the name; nothing in the book is that of the one before.
func TestBook_aNameThatComesAgain(t *testing.T) {
	on(t, func(t *testing.T, open func() tenant.Book) {
		b := open()
		must := func(err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
		}
		add := func(name string) tenant.Tenant {
			t.Helper()
			must(b.Add(t.Context(), "cli:op", tenant.Tenant{Name: name}))
			found, err := b.Tenant(t.Context(), name)
			must(err)
			return found
		}
		first := add("ann")
		must(b.Spend(t.Context(), first.Store, tenant.Expense{Dollars: 2}, noon))
		must(b.Remove(t.Context(), "cli:op", "ann"))
		second := add("Ann")
		must(b.Remove(t.Context(), "cli:op", "Ann"))
		third := add("ann")
		if diff := cmp.Diff([]string{"ann", "Ann.2", "ann.3"}, []string{first.Store, second.Store, third.Store}); diff != "" {
			t.Errorf("the stores: %s", diff)
		}
		if third.Name != "ann" {
			t.Errorf("it is called %s", third.Name)
		}
		spent, err := b.Spent(t.Context(), third.Store, noon)
		if err != nil || spent != (tenant.Spent{}) {
			t.Errorf("it has spent %+v, %v", spent, err)
		}
		_, kept, err := tenant.NewToken("ann", "", tenant.AllScopes(), noon, 0)
		must(err)
		must(b.AddToken(t.Context(), "cli:op", kept))
		if _, err := b.Set(t.Context(), "cli:op", "ann", func(x *tenant.Tenant) error { x.Retention = 9; return nil }); err != nil {
			t.Error(err)
		}
		var did []string
		entries, err := b.Audited(t.Context(), third.Store, 10)
		must(err)
		for _, e := range entries {
			did = append(did, e.Did)
		}
		if len(did) != 3 {
			t.Errorf("its audit log: %v", did)
		}
		d, err := b.Directory(t.Context())
		must(err)
		if got, ok := d.OfStore("ann.3"); !ok || got.Name != "ann" || d.Len() != 1 || !d.Admits("ann.3", kept.ID, noon) ||
			d.Admits("ann", kept.ID, noon) {
			t.Errorf("the directory has %+v", d.Tenants())
		}
		removed, err := b.Removed(t.Context(), "ANN")
		must(err)
		want := []tenant.Removed{{Store: "ann", Removed: noon}, {Store: "Ann.2", Removed: noon}}
		if diff := cmp.Diff(want, removed); diff != "" {
			t.Errorf("removed: %s", diff)
		}
	})
}

// A replica of the version before, which knows no stores, finds nothing of a removed tenant under
// the name of a new one: it cannot open a store of the name that it reads. What it removes is
// known.
func TestBook_theVersionBeforeInheritsNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "book.sqlite")
	b, err := book.Open(t.Context(), path, func() time.Time { return noon })
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	for _, err := range []error{b.Add(t.Context(), "", tenant.Tenant{Name: "ann"}), b.Remove(t.Context(), "", "ann"),
		b.Add(t.Context(), "", tenant.Tenant{Name: "ann"})} {
		if err != nil {
			t.Fatal(err)
		}
	}
	before, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer before.Close()
	var name string
	if err := before.QueryRowContext(t.Context(), `SELECT name FROM book_tenant`).Scan(&name); err != nil ||
		tenant.CheckName(name) == nil {
		t.Errorf("it opens the store of %q, %v", name, err)
	}
	done, err := before.ExecContext(t.Context(), `INSERT INTO book_tenant (name, folded, settings, created)
		VALUES ('ann', 'ann', '{}', 1) ON CONFLICT DO NOTHING`)
	if n, _ := done.RowsAffected(); err != nil || n != 0 {
		t.Errorf("it adds a tenant of this name: %d, %v", n, err)
	}
	for _, statement := range []string{`DELETE FROM book_tenant WHERE name = 'ann.2'`,
		`INSERT INTO book_audit (time, id, tenant, who, did, session, what) VALUES (7000, 'x', 'ann.2', '', 'tenant remove', '', '')`} {
		if _, err := before.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.Add(t.Context(), "", tenant.Tenant{Name: "ann"}); err != nil {
		t.Fatal(err)
	}
	if got, err := b.Tenant(t.Context(), "ann"); err != nil || got.Store != "ann.3" {
		t.Errorf("after that its store is %q, %v", got.Store, err)
	}
	if err := b.Add(t.Context(), "", tenant.Tenant{Name: "ANN"}); !errors.Is(err, tenant.ErrExists) {
		t.Errorf("another one of this name: %v", err)
	}
}
