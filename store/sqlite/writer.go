package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/store/internal/exact"
	"github.com/winnowhq/winnow/store/internal/packed"
)

// writer is the one connection that writes.
type writer struct {
	db    *sql.DB
	conn  *sql.Conn
	taken chan struct{} // has an element while somebody uses the connection
	turn  turn

	// statements are those that were prepared, by their SQL: preparing one takes longer than
	// running it. The SQL is always one of the constants of this package, so that they are few.
	statements map[string]*sql.Stmt

	commits int         // since the log was last folded into the file
	folding atomic.Bool // it is being folded
	folded  sync.WaitGroup
}

func openWriter(ctx context.Context, path string, wait time.Duration) (_ *writer, err error) {
	db, err := sql.Open("sqlite", source(path, wait, "_txlock", "immediate",
		"_pragma", "wal_autocheckpoint("+strconv.Itoa(foldAt)+")"))
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
	w := &writer{db: db, turn: turn{wait: wait}, taken: make(chan struct{}, 1), statements: map[string]*sql.Stmt{}}
	if w.conn, err = db.Conn(ctx); err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(2) // the other one folds the log
	return w, w.often(ctx)
}

// close waits for the transaction under way. The last connection that closes folds the log.
func (w *writer) close() error {
	w.taken <- struct{}{}
	defer func() { <-w.taken }()
	w.folded.Wait()
	for _, s := range w.statements {
		s.Close() // SQLite would wait for it
	}
	return errors.Join(w.conn.Close(), w.db.Close())
}

// prepared is the statement of some SQL.
func (w *writer) prepared(query string) (*sql.Stmt, error) {
	s := w.statements[query]
	if s == nil {
		var err error
		if s, err = w.conn.PrepareContext(context.Background(), query); err != nil {
			return nil, err
		}
		w.statements[query] = s
	}
	return s, nil
}

func (w *writer) run(query string, args ...any) (sql.Result, error) {
	s, err := w.prepared(query)
	if err != nil {
		return nil, err
	}
	return s.Exec(args...)
}

const (
	// foldAfter is after how many transactions the write-ahead log is folded into the file, on a
	// connection of its own: it takes the disk some milliseconds, for which no transaction waits.
	foldAfter = 256
	// foldAt is the length of the log, in pages of 4 KiB, from which on a transaction folds it
	// itself, as one of an import does.
	foldAt = 4096
)

// fold folds the write-ahead log into the file, beside the work, once there is enough of it.
func (w *writer) fold() {
	if w.commits < foldAfter || w.folding.Swap(true) {
		return
	}
	w.commits = 0
	w.folded.Go(func() {
		defer w.folding.Store(false)
		w.db.Exec("PRAGMA wal_checkpoint(PASSIVE)") // if it fails, a later one does more
	})
}

// transaction is a write transaction. Its statements run without the context, which would cost each
// of them a goroutine. It is checked between them; when it ends, the transaction is rolled back.
type transaction struct {
	w       *writer
	packer  *packed.Compressor
	ctx     context.Context
	dropped store.Amount // contents that it deleted
}

// stmt is a statement of the transaction.
func (t *transaction) stmt(query string) (*sql.Stmt, error) {
	if err := t.ctx.Err(); err != nil {
		return nil, err
	}
	return t.w.prepared(query)
}

func (t *transaction) exec(query string, args ...any) error {
	_, err := t.run(query, args...)
	return err
}

func (t *transaction) run(query string, args ...any) (sql.Result, error) {
	s, err := t.stmt(query)
	if err != nil {
		return nil, err
	}
	return s.Exec(args...)
}

func (t *transaction) query(query string, args ...any) (*sql.Rows, error) {
	s, err := t.stmt(query)
	if err != nil {
		return nil, err
	}
	return s.Query(args...)
}

// read reads the one row of a query, or returns sql.ErrNoRows.
func (t *transaction) read(query string, args []any, into ...any) error {
	s, err := t.stmt(query)
	if err != nil {
		return err
	}
	return s.QueryRow(args...).Scan(into...)
}

// find returns the row of a session, without its info.
func (t *transaction) find(id string) (row sessionRow, err error) {
	err = t.read(`SELECT num, revision, messages, indexed FROM session WHERE id = ?`, []any{id},
		&row.num, &row.revision, &row.messages, &row.indexed)
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
	return s.writer.write(ctx, func() error { return do(&transaction{w: s.writer, packer: &s.packer, ctx: ctx}) })
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
	if err := t.read(`SELECT info FROM session WHERE num = ?`, []any{num}, &data); err != nil {
		return err
	}
	row, err := packed.Renamed(data, id)
	if err != nil {
		return err
	}
	return t.exec(`UPDATE session SET id = ?, info = ?, revision = revision + 1 WHERE num = ?`, id, row, num)
}

// updated returns the time to sort by.
func updated(info session.Info) float64 { return packed.Finite(float64(info.Time.Updated)) }

// Delete deletes a session, everything that belongs to it, and the contents that no other session
// uses.
func (s *Store) Delete(ctx context.Context, id string) (err error) {
	defer s.explain(ctx, "delete", id, &err)
	return s.write(ctx, func(t *transaction) error {
		_, err := t.delete(id)
		return err
	})
}

// delete deletes a session, and returns how much that was.
func (t *transaction) delete(id string) (gone store.Amount, err error) {
	row, err := t.find(id)
	if err != nil {
		return gone, err
	}
	gone.Sessions, gone.Messages = 1, row.messages
	if err := t.read(`SELECT coalesce(sum(length(data)), 0) FROM part WHERE session = ?`, []any{row.num},
		&gone.Bytes); err != nil {
		return gone, err
	}
	held, err := t.contents(`SELECT content FROM part WHERE session = ?1 AND content IS NOT NULL
		UNION SELECT content FROM apart WHERE session = ?1 UNION SELECT content FROM piece WHERE session = ?1
		UNION SELECT content FROM kept WHERE session = ?1`, row.num)
	if err != nil {
		return gone, err
	}
	if err := t.forget(`session = ?`, row.num); err != nil {
		return gone, err
	}
	for _, table := range []string{"message", "part", "apart", "elision", "pin", "undone", "dismissed",
		"receipt", "spend", "prepared", "source", "piece", "stale", "kept"} {
		if err := t.exec(`DELETE FROM `+table+` WHERE session = ?`, row.num); err != nil {
			return gone, err
		}
	}
	if err := t.exec(`DELETE FROM file WHERE session = ?`, id); err != nil {
		return gone, err
	}
	if err := t.exec(`DELETE FROM session WHERE num = ?`, row.num); err != nil {
		return gone, err
	}
	before := t.dropped
	if err := t.drop(held); err != nil {
		return gone, err
	}
	gone.Texts, gone.Bytes = t.dropped.Texts-before.Texts, gone.Bytes+t.dropped.Bytes-before.Bytes
	return gone, nil
}
