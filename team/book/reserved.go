package book

import (
	"cmp"
	"context"
	"database/sql"
	"maps"
	"slices"
	"time"

	"github.com/winnowhq/winnow/gateway/tenant"
)

// Reserve makes a reservation, unless allow is against it, which is told what the tenant and the
// person have spent and reserved, through every process. Its error is returned as it is.
// Reservations of one tenant are made one after the other.
func (b *Book) Reserve(ctx context.Context, r tenant.Reservation, now time.Time,
	allow func(all, person tenant.Account) error) error {
	tx, err := b.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	// The row is locked by being written.
	done, err := tx.ExecContext(ctx, `UPDATE book_tenant SET created = created WHERE name = $1`, r.Tenant)
	if err := some(done, err, noTenant(r.Tenant)); err != nil {
		return err
	}
	// In this order: an expense settled in between counts twice rather than not at all.
	var all, person tenant.Account
	err = tx.QueryRowContext(ctx, `SELECT coalesce(sum(dollars), 0),
		coalesce(sum(CASE WHEN person = $1 THEN dollars ELSE 0 END), 0)
		FROM book_reserved WHERE tenant = $2 AND expires > $3`, r.Person, r.Tenant, millis(now)).
		Scan(&all.Reserved, &person.Reserved)
	if err != nil {
		return err
	}
	if all.Spent, err = spentOf(ctx, tx, r.Tenant, now); err != nil {
		return err
	}
	if r.Person != "" {
		people, err := peopleOf(ctx, tx, r.Tenant, r.Person, now)
		if err != nil {
			return err
		}
		person.Spent = people[r.Person]
	}
	if err := allow(all, person); err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, `INSERT INTO book_reserved (id, tenant, person, process, dollars, expires)
		VALUES ($1, $2, $3, $4, $5, $6)`, r.ID, r.Tenant, r.Person, r.Process, r.Dollars,
		millis(r.Expires)); err != nil {
		return err
	}
	return tx.Commit()
}

// Settle adds what a tenant spent on days, and takes back the reservations that were made for it,
// all of it or nothing. After an error it is not known to have been done; if the connection broke
// just then, it may have been.
func (b *Book) Settle(ctx context.Context, name string, days map[tenant.Spender]tenant.Expense,
	reservations []string) error {
	tx, err := b.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	// In one order, so that two processes do not wait for each other.
	order := slices.SortedFunc(maps.Keys(days), func(a, b tenant.Spender) int {
		return cmp.Or(cmp.Compare(a.Day, b.Day), cmp.Compare(a.Person, b.Person))
	})
	for _, by := range order {
		e := days[by]
		if err := spend(ctx, tx, name, e, by.Day); err != nil {
			return err
		}
		if by.Person == "" {
			continue
		}
		if _, err := tx.ExecContext(ctx, `INSERT INTO book_person (tenant, person, day, dollars, estimated, requests)
			VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (tenant, person, day) DO UPDATE SET
			dollars = book_person.dollars + excluded.dollars, estimated = book_person.estimated + excluded.estimated,
			requests = book_person.requests + excluded.requests`, name, by.Person, by.Day, e.Dollars, e.Estimated,
			e.Requests); err != nil {
			return err
		}
	}
	for _, id := range reservations {
		if _, err := tx.ExecContext(ctx, `DELETE FROM book_reserved WHERE id = $1`, id); err != nil {
			return err
		}
	}
	return tx.Commit()
}

// Renew lets the reservations of a process expire later, as it is alive, and forgets those that
// have expired.
func (b *Book) Renew(ctx context.Context, process string, expires, now time.Time) error {
	_, err := b.db.ExecContext(ctx, `UPDATE book_reserved SET expires = $1 WHERE process = $2`, millis(expires), process)
	if err != nil {
		return err
	}
	_, err = b.db.ExecContext(ctx, `DELETE FROM book_reserved WHERE expires <= $1`, millis(now))
	return err
}

// executor is one of *sql.DB and *sql.Tx.
type executor interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
	source
}
