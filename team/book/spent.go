package book

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/winnowhq/winnow/gateway/tenant"
)

// Spend adds what a tenant spent on the day of a time. After an error it is not known to have been
// added; if the connection broke just then, it may have been.
func (b *Book) Spend(ctx context.Context, name string, e tenant.Expense, at time.Time) error {
	return spend(ctx, b.db, name, e, tenant.DayOf(at))
}

func spend(ctx context.Context, db executor, name string, e tenant.Expense, day string) error {
	_, err := db.ExecContext(ctx, `INSERT INTO book_spent (tenant, day, dollars, estimated, requests)
		VALUES ($1, $2, $3, $4, $5) ON CONFLICT (tenant, day) DO UPDATE SET
		dollars = book_spent.dollars + excluded.dollars, estimated = book_spent.estimated + excluded.estimated,
		requests = book_spent.requests + excluded.requests`, name, day, e.Dollars, e.Estimated, e.Requests)
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
func (b *Book) Spent(ctx context.Context, name string, at time.Time) (tenant.Spent, error) {
	return spentOf(ctx, b.db, name, at)
}

func spentOf(ctx context.Context, db executor, name string, at time.Time) (s tenant.Spent, err error) {
	day := tenant.DayOf(at)
	first := day[:len("2026-01-")] + "01"
	err = db.QueryRowContext(ctx, `SELECT
		coalesce(sum(CASE WHEN day = $1 THEN dollars ELSE 0 END), 0), coalesce(sum(dollars), 0),
		coalesce(sum(estimated), 0)
		FROM book_spent WHERE tenant = $2 AND day >= $3 AND day <= $4`, day, name, first, day).
		Scan(&s.Day, &s.Month, &s.Estimated)
	return s, err
}

// People are what the people of a tenant spent on the day of a time and in its month, by person.
func (b *Book) People(ctx context.Context, name string, at time.Time) (map[string]tenant.Spent, error) {
	return peopleOf(ctx, b.db, name, "", at)
}

// peopleOf are the sums of a person, "" for all of a tenant.
func peopleOf(ctx context.Context, db source, name, person string, at time.Time) (map[string]tenant.Spent, error) {
	day := tenant.DayOf(at)
	first := day[:len("2026-01-")] + "01"
	people := map[string]tenant.Spent{}
	_, err := rows(ctx, db, func(r row) (struct{}, error) {
		var who string
		var s tenant.Spent
		err := r.Scan(&who, &s.Day, &s.Month, &s.Estimated)
		people[who] = s
		return struct{}{}, err
	}, `SELECT person, sum(CASE WHEN day = $1 THEN dollars ELSE 0 END), sum(dollars), sum(estimated) FROM book_person
		WHERE tenant = $2 AND (person = $3 OR $4 = '') AND day >= $5 AND day <= $6 GROUP BY person`, day, name, person,
		person, first, day)
	return people, err
}

// CloseUntil notes that the days up to that of a time have all that a tenant's sessions know. A day
// that was closed stays so.
func (b *Book) CloseUntil(ctx context.Context, name string, at time.Time) error {
	_, err := b.db.ExecContext(ctx, `INSERT INTO book_closed (tenant, day) VALUES ($1, $2)
		ON CONFLICT (tenant) DO UPDATE SET day = excluded.day WHERE book_closed.day < excluded.day`,
		name, tenant.DayOf(at))
	return err
}

// OpenSince is the beginning of the first day that is not closed; zero if none was closed yet.
func (b *Book) OpenSince(ctx context.Context, name string) (time.Time, error) {
	var day string
	err := b.db.QueryRowContext(ctx, `SELECT day FROM book_closed WHERE tenant = $1`, name).Scan(&day)
	if errors.Is(err, sql.ErrNoRows) {
		return time.Time{}, nil
	}
	if err != nil {
		return time.Time{}, err
	}
	closed, err := time.Parse(time.DateOnly, day)
	if err != nil {
		return time.Time{}, fmt.Errorf("the book of tenants: %w", err)
	}
	return closed.AddDate(0, 0, 1), nil
}

// Uses are how much each tenant asks, as of a time, by name. A tenant that never asked is not among
// them.
func (b *Book) Uses(ctx context.Context, at time.Time) (map[string]tenant.Use, error) {
	day := tenant.DayOf(at)
	first := day[:len("2026-01-")] + "01"
	type line struct {
		name string
		tenant.Use
	}
	spent, err := rows(ctx, b.db, func(r row) (l line, err error) {
		err = r.Scan(&l.name, &l.Spent.Day, &l.Spent.Month, &l.Spent.Estimated, &l.Requests.Day, &l.Requests.Month)
		return l, err
	}, `SELECT tenant, sum(CASE WHEN day = $1 THEN dollars ELSE 0 END), sum(dollars),
		sum(estimated), CAST(sum(CASE WHEN day = $2 THEN requests ELSE 0 END) AS BIGINT), CAST(sum(requests) AS BIGINT)
		FROM book_spent WHERE day >= $3 AND day <= $4 GROUP BY tenant`, day, day, first, day)
	if err != nil {
		return nil, err
	}
	seen, err := rows(ctx, b.db, func(r row) (l line, err error) {
		var used int64
		err = r.Scan(&l.name, &used)
		l.Seen = fromMillis(used)
		return l, err
	}, `SELECT tenant, max(used) FROM book_token GROUP BY tenant`)
	if err != nil {
		return nil, err
	}
	all := make(map[string]tenant.Use, len(seen))
	for _, l := range spent {
		all[l.name] = l.Use
	}
	for _, l := range seen {
		u := all[l.name]
		u.Seen = l.Seen
		all[l.name] = u
	}
	return all, nil
}
