package book

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/winnowhq/winnow/gateway/tenant"
)

// EraseRemoved erases what the book has of removed tenants, by their stores, but for the entries
// that say that they were erased, and adds the entry e. It returns how many entries of the audit
// log went. ErrExists if one of them was not removed.
func (b *Book) EraseRemoved(ctx context.Context, e tenant.Entry, stores ...string) (entries int, err error) {
	err = b.change(ctx, &e, func(tx *sql.Tx) error {
		for _, of := range stores {
			var there int
			if err := tx.QueryRowContext(ctx, `SELECT count(*) FROM book_tenant WHERE name = $1`, of).Scan(&there); err != nil {
				return err
			}
			if there > 0 {
				return fmt.Errorf("%w: the tenant whose store is %s; remove it first", tenant.ErrExists, of)
			}
			for _, table := range []string{"book_spent", "book_person", "book_closed", "book_reserved"} {
				if _, err := tx.ExecContext(ctx, `DELETE FROM `+table+` WHERE tenant = $1`, of); err != nil {
					return err
				}
			}
			n, err := affected(tx.ExecContext(ctx, `DELETE FROM book_audit WHERE tenant = $1 AND did <> $2`, of,
				tenant.Erased))
			if err != nil {
				return err
			}
			entries += n
			if _, err := tx.ExecContext(ctx, `UPDATE book_removed SET erased = $1 WHERE store = $2`, millis(b.now()),
				of); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	return entries, b.scrub(ctx)
}

// Clear has every process forget what it holds in memory of a tenant's sessions, and adds an entry
// to the audit log. ErrNotFound if there is no such tenant.
func (b *Book) Clear(ctx context.Context, name string, e tenant.Entry) error {
	return b.change(ctx, &e, func(tx *sql.Tx) (err error) {
		e.Tenant, err = clearIn(ctx, tx, name)
		return err
	})
}

// clearIn counts that a tenant was cleared, and returns its store.
func clearIn(ctx context.Context, tx *sql.Tx, name string) (store string, err error) {
	t, err := named(ctx, tx, name)
	if err != nil {
		return "", err
	}
	done, err := tx.ExecContext(ctx, `UPDATE book_tenant SET cleared = cleared + 1 WHERE name = $1`, t.Store)
	return t.Store, some(done, err, noTenant(name))
}

// ErasePerson deletes the tokens of a person within a tenant, makes what the person spent and
// reserved nobody's, takes the name off the audit log, and has every process forget what it holds
// in memory of the tenant's sessions. note is an entry to add, nil for none. It returns how many
// tokens went, and how many entries name nobody now.
func (b *Book) ErasePerson(ctx context.Context, name, person string, note *tenant.Entry) (tokens, entries int,
	err error) {
	err = b.change(ctx, note, func(tx *sql.Tx) error {
		of, err := clearIn(ctx, tx, name)
		if err != nil {
			return err
		}
		if note != nil {
			note.Tenant = of
		}
		const theirs = `tenant = $1 AND (owner = $2 OR owner = '' AND id = $3)`
		ids, err := rows(ctx, tx, func(r row) (id string, err error) {
			err = r.Scan(&id)
			return id, err
		}, `SELECT id FROM book_token WHERE `+theirs, of, person, person)
		if err != nil {
			return err
		}
		tokens = len(ids)
		// Of other tenants' pages, too, what these tokens did.
		for _, id := range ids {
			n, err := affected(tx.ExecContext(ctx, `UPDATE book_audit SET person = '' WHERE who = $1 AND person = $2`, id,
				person))
			if err != nil {
				return err
			}
			entries += n
		}
		n, err := affected(tx.ExecContext(ctx, `UPDATE book_audit SET person = '',
			who = CASE WHEN who = $1 OR who = $2 THEN '' ELSE who END
			WHERE tenant = $3 AND (person = $4 OR who = $5 OR who = $6)`, person, signedIn+person, of, person, person,
			signedIn+person))
		if err != nil {
			return err
		}
		entries += n
		for _, statement := range []string{`DELETE FROM book_person WHERE tenant = $1 AND person = $2`,
			`UPDATE book_reserved SET person = '' WHERE tenant = $1 AND person = $2`} {
			if _, err := tx.ExecContext(ctx, statement, of, person); err != nil {
				return err
			}
		}
		_, err = tx.ExecContext(ctx, `DELETE FROM book_token WHERE `+theirs, of, person, person)
		return err
	})
	if err != nil {
		return 0, 0, err
	}
	return tokens, entries, b.scrub(ctx)
}

// signedIn stands before the name of somebody who signed in: see package signin.
const signedIn = "oidc:"

// scrub takes what was deleted out of the bytes of a file. Of a database that is for the server.
func (b *Book) scrub(ctx context.Context) error {
	if !b.file {
		return nil
	}
	if _, err := b.db.ExecContext(ctx, `VACUUM`); err != nil {
		return fmt.Errorf("the book of tenants: %w", err)
	}
	var busy, pages, folded int
	err := b.db.QueryRowContext(ctx, `PRAGMA wal_checkpoint(TRUNCATE)`).Scan(&busy, &pages, &folded)
	if err == nil && busy != 0 {
		err = errors.New("others go on reading what is erased, so that it stays in the write-ahead log; try again")
	}
	if err != nil {
		return fmt.Errorf("the book of tenants: %w", err)
	}
	return nil
}

// affected is how many rows a statement has changed.
func affected(done sql.Result, err error) (int, error) {
	if err != nil {
		return 0, err
	}
	n, err := done.RowsAffected()
	return int(n), err
}
