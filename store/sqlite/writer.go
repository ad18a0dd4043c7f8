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

// writer is the one connection that writes. Its transactions are immediate: they wait for other
// processes when they begin, not in the middle, where waiting could not help.
type writer struct {
	db   *sql.DB
	turn turn

	session, touch          *sql.Stmt
	insertMessage           *sql.Stmt
	insertPart, insertApart *sql.Stmt
	findContent, addContent *sql.Stmt

	parts, apart, sought, found *sql.Stmt // of the index
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
	w := &writer{db: db, turn: turn{wait: wait}}
	err = prepare(ctx, db,
		prepared{&w.session, `SELECT num, revision, messages, indexed FROM session WHERE id = ?`},
		prepared{&w.touch, `UPDATE session SET revision = ?, messages = ?,
			changed = max(?, (SELECT max(changed) + 1 FROM session)) WHERE num = ?`},
		prepared{&w.insertMessage, `INSERT INTO message (session, position, id, parts, info) VALUES (?, ?, ?, ?, ?)`},
		prepared{&w.insertPart, `INSERT INTO part (session, message, position, id, type, field, content, apart, data)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`},
		prepared{&w.insertApart, `INSERT INTO apart (session, message, part, field, content) VALUES (?, ?, ?, ?, ?)`},
		prepared{&w.parts, selectParts},
		prepared{&w.apart, selectApart},
		prepared{&w.sought, `INSERT INTO sought (session, message, part, role, tool, time) VALUES (?, ?, ?, ?, ?, ?)`},
		prepared{&w.found, `INSERT INTO found (rowid, said, asked, answered) VALUES (?, ?, ?, ?)`},
		prepared{&w.findContent, `SELECT num FROM content WHERE hash = ?`},
		prepared{&w.addContent, `INSERT INTO content (hash, size, codec, data) VALUES (?, ?, ?, ?)`},
	)
	if err == nil {
		err = w.often(ctx)
	}
	return w, err
}

// transaction is a write transaction. Its statements run without the context, which would cost each
// of them a goroutine. It is checked between them; when it ends, the transaction is rolled back.
type transaction struct {
	*sql.Tx
	w      *writer
	packer *compressor
	ctx    context.Context
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
	err = t.Stmt(t.w.session).QueryRow(id).Scan(&row.num, &row.revision, &row.messages, &row.indexed)
	if errors.Is(err, sql.ErrNoRows) {
		err = store.ErrNotFound
	}
	return row, err
}

// write runs do in one transaction. If it returns an error, nothing is written.
func (s *Store) write(ctx context.Context, do func(*transaction) error) error {
	if s.writer == nil {
		return store.ErrReadOnly
	}
	return s.writer.write(ctx, func(tx *sql.Tx) error { return do(&transaction{tx, s.writer, &s.packer, ctx}) })
}

// Create adds an empty session.
func (s *Store) Create(ctx context.Context, info session.Info) (err error) {
	defer s.explain(ctx, "create", info.ID, &err)
	if info.ID == "" {
		return errors.New("a session needs an id")
	}
	data, err := exact.Encode(info)
	if err != nil {
		return err
	}
	return s.write(ctx, func(t *transaction) error { return t.create(info, data, s.now().UnixMilli(), "") })
}

// create adds a session. If aside is given, a session that has the id already is renamed to it.
func (t *transaction) create(info session.Info, data any, now int64, aside string) error {
	was, err := t.find(info.ID)
	switch {
	case err == nil && aside == "":
		return store.ErrExists
	case err == nil:
		if err := t.rename(was.num, aside); err != nil {
			return err
		}
	case !errors.Is(err, store.ErrNotFound):
		return err
	}
	return t.exec(`INSERT INTO session (id, info, updated, changed, revision, messages)
		SELECT ?, ?, ?, max(?, coalesce(max(changed) + 1, 0)), 1, 0 FROM session`, info.ID, data, updated(info), now)
}

// rename gives a session another id. Its messages keep the id that they were written with.
func (t *transaction) rename(num int64, id string) error {
	if _, err := t.find(id); err == nil {
		return fmt.Errorf("%w: %s", store.ErrExists, id)
	} else if !errors.Is(err, store.ErrNotFound) {
		return err
	}
	var data []byte
	if err := t.QueryRow(`SELECT info FROM session WHERE num = ?`, num).Scan(&data); err != nil {
		return err
	}
	info, err := exact.Decode[session.Info](data)
	if err != nil {
		return fmt.Errorf("%w: %w", store.ErrCorrupt, err)
	}
	info.ID = id
	row, err := exact.Encode(info)
	if err != nil {
		return err
	}
	return t.exec(`UPDATE session SET id = ?, info = ?, revision = revision + 1 WHERE num = ?`, id, row, num)
}

// updated returns the time to sort by.
func updated(info session.Info) float64 { return finite(float64(info.Time.Updated)) }

// finite replaces NaN, which SQLite does not have, by 0.
func finite(t float64) float64 {
	if math.IsNaN(t) {
		return 0
	}
	return t
}

// Delete deletes a session, everything that belongs to it, and the contents that no other session
// uses.
func (s *Store) Delete(ctx context.Context, id string) (err error) {
	defer s.explain(ctx, "delete", id, &err)
	return s.write(ctx, func(t *transaction) error {
		row, err := t.find(id)
		if err != nil {
			return err
		}
		held, err := t.contents(`SELECT content FROM part WHERE session = ?1 AND content IS NOT NULL
			UNION SELECT content FROM apart WHERE session = ?1 UNION SELECT content FROM piece WHERE session = ?1
			UNION SELECT content FROM kept WHERE session = ?1`, row.num)
		if err != nil {
			return err
		}
		if err := t.forget(`session = ?`, row.num); err != nil {
			return err
		}
		for _, table := range []string{"message", "part", "apart", "elision", "pin", "undone", "dismissed",
			"receipt", "spend", "source", "piece", "stale", "kept"} {
			if err := t.exec(`DELETE FROM `+table+` WHERE session = ?`, row.num); err != nil {
				return err
			}
		}
		if err := t.exec(`DELETE FROM file WHERE session = ?`, id); err != nil {
			return err
		}
		if err := t.exec(`DELETE FROM session WHERE num = ?`, row.num); err != nil {
			return err
		}
		return t.drop(held)
	})
}
