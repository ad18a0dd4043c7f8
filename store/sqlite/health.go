package sqlite

import (
	"context"
	"os"
	"strconv"

	"github.com/winnowhq/winnow/store"
)

// Check looks through the whole file for damage, without comparing indexes with their tables. It
// reads all of it: the context may end it.
func (s *Store) Check(ctx context.Context) (store.Health, error) {
	var h store.Health
	for _, suffix := range []string{"", "-wal"} {
		if info, err := os.Stat(s.path + suffix); err == nil {
			h.Bytes += info.Size()
		}
	}
	if err := s.reader.db.QueryRowContext(ctx, `PRAGMA user_version`).Scan(&h.Schema); err != nil {
		return h, explain(ctx, "check", s.path, "", err)
	}
	rows, err := s.reader.db.QueryContext(ctx, `PRAGMA quick_check(`+strconv.Itoa(store.MostProblems)+`)`)
	if err != nil {
		return h, explain(ctx, "check", s.path, "", err)
	}
	defer rows.Close()
	for rows.Next() {
		var text string
		if err := rows.Scan(&text); err != nil {
			return h, explain(ctx, "check", s.path, "", err)
		}
		if text != "ok" {
			h.Problems = append(h.Problems, text)
		}
	}
	if err := rows.Err(); err != nil {
		return h, explain(ctx, "check", s.path, "", err)
	}
	return h, nil
}
