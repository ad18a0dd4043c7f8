package book

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/winnowhq/winnow/gateway/tenant"
)

// sum is the spending of a person of a tenant, or of all of them.
type sum struct {
	tenant, person string
	tenant.Spent
}

// Sums are the spending of some tenants, and of the people of some, on the day of a time and in its
// month, by tenant.
func (b *Book) Sums(ctx context.Context, of, peopleOf []string, at time.Time) (spent map[string]tenant.Spent,
	people map[string]map[string]tenant.Spent, err error) {
	all, err := b.sums(ctx, "book_spent", "''", of, at)
	if err != nil {
		return nil, nil, err
	}
	each, err := b.sums(ctx, "book_person", "person", peopleOf, at)
	if err != nil {
		return nil, nil, err
	}
	spent, people = map[string]tenant.Spent{}, map[string]map[string]tenant.Spent{}
	for _, s := range all {
		spent[s.tenant] = s.Spent
	}
	for _, s := range each {
		if people[s.tenant] == nil {
			people[s.tenant] = map[string]tenant.Spent{}
		}
		people[s.tenant][s.person] = s.Spent
	}
	return spent, people, nil
}

// sums are those of a table for some tenants, one for each value of person.
func (b *Book) sums(ctx context.Context, table, person string, of []string, at time.Time) ([]sum, error) {
	if len(of) == 0 {
		return nil, nil
	}
	day := tenant.DayOf(at)
	values := []any{day, day[:len("2026-01-")] + "01", day}
	var names []string
	for _, name := range of {
		values = append(values, name)
		names = append(names, fmt.Sprintf("$%d", len(values)))
	}
	return rows(ctx, b.db, func(r row) (s sum, err error) {
		err = r.Scan(&s.tenant, &s.person, &s.Day, &s.Month, &s.Estimated)
		return s, err
	}, fmt.Sprintf(`SELECT tenant, %s AS who, sum(CASE WHEN day = $1 THEN dollars ELSE 0 END), sum(dollars),
		sum(estimated) FROM %s WHERE day >= $2 AND day <= $3 AND tenant IN (%s) GROUP BY tenant, who`, person, table,
		strings.Join(names, ", ")), values...)
}
