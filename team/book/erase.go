package book

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/winnowhq/winnow/gateway/tenant"
)

// EraseRemoved erases what the book has of removed tenants, by their stores, but for the entries that
// say that they were erased, and adds the entry e. It returns how many entries of the audit log
// went. ErrExists if one of them was not removed.
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

// scrub takes what was deleted out of the bytes of a file. Of a database that is for the server.
func (b *Book) scrub(ctx context.Context) error {
	if !b.file {
		return nil
	}
	for _, statement := range []string{`VACUUM`, `PRAGMA wal_checkpoint(TRUNCATE)`} {
		if _, err := b.db.ExecContext(ctx, statement); err != nil {
			return fmt.Errorf("the book of tenants: %w", err)
		}
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
