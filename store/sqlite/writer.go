package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/store/internal/exact"
)

// writer is the one connection that writes. Its transactions are immediate: they wait for other processes when they begin,
// not in the middle, where waiting could not help.
type writer struct {
	db *sql.DB

	session, touch            *sql.Stmt
	insertMessage, insertPart *sql.Stmt
	findContent, addContent   *sql.Stmt
}

func openWriter(ctx context.Context, path string, wait time.Duration) (_ *writer, err error) {
	db, err := sql.Open("sqlite", source(path, wait, "_txlock", "immediate"))
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			db.Close()
		}
	}()
	db.SetMaxOpenConns(1)
	if err := migrate(ctx, db, wait); err != nil {
		return nil, err
	}
	w := &writer{db: db}
	return w, prepare(ctx, db,
		prepared{&w.session, `SELECT num, revision, messages FROM session WHERE id = ?`},
		prepared{&w.touch, `UPDATE session SET revision = ?, messages = ?,
			changed = max(?, (SELECT max(changed) + 1 FROM session)) WHERE num = ?`},
		prepared{&w.insertMessage, `INSERT INTO message (session, position, id, parts, info) VALUES (?, ?, ?, ?, ?)`},
		prepared{&w.insertPart, `INSERT INTO part (session, message, position, id, type, field, content, data)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?)`},
		prepared{&w.findContent, `SELECT num FROM content WHERE hash = ?`},
		prepared{&w.addContent, `INSERT INTO content (hash, size, data) VALUES (?, ?, ?)`},
	)
}

// transaction is a write transaction. Its statements run without the context, which would cost each of them a goroutine; it
// is asked between them, and when it ends the transaction is rolled back.
type transaction struct {
	*sql.Tx
	w    *writer
	gzip *compressor
	ctx  context.Context
}

func (t *transaction) exec(query string, args ...any) error {
	if err := t.ctx.Err(); err != nil {
		return err
	}
	_, err := t.Exec(query, args...)
	return err
}

func (t *transaction) run(stmt *sql.Stmt, args ...any) (sql.Result, error) {
	if err := t.ctx.Err(); err != nil {
		return nil, err
	}
	return t.Stmt(stmt).Exec(args...)
}

// find returns the row of a session, without its info.
func (t *transaction) find(id string) (row sessionRow, err error) {
	err = t.Stmt(t.w.session).QueryRow(id).Scan(&row.num, &row.revision, &row.messages)
	if errors.Is(err, sql.ErrNoRows) {
		err = store.ErrNotFound
	}
	return row, err
}

// write runs what do writes in one transaction: all of it or, with an error, nothing.
func (s *Store) write(ctx context.Context, do func(*transaction) error) error {
	if s.writer == nil {
		return store.ErrReadOnly
	}
	tx, err := s.writer.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() // does nothing after Commit
	if err := do(&transaction{tx, s.writer, &s.gzip, ctx}); err != nil {
		return err
	}
	return tx.Commit()
}

// Create adds an empty session.
func (s *Store) Create(ctx context.Context, info session.Info) error {
	if err := s.create(ctx, info); err != nil {
		return s.failed(ctx, "create", info.ID, err)
	}
	return nil
}

func (s *Store) create(ctx context.Context, info session.Info) error {
	if info.ID == "" {
		return errors.New("a session needs an id")
	}
	data, err := exact.Encode(info)
	if err != nil {
		return err
	}
	return s.write(ctx, func(t *transaction) error {
		if _, err := t.find(info.ID); err == nil {
			return store.ErrExists
		} else if !errors.Is(err, store.ErrNotFound) {
			return err
		}
		return t.exec(`INSERT INTO session (id, info, updated, changed, revision, messages)
			SELECT ?, ?, ?, max(?, coalesce(max(changed) + 1, 0)), 1, 0 FROM session`,
			info.ID, data, updated(info), s.now().UnixMilli())
	})
}

// updated is a time to sort by: SQLite has no NaN.
func updated(info session.Info) float64 {
	t := float64(info.Time.Updated)
	if math.IsNaN(t) {
		return 0
	}
	return t
}

// Delete forgets a session and all that belongs to it, and the large outputs that no other session has.
func (s *Store) Delete(ctx context.Context, id string) error {
	err := s.write(ctx, func(t *transaction) error {
		row, err := t.find(id)
		if err != nil {
			return err
		}
		held, err := t.contents(`SELECT DISTINCT content FROM part WHERE session = ? AND content IS NOT NULL`, row.num)
		if err != nil {
			return err
		}
		for _, table := range []string{"message", "part", "elision", "pin", "undone", "receipt", "spend", "source"} {
			if err := t.exec(`DELETE FROM `+table+` WHERE session = ?`, row.num); err != nil {
				return err
			}
		}
		if err := t.exec(`DELETE FROM session WHERE num = ?`, row.num); err != nil {
			return err
		}
		return t.drop(held)
	})
	if err != nil {
		return s.failed(ctx, "delete", id, err)
	}
	return nil
}

// contents returns the numbers of contents that a query names.
func (t *transaction) contents(query string, args ...any) (nums []int64, err error) {
	rows, err := t.Query(query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var num int64
		if err := rows.Scan(&num); err != nil {
			return nil, err
		}
		nums = append(nums, num)
	}
	return nums, rows.Err()
}

// drop deletes the contents among these that no part has any more.
func (t *transaction) drop(nums []int64) error {
	for _, num := range nums {
		err := t.exec(`DELETE FROM content WHERE num = ?1 AND NOT EXISTS (SELECT 1 FROM part WHERE content = ?1)`, num)
		if err != nil {
			return err
		}
	}
	return nil
}

// Source returns the file that a session was imported from, nil when there is none.
func (s *Store) Source(ctx context.Context, id string) (*store.Source, error) {
	source, err := s.readSource(ctx, id)
	if err != nil {
		return nil, s.failed(ctx, "source", id, err)
	}
	return source, nil
}

func (s *Store) readSource(ctx context.Context, id string) (*store.Source, error) {
	now, err := s.reader.at(ctx, id)
	if err != nil {
		return nil, err
	}
	defer now.Rollback()
	var source store.Source
	var size int
	var data []byte
	err = now.QueryRowContext(ctx, `SELECT format, path, size, data FROM source WHERE session = ?`, now.row.num).
		Scan(&source.Format, &source.Path, &size, &data)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if source.Data, err = s.gzip.decompress(data, size); err != nil {
		return nil, fmt.Errorf("%w: its source: %w", store.ErrCorrupt, err)
	}
	return &source, nil
}

// SetSource keeps the file that a session was imported from.
func (s *Store) SetSource(ctx context.Context, id string, source store.Source) error {
	data, err := s.gzip.compress(source.Data)
	if err == nil {
		err = s.write(ctx, func(t *transaction) error {
			row, err := t.find(id)
			if err != nil {
				return err
			}
			return t.exec(`INSERT OR REPLACE INTO source (session, format, path, size, data) VALUES (?, ?, ?, ?, ?)`,
				row.num, source.Format, source.Path, len(source.Data), data)
		})
	}
	if err != nil {
		return s.failed(ctx, "source", id, err)
	}
	return nil
}
