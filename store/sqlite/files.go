package sqlite

import (
	"context"
	"database/sql"

	"github.com/winnowhq/winnow/store"
)

var _ store.Filer = (*Store)(nil)

// Files returns the files that were read before, by path.
func (s *Store) Files(ctx context.Context) (files map[string]store.File, err error) {
	defer s.explain(ctx, "files", "", &err)
	rows, err := s.reader.db.QueryContext(ctx, `SELECT path, size, modified, seen, hash, session, messages FROM file`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	files = map[string]store.File{}
	for rows.Next() {
		var f store.File
		var hash sql.RawBytes
		if err := rows.Scan(&f.Path, &f.Size, &f.Modified, &f.Seen, &hash, &f.Session, &f.Messages); err != nil {
			return nil, err
		}
		copy(f.Hash[:], hash)
		files[f.Path] = f
	}
	return files, rows.Err()
}

// SetFiles remembers files in one transaction.
func (s *Store) SetFiles(ctx context.Context, files ...store.File) (err error) {
	defer s.explain(ctx, "files", "", &err)
	return s.write(ctx, func(t *transaction) error {
		for _, f := range files {
			if err := t.file(f); err != nil {
				return err
			}
		}
		return nil
	})
}

func (t *transaction) file(f store.File) error {
	return t.exec(`INSERT OR REPLACE INTO file (path, size, modified, seen, hash, session, messages)
		VALUES (?, ?, ?, ?, ?, ?, ?)`,
		f.Path, f.Size, f.Modified, f.Seen, f.Hash[:], f.Session, f.Messages)
}
