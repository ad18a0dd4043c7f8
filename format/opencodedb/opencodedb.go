// Package opencodedb lists and reads the sessions of an OpenCode installation: from its SQLite
// database, also while the product runs, and from the folders of JSON files that it kept before
// January 2026. A session is given as the export that `opencode export` would print, read by
// package opencode.
//
// Nothing is ever written: neither the database, nor its write-ahead log, nor a checkpoint.
//
// While OpenCode runs, its newest changes are only in the write-ahead log beside the database
// (opencode.db-wal). The database is therefore opened with mode=ro, which takes part in SQLite's
// locking: a reader sees the log up to the moment at which its transaction began, and the product
// neither waits for the reader nor is held up by it. The one trace is a read mark in the shared
// index (opencode.db-shm), which belongs to the protocol. Every session is read in one transaction,
// and no connection stays open after it, so that the product can checkpoint and clean up.
//
// When OpenCode does not run, there is no log, and mode=ro would make empty files for it that stay
// behind. The database is then opened with immutable=1, which touches and locks nothing. What was
// read counts only if there still is no log afterwards and the file is unchanged; otherwise the
// product has started meanwhile, and everything is read again with mode=ro. While the product runs,
// immutable=1 would be wrong: it does not see the log, and pages change under it.
//
// A log that a crash left behind without its index is the one case in which reading makes a file:
// SQLite has to rebuild the index.
//
// The table event can be tens of gigabytes. It is never read.
package opencodedb

import (
	"cmp"
	"context"
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

// wait is how long reading waits until the database may be read. Readers wait only while another
// process recovers the log after a crash.
const wait = 10 * time.Second

// ErrNotFound is the error for a session that a store does not have.
var ErrNotFound = errors.New("there is no such session in it")

// ErrNoSessions is the error for a file or folder that is not a store of OpenCode's.
var ErrNoSessions = errors.New("it is not an OpenCode store")

// Store is one place in which OpenCode keeps sessions. Use Open. It holds nothing open between
// calls, and may be used by several goroutines at a time.
type Store struct {
	path string
	source
}

// source is a store of either kind: a database, or a folder of files.
type source interface {
	list(ctx context.Context) ([]Listing, error)
	holdings(ctx context.Context) (map[string]holding, error)
	export(ctx context.Context, id string) (*exporter, error)
}

// Listing is what is known of a session without reading it.
type Listing struct {
	ID, ParentID string // ParentID is the session that this one was forked from or works for
	Title        string
	Directory    string // in which the agent works
	Project      string // the root of the project; "" when it is unknown
	Version      string // of the product that began it
	Generation   int    // of the rows that hold its messages: 1 or 2; 0 in JSON files
	// Messages is -1 if they cannot be counted. A compaction in the second generation is one, and
	// two in the log.
	Messages int
	// Cost in US dollars and Tokens are the sums that the product keeps. Older versions kept none:
	// both are 0 there.
	Cost             float64
	Tokens           session.Usage
	Created, Updated session.Millis
}

// Trace is what writing to a session leaves behind, as far as it can be seen without reading the
// session. The session's own time of update is not enough: the product sets it when a turn begins,
// and goes on writing parts.
type Trace struct {
	Bytes int64 // of JSON, and in a database of the text in the session's own row
	// Written is the latest time of update of any of its rows, or of its files by the file system's
	// clock. 0 is unknown: then an unchanged trace tells nothing.
	Written session.Millis
}

// holding is how much a session holds.
type holding struct {
	size  int64 // bytes of JSON that an export would show
	trace Trace
}

// Open names a store: a database, the folder "storage" of JSON files, or a folder "storage" of one
// project of the oldest form. It does not read a file: one that is not a database, or that belongs
// to another program, is the error ErrNoSessions of the first question about it.
func Open(path string) (*Store, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return &Store{path, database(path)}, nil
	}
	folders, err := layoutOf(path)
	if err != nil {
		return nil, err
	}
	return &Store{path, folders}, nil
}

// List returns the sessions, last updated first. It reads no message.
func (s *Store) List(ctx context.Context) ([]Listing, error) {
	list, err := s.list(ctx)
	if err != nil {
		return nil, s.explain(err)
	}
	slices.SortStableFunc(list, func(a, b Listing) int {
		return cmp.Or(cmp.Compare(b.Updated, a.Updated), strings.Compare(a.ID, b.ID))
	})
	return list, nil
}

// Sizes returns how many bytes of JSON each session holds, by id. In a database it looks at every
// row, though not at long contents.
func (s *Store) Sizes(ctx context.Context) (map[string]int64, error) {
	sizes := map[string]int64{}
	held, err := s.holdings(ctx)
	for id, h := range held {
		sizes[id] = h.size
	}
	return sizes, s.explain(err)
}

// Traces returns the trace of each session, by id. In a database it looks at every row, though not
// at long contents.
//
// A session with the same trace as at an earlier reading was not written to since, unless that was
// within the clock's tick after Written: the trace has to be taken before the session is read, and
// counts only if it was old by then.
func (s *Store) Traces(ctx context.Context) (map[string]Trace, error) {
	traces := map[string]Trace{}
	held, err := s.holdings(ctx)
	for id, h := range held {
		traces[id] = h.trace
	}
	return traces, s.explain(err)
}

// Export returns a session as `opencode export` prints it, and the rows or files that could not be
// read whole. What can be read of them is in it.
func (s *Store) Export(ctx context.Context, id string) ([]byte, []format.Damage, error) {
	e, err := s.export(ctx, id)
	if err != nil {
		return nil, nil, s.explain(fmt.Errorf("session %s: %w", id, err))
	}
	return e.text(), e.damaged, nil
}

// Read reads a session. The document is one of package opencode, and its source is the export.
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

// explain names the store in an error.
func (s *Store) explain(err error) error {
	if pathErr := (*fs.PathError)(nil); err == nil || errors.As(err, &pathErr) {
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
