package book

import (
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/hex"
	"fmt"
	"time"

	"github.com/winnowhq/winnow/gateway/tenant"
	"github.com/winnowhq/winnow/text/quantity"
)

// execer is one of *sql.DB and *sql.Tx.
type execer interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

func (b *Book) write(ctx context.Context, to execer, e tenant.Entry) error {
	id := make([]byte, 8)
	rand.Read(id) // it never fails
	if e.Time.IsZero() {
		e.Time = b.now()
	}
	_, err := to.ExecContext(ctx, `INSERT INTO book_audit (time, id, tenant, who, person, did, session, what)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`, millis(e.Time), hex.EncodeToString(id), e.Tenant, e.Who, e.Person,
		e.Did, e.Session, e.What)
	return err
}

// Audit notes who did what. A zero time is now.
func (b *Book) Audit(ctx context.Context, e tenant.Entry) error { return b.write(ctx, b.db, e) }

// ExpireAudit deletes the entries that are older than a time, of all tenants, and notes that as who
// did it, if there were any.
func (b *Book) ExpireAudit(ctx context.Context, who string, before time.Time) (deleted int, err error) {
	tx, err := b.db.BeginTx(ctx, nil)
	if err != nil {
		return 0, err
	}
	defer tx.Rollback()
	if err := b.findRemoved(ctx, tx); err != nil { // they are known by this log alone
		return 0, err
	}
	deleted, err = affected(tx.ExecContext(ctx, `DELETE FROM book_audit WHERE time < $1`, millis(before)))
	if err != nil || deleted == 0 {
		return 0, err
	}
	what := fmt.Sprintf("%s before %s", quantity.Count(deleted, "entry"), before.UTC().Format(time.RFC3339))
	if err := b.write(ctx, tx, tenant.Entry{Who: who, Did: "audit expiry", What: what}); err != nil {
		return 0, err
	}
	return deleted, tx.Commit()
}

// Audited are the newest entries about a tenant, "" for all, the newest first, at most so many.
func (b *Book) Audited(ctx context.Context, of string, most int) ([]tenant.Entry, error) {
	return rows(ctx, b.db, func(r row) (e tenant.Entry, err error) {
		var ms int64
		err = r.Scan(&ms, &e.Tenant, &e.Who, &e.Person, &e.Did, &e.Session, &e.What)
		e.Time = fromMillis(ms)
		return e, err
	}, `SELECT time, tenant, who, person, did, session, what FROM book_audit WHERE tenant = $1 OR $2 = ''
		ORDER BY time DESC, id LIMIT $3`, of, of, most)
}
