package sqlite

import (
	"context"

	"github.com/winnowhq/winnow/store"
)

var _ store.Unindexer = (*Store)(nil)

// KeepIndex says whether the store has an index of words. Without one it is dropped at once; the
// file keeps its room for what comes.
func (s *Store) KeepIndex(ctx context.Context, keep bool) (err error) {
	defer s.explain(ctx, "index", "", &err)
	if s.writer == nil {
		return store.ErrReadOnly
	}
	if without, err := s.unindexed(ctx); err != nil || without != keep {
		return err
	}
	return s.write(ctx, func(t *transaction) error {
		if keep {
			return t.exec(`DELETE FROM unindexed`)
		}
		for _, sql := range []string{`INSERT OR IGNORE INTO unindexed VALUES (1)`, `INSERT INTO found (found) VALUES ('delete-all')`,
			`DELETE FROM sought`, `DELETE FROM stale`, `UPDATE session SET indexed = 0 WHERE indexed > 0`} {
			if err := t.exec(sql); err != nil {
				return err
			}
		}
		return nil
	})
}

// unindexed reports whether the store does without an index.
func (s *Store) unindexed(ctx context.Context) (without bool, err error) {
	err = s.reader.db.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM unindexed)`).Scan(&without)
	return without, err
}
