// Package opencodedb answers: which sessions does an OpenCode installation hold, and what is in one? It reads the product's SQLite database,
// also while the product runs, and the folders of JSON files that it kept before January 2026, and gives each session as the
// export that `opencode export` would print, read by package opencode.
//
// Nothing is ever written: neither the database, nor its write-ahead log, nor a checkpoint.
//
// While OpenCode runs, its newest changes stand in the write-ahead log beside the database (opencode.db-wal) and nowhere else. The database is therefore
// opened with mode=ro, which takes part in SQLite's locking: a reader sees the log up to the moment at which its transaction began, whatever is
// appended meanwhile, and the product neither waits for it nor is held up by it. The one trace is a read mark in the shared index
// (opencode.db-shm), which belongs to the protocol. Every session is read in one transaction, and no connection stays open
// after it, so that the product can checkpoint and clean up as if nobody had looked.
//
// When OpenCode does not run, there is no log: mode=ro would then make empty files for it, which stay behind. The database is opened with
// immutable=1 instead, which touches nothing and locks nothing, and what was read counts only if afterwards there still is no
// log and the file is as it was; otherwise the product has started meanwhile, and it is read again with mode=ro. While the product
// runs, immutable=1 would be wrong: it does not see the log, and pages change under it.
//
// A log that a crash left behind without its index is the one case in which reading makes a file: SQLite has to rebuild the index.
//
// The table event can be tens of gigabytes. It is never looked at.
package opencodedb

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/format/opencode"
	"github.com/winnowhq/winnow/session"
)

// Magic is how every SQLite file begins.
const Magic = "SQLite format 3\x00"

// DefaultWait is how long reading waits for a moment at which the database may be read. Readers wait only while another process
// recovers the log after a crash.
const DefaultWait = 10 * time.Second

// ErrNotFound is the error for a session that a store does not have.
var ErrNotFound = errors.New("there is no such session in it")

// ErrNoSessions is the error for a file or folder that is none of OpenCode's stores.
var ErrNoSessions = errors.New("it is no store of OpenCode's")

// Store is one place in which OpenCode keeps sessions. Use Open. It holds nothing open between calls, and may be used by several
// goroutines at a time.
type Store struct {
	path    string
	folders layout // of a store of JSON files
	files   bool
	wait    time.Duration
}

// Listing is what is known of a session without reading it.
type Listing struct {
	ID, ParentID string // ParentID is the session that this one was forked from or works for
	Title        string
	Directory    string // in which the agent works
	Project      string // the root of the project; "" when it is not known
	Version      string // of the product that began it
	Generation   int    // of the rows that hold its messages: 1 or 2; 0 in JSON files
	Messages     int    // a compaction in the second generation is one, and two in the log; -1 where they cannot be counted
	// Cost in US dollars and Tokens are the sums that the product keeps. Older versions kept none: both are 0 there.
	Cost             float64
	Tokens           session.Usage
	Created, Updated session.Millis
}

// Open names a store: a database, the folder "storage" of JSON files, or a folder "storage" of one project of the oldest form. It does not
// look inside: a file that is no database, or another program's, is the error ErrNoSessions of whatever is asked first.
func Open(path string) (*Store, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	s := &Store{path: path, wait: DefaultWait}
	if info.IsDir() {
		s.files = true
		if s.folders, err = layoutOf(path); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// Path is where the store is, absolute.
func (s *Store) Path() string { return s.path }

// List returns the sessions, last updated first. It reads no message.
func (s *Store) List(ctx context.Context) ([]Listing, error) {
	var list []Listing
	var err error
	if s.files {
		list, err = s.folders.list(ctx)
	} else {
		err = s.snapshot(ctx, func(ctx context.Context, tx *sql.Tx) (err error) {
			list, err = listRows(ctx, tx)
			return err
		})
	}
	if err != nil {
		return nil, s.explain(err)
	}
	slices.SortStableFunc(list, func(a, b Listing) int {
		switch {
		case a.Updated > b.Updated:
			return -1
		case a.Updated < b.Updated:
			return 1
		}
		return strings.Compare(a.ID, b.ID)
	})
	return list, nil
}

// Sizes returns how many bytes of JSON each session holds, by id. In a database it looks at every row, though not at long contents.
func (s *Store) Sizes(ctx context.Context) (map[string]int64, error) {
	var sizes map[string]int64
	var err error
	if s.files {
		sizes, err = s.folders.sizes(ctx)
	} else {
		err = s.snapshot(ctx, func(ctx context.Context, tx *sql.Tx) (err error) {
			sizes, err = sizeRows(ctx, tx)
			return err
		})
	}
	if err != nil {
		return nil, s.explain(err)
	}
	return sizes, nil
}

// Export returns a session as `opencode export` prints it, and the rows or files that could not be read whole. What can be read of
// them is in it.
func (s *Store) Export(ctx context.Context, id string) ([]byte, []format.Damage, error) {
	e := &exporter{id: id}
	var err error
	if s.files {
		err = s.folders.export(ctx, e)
	} else {
		err = s.snapshot(ctx, func(ctx context.Context, tx *sql.Tx) error {
			*e = exporter{id: id}
			return e.rows(ctx, tx)
		})
	}
	if err != nil {
		return nil, nil, s.explain(fmt.Errorf("session %s: %w", id, err))
	}
	return e.text(), e.damaged, nil
}

// Read reads a session. The document is one of package opencode, whose source is the export.
func (s *Store) Read(ctx context.Context, id string) (*format.Document, error) {
	text, damaged, err := s.Export(ctx, id)
	if err != nil {
		return nil, err
	}
	doc, err := opencode.Format{}.Read(text)
	if err != nil {
		return nil, s.explain(fmt.Errorf("session %s: %w", id, err))
	}
	doc.Damaged = append(damaged, doc.Damaged...)
	return doc, nil
}

// explain names the store.
func (s *Store) explain(err error) error {
	if pathErr := (*fs.PathError)(nil); errors.As(err, &pathErr) {
		return err
	}
	return fmt.Errorf("%s: %w", s.path, err)
}

// Name is the word for a session of a store: the path, "#", and the id.
func Name(path, id string) string { return path + "#" + id }

// Split takes such a word apart; ok is false for any other.
func Split(name string) (path, id string, ok bool) {
	at := strings.LastIndexByte(name, '#')
	if at <= 0 || strings.ContainsAny(name[at:], `/\`) {
		return "", "", false
	}
	return name[:at], name[at+1:], true
}
