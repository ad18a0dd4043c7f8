package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/store/internal/packed"
)

var _ store.Eraser = (*Store)(nil)

// Erase deletes sessions, and writes the whole file anew without what they left in it.
func (s *Store) Erase(ctx context.Context, ids ...string) (all store.Amount, err error) {
	defer s.explain(ctx, "erase", "", &err)
	for _, id := range ids {
		err := s.write(ctx, func(t *transaction) error {
			gone, err := t.delete(id)
			if err == nil {
				all = all.Plus(gone)
			}
			return err
		})
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return all, err
		}
	}
	return all, s.scrub(ctx)
}

// scrub writes the file anew without what deleted rows left in it: in segments of the index of
// words, in pages that are free or have room, in the write-ahead log.
func (s *Store) scrub(ctx context.Context) error {
	if s.writer == nil {
		return store.ErrReadOnly
	}
	w := s.writer
	select {
	case w.taken <- struct{}{}:
		defer func() { <-w.taken }()
	case <-ctx.Done():
		return ctx.Err()
	}
	w.folded.Wait()
	for _, statement := range []string{`INSERT INTO found (found) VALUES ('optimize')`, `VACUUM`} {
		if _, err := w.db.ExecContext(ctx, statement); err != nil {
			return err
		}
	}
	var busy, pages, folded int
	err := w.db.QueryRowContext(ctx, `PRAGMA wal_checkpoint(TRUNCATE)`).Scan(&busy, &pages, &folded)
	if err == nil && busy != 0 {
		err = fmt.Errorf("%w: others go on reading what is erased, so that it stays in the write-ahead log; try again",
			store.ErrLocked)
	}
	return err
}

// Forget takes the name of a person off all requests.
func (s *Store) Forget(ctx context.Context, person string) (requests int, err error) {
	defer s.explain(ctx, "forget", "", &err)
	err = s.write(ctx, func(t *transaction) error {
		requests = 0
		type row struct {
			session, position int64
			data              []byte
		}
		var found []row
		rows, err := t.query(`SELECT session, position, data FROM spend WHERE relayed IS NOT NULL`)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var r row
			if err := rows.Scan(&r.session, &r.position, &r.data); err != nil {
				return err
			}
			found = append(found, r)
		}
		if err := rows.Err(); err != nil {
			return err
		}
		for _, r := range found {
			data, of, err := packed.Nobodys(r.data, person)
			if err != nil {
				return err
			}
			if !of {
				continue
			}
			requests++
			if err := t.exec(`UPDATE spend SET data = ? WHERE session = ? AND position = ?`, data, r.session,
				r.position); err != nil {
				return err
			}
			if err := t.exec(`UPDATE session SET revision = revision + 1 WHERE num = ?`, r.session); err != nil {
				return err
			}
		}
		return nil
	})
	return requests, err
}

// EraseFile deletes the file of a store with what SQLite keeps beside it, and returns how much was
// in it. A missing file is not an error.
func EraseFile(ctx context.Context, path string) (all store.Amount, err error) {
	if _, err := os.Stat(path); err == nil {
		if all, err = amountIn(ctx, path); err != nil && !errors.Is(err, store.ErrCorrupt) {
			return all, err
		}
	}
	for _, suffix := range []string{"", "-wal", "-shm", "-journal"} {
		if info, err := os.Stat(path + suffix); err == nil {
			all.Bytes += info.Size()
		}
		if err := os.Remove(path + suffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return all, fmt.Errorf("erase %s: %w", path, err)
		}
	}
	return all, nil
}

// amountIn counts what is in a file, but for its bytes.
func amountIn(ctx context.Context, path string) (all store.Amount, err error) {
	s, err := Open(ctx, Config{Path: path})
	if err != nil {
		return all, err
	}
	defer s.Close()
	err = s.reader.db.QueryRowContext(ctx, `SELECT count(*), coalesce(sum(messages), 0),
		(SELECT count(*) FROM content) FROM session`).Scan(&all.Sessions, &all.Messages, &all.Texts)
	return all, err
}
