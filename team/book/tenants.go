package book

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/winnowhq/winnow/gateway/tenant"
)

// settings are what a tenant is beside its name.
type settings struct {
	Limits     tenant.Limits     `json:"limits,omitzero"`
	Budget     tenant.Budget     `json:"budget,omitzero"`
	Each       tenant.Budget     `json:"each,omitzero"`
	Retention  int               `json:"retention,omitzero"`
	KeepPinned bool              `json:"keepPinned,omitzero"`
	Capture    string            `json:"capture,omitzero"`
	Mode       string            `json:"mode,omitzero"`
	Keys       map[string]string `json:"keys,omitempty"`
	Routes     []string          `json:"routes,omitempty"`
	Models     []string          `json:"models,omitempty"`
}

func settingsOf(t tenant.Tenant) (string, error) {
	text, err := json.Marshal(settings{t.Limits, t.Budget, t.Each, t.Retention, t.KeepPinned, t.Capture, t.Mode, t.Keys,
		t.Routes, t.Models}, json.Deterministic(true))
	return string(text), err
}

// Add adds a tenant. ErrExists if there is one of that name, in whatever case. who is noted in the
// audit log, here and below.
func (b *Book) Add(ctx context.Context, who string, t tenant.Tenant) error {
	if err := t.Check(); err != nil {
		return err
	}
	text, err := settingsOf(t)
	if err != nil {
		return err
	}
	e := &tenant.Entry{Who: who, Did: "tenant add", What: text}
	return b.change(ctx, e, func(tx *sql.Tx) (err error) {
		if e.Tenant, err = b.storeFor(ctx, tx, t.Name); err != nil {
			return err
		}
		shown := ""
		if e.Tenant != t.Name {
			shown = t.Name
		}
		done, err := tx.ExecContext(ctx, `INSERT INTO book_tenant (name, folded, settings, created, shown)
			VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING`, e.Tenant, strings.ToLower(t.Name), text,
			millis(b.now()), shown)
		return some(done, err, fmt.Errorf("%w: the tenant %s", tenant.ErrExists, t.Name))
	})
}

// some is missing unless something was changed.
func some(done sql.Result, err, missing error) error {
	if err != nil {
		return err
	}
	n, err := done.RowsAffected()
	if err == nil && n == 0 {
		return missing
	}
	return err
}

func noTenant(name string) error { return fmt.Errorf("%w: the tenant %s", tenant.ErrNotFound, name) }

// Set changes the settings of a tenant as edit says. ErrNotFound if there is no such tenant. What
// edit returns as an error changes nothing.
func (b *Book) Set(ctx context.Context, who, name string, edit func(*tenant.Tenant) error) (t tenant.Tenant,
	err error) {
	e := &tenant.Entry{Who: who, Did: "tenant set"}
	err = b.change(ctx, e, func(tx *sql.Tx) error {
		// The row is locked by being written, so that of two changes none is lost.
		done, err := tx.ExecContext(ctx, `UPDATE book_tenant SET created = created WHERE `+shownName+` = $1`,
			name)
		if err := some(done, err, noTenant(name)); err != nil {
			return err
		}
		if t, err = named(ctx, tx, name); err != nil {
			return err
		}
		e.Tenant = t.Store
		var before string
		if err := tx.QueryRowContext(ctx, `SELECT settings FROM book_tenant WHERE name = $1`, t.Store).
			Scan(&before); err != nil {
			return err
		}
		if err := edit(&t); err != nil {
			return err
		}
		t.Name, t.Store = name, e.Tenant
		if err := t.Check(); err != nil {
			return err
		}
		text, err := settingsOf(t)
		if err != nil {
			return err
		}
		if text, err = withUnknown(before, text); err != nil {
			return err
		}
		e.What = text
		_, err = tx.ExecContext(ctx, `UPDATE book_tenant SET settings = $1 WHERE name = $2`, text, t.Store)
		return err
	})
	return t, err
}

// Remove removes a tenant with its tokens. Its conversations are not the book's. ErrNotFound if
// there is no such tenant.
func (b *Book) Remove(ctx context.Context, who, name string) error {
	e := &tenant.Entry{Who: who, Did: "tenant remove"}
	return b.change(ctx, e, func(tx *sql.Tx) error {
		t, err := named(ctx, tx, name)
		if err != nil {
			return err
		}
		e.Tenant = t.Store
		if _, err := tx.ExecContext(ctx, `DELETE FROM book_token WHERE tenant = $1`, t.Store); err != nil {
			return err
		}
		done, err := tx.ExecContext(ctx, `DELETE FROM book_tenant WHERE name = $1`, t.Store)
		if err := some(done, err, noTenant(name)); err != nil {
			return err
		}
		_, generation, err := tenant.ParseStoreName(t.Store)
		if err != nil {
			return err
		}
		return bury(ctx, tx, t, generation, millis(b.now()))
	})
}

// shownName is the name of a tenant in SQL; its column name is that of its store.
const shownName = `CASE WHEN shown = '' THEN name ELSE shown END`

const selectTenants = `SELECT name, ` + shownName + `, settings, created, cleared FROM book_tenant`

// row is one of *sql.Row and *sql.Rows.
type row interface{ Scan(...any) error }

func readTenant(r row) (t tenant.Tenant, err error) {
	var text string
	var created int64
	if err := r.Scan(&t.Store, &t.Name, &text, &created, &t.Cleared); err != nil {
		return t, err
	}
	var s settings
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		return t, fmt.Errorf("the settings of the tenant %s are damaged: %w", t.Name, err)
	}
	t.Limits, t.Budget, t.Retention, t.Capture, t.Mode, t.Keys = s.Limits, s.Budget, s.Retention, s.Capture, s.Mode,
		s.Keys
	t.Each, t.KeepPinned = s.Each, s.KeepPinned
	t.Routes, t.Models, t.Created = s.Routes, s.Models, fromMillis(created)
	return t, nil
}

// Tenant is the tenant of a name. ErrNotFound if there is no such tenant.
func (b *Book) Tenant(ctx context.Context, name string) (tenant.Tenant, error) {
	return named(ctx, b.db, name)
}

// named is the tenant of a name, ErrNotFound if there is no such tenant.
func named(ctx context.Context, db executor, name string) (tenant.Tenant, error) {
	t, err := readTenant(db.QueryRowContext(ctx, selectTenants+` WHERE `+shownName+` = $1`, name))
	if errors.Is(err, sql.ErrNoRows) {
		err = noTenant(name)
	}
	return t, err
}

// Tenants are all tenants, by name.
func (b *Book) Tenants(ctx context.Context) ([]tenant.Tenant, error) {
	return rows(ctx, b.db, readTenant, selectTenants+` ORDER BY 2`)
}

// source is one of *sql.DB and *sql.Tx.
type source interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// rows are all rows of a query.
func rows[T any](ctx context.Context, from source, read func(row) (T, error), query string, args ...any) (
	all []T, err error) {
	found, err := from.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer found.Close()
	for found.Next() {
		one, err := read(found)
		if err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return all, found.Err()
}

// Directory is everything that the book knows of tenants and tokens, of one moment.
func (b *Book) Directory(ctx context.Context) (*tenant.Directory, error) {
	// The number comes first: what changes after it is read again.
	number, err := b.Revision(ctx)
	if err != nil {
		return nil, err
	}
	tenants, err := b.Tenants(ctx)
	if err != nil {
		return nil, err
	}
	tokens, err := b.Tokens(ctx, "")
	if err != nil {
		return nil, err
	}
	return tenant.NewDirectory(number, tenants, tokens), nil
}
