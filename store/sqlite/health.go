package sqlite

import (
	"context"
	"os"
)

// Health is how a store's file is.
type Health struct {
	Schema   int      // version of the tables
	Bytes    int64    // of the file and its log
	Problems []string // what SQLite found wrong; none in a sound file
}

// mostProblems is how many problems SQLite names before it stops looking.
const mostProblems = "5"

// Check looks through the whole file for damage, without comparing indexes with their tables. It
// reads all of it: the context may end it.
func (s *Store) Check(ctx context.Context) (Health, error) {
	var h Health
	for _, suffix := range []string{"", "-wal"} {
		if info, err := os.Stat(s.path + suffix); err == nil {
			h.Bytes += info.Size()
		}
	}
	if err := s.reader.db.QueryRowContext(ctx, `PRAGMA user_version`).Scan(&h.Schema); err != nil {
		return h, explain(ctx, "check", s.path, "", err)
	}
	rows, err := s.reader.db.QueryContext(ctx, `PRAGMA quick_check(`+mostProblems+`)`)
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
