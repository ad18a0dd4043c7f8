package source

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/winnowhq/winnow/cmd/winnow/internal/cli"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/store/postgres"
	"github.com/winnowhq/winnow/store/sqlite"
	"github.com/winnowhq/winnow/tenant"
	"github.com/winnowhq/winnow/tenant/book"
)

// tenantsDir is the folder beside the store in which tenants have their own stores.
const tenantsDir = "tenants"

// TenantFile is the file of a tenant's store, beside the file of the main one.
func TenantFile(main, name string) string {
	return filepath.Join(filepath.Dir(main), tenantsDir, name+".db")
}

// BookAt is where the book of tenants is: the database of the store, or a file beside it; "" if
// there is no home folder.
func BookAt(a *cli.App) string {
	at := StoreAt(a)
	if at == "" || book.IsPostgres(at) {
		return at
	}
	return filepath.Join(filepath.Dir(at), tenantsDir, "book.sqlite") // no tenant's name has a dot
}

// OpenBook opens the book of tenants. ErrNoStore if there is no book and none is to be made.
func OpenBook(ctx context.Context, a *cli.App, want Access) (*book.Book, error) {
	at := BookAt(a)
	if at == "" {
		return nil, cli.Usage("there is no home folder to keep tenants in; name a file with --store")
	}
	if !book.IsPostgres(at) && want != Making {
		if _, err := os.Stat(at); errors.Is(err, fs.ErrNotExist) {
			return nil, cli.Hint(fmt.Errorf("%w of tenants at %s", ErrNoStore, at), "winnow tenant add NAME makes the first one")
		}
	}
	if book.IsPostgres(at) {
		at = StoreForChild(a) // with what is secret in it
	}
	return book.Open(ctx, at, a.Env.Now)
}

// OpenTenant opens the store of a tenant, which has the sessions of that tenant alone. It is made
// if it is missing.
func OpenTenant(ctx context.Context, a *cli.App, name string) (store.Store, error) {
	if err := tenant.CheckName(name); err != nil { // it becomes a path
		return nil, err
	}
	at := StoreAt(a)
	if book.IsPostgres(at) {
		return OpenNamed(ctx, a, postgres.WithTenant(StoreForChild(a), name), Making)
	}
	s, err := sqlite.Open(ctx, sqlite.Config{Path: TenantFile(at, name), Now: a.Env.Now})
	if err != nil {
		return nil, err // not a nil *sqlite.Store, which would be a store that is not nil
	}
	return s, nil
}
