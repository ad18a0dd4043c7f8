package postgres

import (
	"context"

	"github.com/jackc/pgerrcode"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/winnowhq/winnow/store"
)

// batchDropped is of how many sessions one transaction drops the index.
const batchDropped = 20

// KeepIndex says whether the tenant has an index of words. Without one it is dropped, some sessions
// at a time, and its room is given back to the disk once no tenant has any.
func (s *Store) KeepIndex(ctx context.Context, keep bool) (err error) {
	defer s.explain(ctx, "index", "", &err)
	if err := s.writable(ctx); err != nil {
		return err
	}
	var without, some bool
	if err := s.one(ctx, `SELECT EXISTS (SELECT FROM unindexed WHERE tenant = $1),
		EXISTS (SELECT FROM found WHERE tenant = $1)`, []any{s.tenant}, &without, &some); err != nil {
		return err
	}
	switch {
	case keep && without:
		return s.alone(ctx, true, func(i *indexer) error { return i.exec(`DELETE FROM unindexed WHERE tenant = $1`) })
	case keep:
		return nil
	case !without:
		if err := s.alone(ctx, true, func(i *indexer) error {
			return i.exec(`INSERT INTO unindexed VALUES ($1) ON CONFLICT DO NOTHING`)
		}); err != nil {
			return err
		}
	case !some:
		return nil
	}
	for last := int64(-1); ; {
		nums, err := rows(ctx, s, pgx.RowTo[int64], `SELECT num FROM session
			WHERE tenant = $1 AND num > $2 AND indexed > 0 ORDER BY num LIMIT $3`, s.tenant, last, batchDropped)
		if err != nil {
			return err
		}
		if len(nums) == 0 {
			return s.shrink(ctx)
		}
		if err := s.alone(ctx, true, func(i *indexer) error { return i.drop(nums) }); err != nil {
			return err
		}
		last = nums[len(nums)-1]
	}
}

// drop drops the index of sessions.
func (i *indexer) drop(nums []int64) error {
	for _, num := range nums {
		if _, err := i.stays(num); err != nil {
			return err
		}
	}
	for _, sql := range []string{
		`DELETE FROM found WHERE tenant = $1 AND session = ANY ($2)`,
		`DELETE FROM stale WHERE tenant = $1 AND session = ANY ($2)`,
		// Last, because changes of the sessions wait from here on.
		`UPDATE session SET indexed = 0 WHERE tenant = $1 AND num = ANY ($2)`,
	} {
		if err := i.exec(sql, nums); err != nil {
			return err
		}
	}
	return nil
}

// shrink gives the room of the index back to the disk if it holds nothing: deleted rows keep it.
// Only the owner of the tables may, and searches and deletions wait meanwhile.
func (s *Store) shrink(ctx context.Context) error {
	const some = `SELECT EXISTS (SELECT FROM found)`
	err := s.with(ctx, func(c *pgxpool.Conn) error {
		var full bool
		if err := c.QueryRow(ctx, some).Scan(&full); err != nil || full {
			return err
		}
		return pgx.BeginFunc(ctx, c, func(tx pgx.Tx) error {
			if _, err := tx.Exec(ctx, `LOCK TABLE found IN ACCESS EXCLUSIVE MODE`); err != nil {
				return err
			}
			if err := tx.QueryRow(ctx, some).Scan(&full); err != nil || full {
				return err
			}
			_, err := tx.Exec(ctx, `TRUNCATE found`)
			return err
		})
	})
	if c := code(err); c == pgerrcode.InsufficientPrivilege || c == pgerrcode.LockNotAvailable {
		return nil
	}
	return err
}

var _ store.Unindexer = (*Store)(nil)
