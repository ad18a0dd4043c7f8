package book

import (
	"context"
	"time"

	"github.com/winnowhq/winnow/tenant"
)

// Spend adds what a tenant spent on the day of a time, in US dollars. After an error it is not
// known to have been added; if the connection broke just then, it may have been.
func (b *Book) Spend(ctx context.Context, name string, dollars float64, at time.Time) error {
	_, err := b.db.ExecContext(ctx, `INSERT INTO book_spent (tenant, day, dollars) VALUES ($1, $2, $3)
		ON CONFLICT (tenant, day) DO UPDATE SET dollars = book_spent.dollars + excluded.dollars`,
		name, tenant.DayOf(at), dollars)
	return err
}

// AtLeast raises what a tenant spent on the day of a time to an amount that is known from its
// sessions: a process that was killed may have kept its newest requests there alone.
func (b *Book) AtLeast(ctx context.Context, name string, dollars float64, at time.Time) error {
	if dollars <= 0 {
		return nil
	}
	_, err := b.db.ExecContext(ctx, `INSERT INTO book_spent (tenant, day, dollars) VALUES ($1, $2, $3)
		ON CONFLICT (tenant, day) DO UPDATE SET dollars = excluded.dollars WHERE book_spent.dollars < excluded.dollars`,
		name, tenant.DayOf(at), dollars)
	return err
}

// Spent is what a tenant spent on the day of a time and in its month, in US dollars, through every
// process.
func (b *Book) Spent(ctx context.Context, name string, at time.Time) (s tenant.Spent, err error) {
	day := tenant.DayOf(at)
	first := day[:len("2026-01-")] + "01"
	err = b.db.QueryRowContext(ctx, `SELECT
		coalesce(sum(CASE WHEN day = $1 THEN dollars ELSE 0 END), 0), coalesce(sum(dollars), 0)
		FROM book_spent WHERE tenant = $2 AND day >= $3 AND day <= $4`, day, name, first, day).Scan(&s.Day, &s.Month)
	return s, err
}
