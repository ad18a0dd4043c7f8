package book

import (
	"context"
	"database/sql"
	"strings"

	"github.com/winnowhq/winnow/gateway/tenant"
)

const selectRemoved = `SELECT store, removed, retention, erased FROM book_removed`

func readRemoved(r row) (t tenant.Removed, err error) {
	var removed, erased int64
	if err := r.Scan(&t.Store, &removed, &t.Retention, &erased); err != nil {
		return t, err
	}
	t.Removed, t.Erased = fromMillis(removed), fromMillis(erased)
	return t, nil
}

// Removed are the removed tenants of a name, "" for all, the first generation first. A replica of
// the version before may have added one again whose store it then shares: that one is not removed.
func (b *Book) Removed(ctx context.Context, name string) ([]tenant.Removed, error) {
	tx, err := b.db.BeginTx(ctx, nil)
	if err != nil {
		return nil, err
	}
	defer tx.Rollback()
	if err := b.findRemoved(ctx, tx); err != nil {
		return nil, err
	}
	folded := strings.ToLower(name)
	all, err := rows(ctx, tx, readRemoved, selectRemoved+` WHERE (folded = $1 OR $2 = '')
		AND lower(store) NOT IN (SELECT lower(name) FROM book_tenant) ORDER BY folded, generation, store`, folded, folded)
	if err != nil {
		return nil, err
	}
	return all, tx.Commit()
}

// findRemoved notes the tenants that a replica of the version before has removed: it leaves an
// entry in the audit log alone.
func (b *Book) findRemoved(ctx context.Context, tx *sql.Tx) error {
	type found struct {
		store string
		at    int64
	}
	all, err := rows(ctx, tx, func(r row) (f found, err error) {
		err = r.Scan(&f.store, &f.at)
		return f, err
	}, `SELECT tenant, max(time) FROM book_audit WHERE did = 'tenant remove' AND tenant NOT IN (
		SELECT store FROM book_removed) AND lower(tenant) NOT IN (
		SELECT lower(name) FROM book_tenant) GROUP BY tenant`)
	if err != nil {
		return err
	}
	for _, f := range all {
		name, generation, err := tenant.ParseStoreName(f.store)
		if err != nil {
			continue
		}
		if err := bury(ctx, tx, tenant.Tenant{Name: name, Store: f.store}, generation, f.at); err != nil {
			return err
		}
	}
	return nil
}

// bury notes that a tenant was removed at a time.
func bury(ctx context.Context, tx *sql.Tx, t tenant.Tenant, generation int, at int64) error {
	_, err := tx.ExecContext(ctx, `INSERT INTO book_removed (store, folded, generation, removed, retention, erased)
		VALUES ($1, $2, $3, $4, $5, 0) ON CONFLICT DO NOTHING`, t.Store, strings.ToLower(t.Name), generation, at,
		t.Retention)
	return err
}

// storeFor is the name of the store of a tenant that is added now.
func (b *Book) storeFor(ctx context.Context, tx *sql.Tx, name string) (store string, err error) {
	if err := b.findRemoved(ctx, tx); err != nil {
		return "", err
	}
	var last int
	err = tx.QueryRowContext(ctx, `SELECT coalesce(max(generation), 0) FROM book_removed WHERE folded = $1`,
		strings.ToLower(name)).Scan(&last)
	return tenant.StoreName(name, last+1), err
}
