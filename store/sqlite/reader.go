package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"time"

	sqlite3 "modernc.org/sqlite/lib"

	"github.com/winnowhq/winnow/store"
)

const (
	// idleReaders is how many connections stay open for the next reader. There may be more: an
	// iteration holds one until it ends, and an iteration inside another must not wait for it.
	idleReaders = 8
	// briefReaders is how many reads that end by themselves run at one time. SQLite keeps the files
	// open of as many connections as ever read at one time.
	briefReaders = 8
)

// reader is the pool of connections that only read.
type reader struct {
	db                                                 *sql.DB
	session, revision, messages, parts, apart, content *sql.Stmt
	sketched                                           *sql.Stmt
	brief                                              chan struct{} // holds one element for each brief read
}

// briefly waits until a brief read may begin. Its caller calls done when it has ended, and reads
// nothing else until then.
func (r *reader) briefly(ctx context.Context) (done func(), err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	select {
	case r.brief <- struct{}{}:
		return func() { <-r.brief }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func openReader(ctx context.Context, path string, wait time.Duration) (*reader, error) {
	r, err := tryReader(ctx, path, wait, "mode", "ro")
	if code(err) == sqlite3.SQLITE_CANTOPEN || isReadOnly(err) {
		// The index of the write-ahead log cannot be created in a read-only folder. If there is no
		// log it is not needed.
		if log, statErr := os.Stat(path + "-wal"); statErr != nil || log.Size() == 0 {
			return tryReader(ctx, path, wait, "mode", "ro", "immutable", "1")
		}
	}
	return r, err
}

func tryReader(ctx context.Context, path string, wait time.Duration, parameters ...string) (_ *reader, err error) {
	db, err := sql.Open("sqlite", source(path, wait, parameters...))
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			db.Close()
		}
	}()
	db.SetMaxIdleConns(idleReaders)
	s, err := readStamp(ctx, db)
	if err != nil {
		return nil, err
	}
	if err := s.check(); err != nil {
		return nil, err
	}
	if s.version < version {
		return nil, fmt.Errorf("%w: it was written by an older version (%d, this program reads %d); "+
			"open it for writing once to upgrade it", store.ErrReadOnly, s.version, version)
	}
	r := &reader{db: db, brief: make(chan struct{}, briefReaders)}
	return r, prepare(ctx, db,
		prepared{&r.session, `SELECT num, info, revision, messages FROM session WHERE id = ?`},
		prepared{&r.revision, `SELECT revision FROM session WHERE id = ?`},
		prepared{&r.messages, `SELECT position, parts, info FROM message WHERE session = ? ORDER BY position DESC`},
		prepared{&r.parts, selectParts},
		prepared{&r.apart, selectApart},
		prepared{&r.sketched, selectSketched},
		prepared{&r.content, `SELECT num FROM content WHERE hash = ?`},
	)
}

// The statements of a partReader.
const (
	selectParts = `
		SELECT part.data, part.apart, part.field, content.size, content.codec, content.data
		FROM part LEFT JOIN content ON content.num = part.content
		WHERE part.session = ? AND part.message = ? AND part.position BETWEEN ? AND ? ORDER BY part.position`
	// Without the texts that are kept apart.
	selectSketched = `
		SELECT data, 0, NULL, NULL, NULL, NULL FROM part
		WHERE session = ? AND message = ? AND position BETWEEN ? AND ? ORDER BY position`
	selectApart = `
		SELECT apart.field, content.size, content.codec, content.data
		FROM apart JOIN content ON content.num = apart.content
		WHERE apart.session = ? AND apart.message = ? AND apart.part = ?`
)

// sessionRow is a row of the table session.
type sessionRow struct {
	num      int64
	info     []byte
	revision int64
	messages int
	indexed  int // how many messages are indexed; only set for a writer
}

// moment is a read transaction. It sees one moment of the store.
type moment struct {
	*sql.Tx
	row sessionRow
}

// now begins a read transaction. The caller must roll it back.
func (r *reader) now(ctx context.Context) (*sql.Tx, error) {
	return r.db.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
}

// at begins a read transaction and finds a session in it. The caller must roll it back.
func (r *reader) at(ctx context.Context, id string) (moment, error) {
	tx, err := r.now(ctx)
	if err != nil {
		return moment{}, err
	}
	m := moment{Tx: tx}
	err = tx.StmtContext(ctx, r.session).QueryRowContext(ctx, id).
		Scan(&m.row.num, &m.row.info, &m.row.revision, &m.row.messages)
	if errors.Is(err, sql.ErrNoRows) {
		err = store.ErrNotFound
	}
	if err != nil {
		tx.Rollback()
		return moment{}, err
	}
	return m, nil
}
