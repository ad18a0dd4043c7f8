package source

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/winnowhq/winnow/cmd/internal/cli"
	"github.com/winnowhq/winnow/gateway/shared"
	"github.com/winnowhq/winnow/gateway/tenant"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/store/sqlite"
)

// tenantsDir is the folder beside the store in which tenants have their own stores.
const tenantsDir = "tenants"

// database is the address of the database that the store is in, "" for a file.
func database(a *cli.App) string {
	if at := storeName(a); store.IsURL(at) {
		return store.WithoutTenant(at)
	}
	return ""
}

// TenantFile is the file of a tenant's store, by the store's name; "" if it is in a database.
func TenantFile(a *cli.App, name string) string {
	if database(a) != "" || storeName(a) == "" {
		return ""
	}
	return filepath.Join(filepath.Dir(storeName(a)), tenantsDir, name+".db")
}

// BookAt is where the book of tenants is: the database of the store, or a file beside it; "" if
// there is no home folder.
func BookAt(a *cli.App) string {
	if at := database(a); at != "" || storeName(a) == "" {
		return at
	}
	return filepath.Join(filepath.Dir(storeName(a)), tenantsDir, "book.sqlite") // no store of a tenant is called so
}

// BookName names the book's place for people: the address of a database has a password in it.
func BookName(a *cli.App) string {
	if at := BookAt(a); !store.IsURL(at) {
		return at
	}
	return "the database of the store"
}

// TenantLeft is the file with the sessions of a tenant that was removed, "" if there is none.
func TenantLeft(a *cli.App, name string) string {
	file := TenantFile(a, name)
	if _, err := os.Stat(file); file == "" || err != nil {
		return ""
	}
	return file
}

// OpenBook opens the book of tenants. ErrNoStore, or in a database ErrNoTables, if there is no book
// and none is to be made.
func OpenBook(ctx context.Context, a *cli.App, want Access) (tenant.Book, error) {
	at := BookAt(a)
	if at == "" {
		return nil, cli.Usage("there is no home folder to keep tenants in; name a file with --store")
	}
	if !store.IsURL(at) && want != Making {
		if _, err := os.Stat(at); errors.Is(err, fs.ErrNotExist) {
			return nil, cli.Hint(fmt.Errorf("%w of tenants at %s", ErrNoStore, at),
				"winnowd tenant add NAME makes the first one")
		}
	}
	if store.IsURL(at) && want != Making {
		if err := tables(ctx, a, at, func(v shared.Versions) int64 { return v.Tenants }); err != nil {
			return nil, err
		}
	}
	return a.Shared.OpenBook(ctx, at, a.Env.Now)
}

// TenantStores opens the stores of tenants: each in a file of its own, or in one database that
// keeps them apart. It is safe for concurrent use.
type TenantStores struct {
	App *cli.App

	mu sync.Mutex
	db shared.Stores // nil before it is needed
}

// Open opens the store of a tenant by its name: see tenant.StoreName. It has the sessions of that
// tenant alone, and is made if it is missing.
func (s *TenantStores) Open(ctx context.Context, name string) (store.Store, error) {
	if _, _, err := tenant.ParseStoreName(name); err != nil { // it becomes a path
		return nil, err
	}
	at := database(s.App)
	if at == "" {
		kept, err := sqlite.Open(ctx, sqlite.Config{Path: TenantFile(s.App, name), Now: s.App.Env.Now})
		if err != nil {
			return nil, err // not a nil *sqlite.Store, which would be a store that is not nil
		}
		return kept, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.db == nil {
		db, err := s.App.Shared.OpenStores(ctx, at)
		if err != nil {
			return nil, err
		}
		s.db = db
	}
	return s.db.Tenant(name), nil
}

// Erase deletes the store of a tenant by its name, with everything that is in it. A missing one is
// not an error.
func (s *TenantStores) Erase(ctx context.Context, name string) (store.Amount, error) {
	if _, _, err := tenant.ParseStoreName(name); err != nil {
		return store.Amount{}, err
	}
	if file := TenantFile(s.App, name); file != "" {
		return sqlite.EraseFile(ctx, file)
	}
	kept, err := s.Open(ctx, name)
	if err != nil {
		return store.Amount{}, err
	}
	defer kept.Close()
	of, ok := kept.(shared.TenantStore)
	if !ok {
		return store.Amount{}, fmt.Errorf("the store of %s cannot be erased", name)
	}
	return of.EraseAll(ctx)
}

// Close closes what the stores share; they are closed themselves.
func (s *TenantStores) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.db == nil {
		return nil
	}
	return s.db.Close()
}
