// Package sqlite keeps sessions in one SQLite file, for one user and any number of processes on one
// machine.
//
// One connection writes, others read: SQLite has one writer at a time anyway, and in WAL mode it
// never blocks a reader. synchronous=NORMAL hands every committed change to the operating system
// and does not wait for the disk: it is kept however the process ends, also if it is killed right
// after. A power cut may lose the last changes, but never one in the middle, and leaves the file
// sound. For what is decided about a live session that is enough: the session goes on from an
// earlier moment, as the store has it, and the worst that comes of it is a prompt that a provider
// does not find in its cache. The disk is waited for when the log is folded into the file, beside
// the work (foldAfter).
package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	_ "modernc.org/sqlite" // the driver

	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/store/internal/packed"
)

// DefaultWait is how long a change waits for another process that writes.
const DefaultWait = 10 * time.Second

// Config says which store to open.
type Config struct {
	// Path of the file. If it is missing it is created with mode 0600, its folder with 0700.
	// Required.
	Path string
	// ReadOnly opens an existing store and never writes to it. Every change is ErrReadOnly.
	ReadOnly bool
	// Now is the clock. It orders sessions that were updated at the same time. Default time.Now.
	Now func() time.Time
	// Wait is how long to wait for another process before ErrLocked. Default DefaultWait.
	Wait time.Duration
}

// Store is a store in a file. Use Open.
type Store struct {
	path   string
	now    func() time.Time
	writer *writer // nil when the store is read-only
	reader *reader
	packer packed.Compressor

	written   store.Written
	closed    atomic.Bool
	closeOnce sync.Once
	closeErr  error
}

var _ store.Store = (*Store)(nil)

// Open opens a store. It creates a missing one and upgrades an older one. Its errors are those of
// the file system, ErrLocked, ErrCorrupt (also if the file is something else), ErrReadOnly, ErrFull
// and ErrNewer.
func Open(ctx context.Context, c Config) (*Store, error) {
	s, err := open(ctx, c)
	if err != nil {
		return nil, explain(ctx, "open", c.Path, "", err)
	}
	return s, nil
}

func open(ctx context.Context, c Config) (_ *Store, err error) {
	if c.Path == "" {
		return nil, errors.New("no path was given")
	}
	path, err := filepath.Abs(c.Path)
	if err != nil {
		return nil, err
	}
	s := &Store{path: path, now: c.Now}
	if s.now == nil {
		s.now = time.Now
	}
	if c.Wait <= 0 {
		c.Wait = DefaultWait
	}
	defer func() {
		if err != nil {
			s.Close()
		}
	}()
	if c.ReadOnly {
		if _, err := os.Stat(path); err != nil {
			return nil, err
		}
	} else {
		if err := makeFile(path); err != nil {
			return nil, err
		}
		if s.writer, err = openWriter(ctx, path, c.Wait); err != nil {
			return nil, err
		}
	}
	s.reader, err = openReader(ctx, path, c.Wait)
	return s, err
}

// makeFile creates the file and its folder, readable by the owner alone. SQLite gives its other
// files the same mode.
func makeFile(path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS) {
		return fmt.Errorf("%w: %w", store.ErrReadOnly, err)
	}
	if err != nil {
		return err
	}
	return f.Close()
}

// Close closes the store. It waits for a change that is being written; an iteration that has begun
// may go on to its end.
func (s *Store) Close() error {
	s.closeOnce.Do(func() {
		s.closed.Store(true)
		var errs []error
		if s.reader != nil {
			errs = append(errs, s.reader.db.Close())
		}
		if s.writer != nil { // last, so that it folds the write-ahead log into the file
			errs = append(errs, s.writer.close())
		}
		s.closeErr = errors.Join(errs...)
	})
	return s.closeErr
}

// source returns the data source name for the driver.
func source(path string, wait time.Duration, parameters ...string) string {
	q := url.Values{"_pragma": {
		"busy_timeout(" + strconv.FormatInt(wait.Milliseconds(), 10) + ")",
		"synchronous(NORMAL)",
		"journal_size_limit(16777216)", // so that an import of 100 MB leaves no log of that size behind
	}}
	for i := 0; i < len(parameters); i += 2 {
		q.Add(parameters[i], parameters[i+1])
	}
	// The path is absolute and escaped; a drive letter has a slash before it.
	path = "/" + strings.TrimPrefix(filepath.ToSlash(path), "/")
	u := url.URL{Scheme: "file", OmitHost: true, Path: path, RawQuery: q.Encode()}
	return u.String()
}

// prepared is a statement to prepare, and the variable it goes to.
type prepared struct {
	to  **sql.Stmt
	sql string
}

func prepare(ctx context.Context, db *sql.DB, statements ...prepared) (err error) {
	for _, p := range statements {
		if *p.to, err = db.PrepareContext(ctx, p.sql); err != nil {
			return err
		}
	}
	return nil
}

// Unwritable implements [store.Writer].
func (s *Store) Unwritable() error { return s.written.Unwritable() }

// Path returns the absolute path of the store.
func (s *Store) Path() string { return s.path }
