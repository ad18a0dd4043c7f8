// Package source finds what SRC on the command line stands for (a file, a folder, a session in a
// database or in the store), reads it, and opens an engine on it.
package source

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/cmd/winnow/internal/cli"
	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/inplace"
	"github.com/winnowhq/winnow/pivot"
	"github.com/winnowhq/winnow/plainfile"
	"github.com/winnowhq/winnow/store"
)

// Restore is one restore of elided parts in a file.
type Restore struct {
	Receipt pivot.Receipt `json:"receipt"`
	From    string        `json:"from"` // the file as it was before, or its original where that was replaced
	Hash    string        `json:"hash"` // SHA-256 of it
}

// Session is a session that a command works on, with an engine that has it.
type Session struct {
	Engine *winnow.Engine
	ID     string
	Store  store.Store

	// Of a file.
	Path   string // "-" for standard input
	Stat   fs.FileInfo
	Doc    *format.Document
	Stored bool // in a store of OpenCode's or a folder of OpenHands', which are only read: path is its word

	Restores  []Restore      // of elided parts, that made it what it is; see recallRestores
	Grown     bool           // it has more lines since
	Exact     []byte         // what is to be written, where that is known; see undone
	Claim     *inplace.Claim // on the file, where it is to be replaced
	Unsettled []string       // what became of what others wrote to it meanwhile
}

// FromFile tells whether the session came from a file; otherwise it is in the store.
func (s *Session) FromFile() bool { return s.Doc != nil }

func (s *Session) Close() error {
	err := errors.Join(s.Engine.Close(), s.Store.Close())
	if s.Claim != nil {
		err = errors.Join(err, s.Claim.Close())
	}
	return err
}

// Done is the end of a command that read this source: damage makes it partly done.
func (s *Session) Done() error {
	if len(s.Unsettled) > 0 {
		return cli.Incomplete("the file was replaced, but:\n  " + strings.Join(s.Unsettled, "\n  "))
	}
	if s.Doc != nil && len(s.Doc.Damaged) > 0 {
		return cli.Partly{Damaged: s.Doc.Damaged}
	}
	return nil
}

// Open finds SRC to look at it: "-", a file, a conversation's folder, a session in a store of OpenCode's, one by its product and id, or the id of a session in
// winnow's own store.
func Open(ctx context.Context, a *cli.App, src string) (*Session, error) {
	return openSource(ctx, a, src, Reading)
}

func openSource(ctx context.Context, a *cli.App, src string, want access) (*Session, error) {
	settings, err := a.Settings()
	if err != nil {
		return nil, err
	}
	if src, err = Resolve(ctx, a, src); err != nil {
		return nil, err
	}
	data, err := ReadSource(ctx, a, src)
	switch {
	case err == nil:
		s, err := OpenDocument(ctx, a, src, data.Doc, settings)
		if err != nil {
			return nil, err
		}
		s.Stat, s.Stored = data.stat, data.stored
		return s, nil
	case !errors.Is(err, fs.ErrNotExist) || LooksLikePath(src):
		return nil, err
	}
	return OpenStored(ctx, a, src, want, settings)
}

func LooksLikePath(src string) bool {
	return strings.ContainsAny(src, `/\`) || filepath.Ext(src) != ""
}

// ReadFile reads a file or standard input, whole.
func ReadFile(a *cli.App, src string) ([]byte, fs.FileInfo, error) {
	if src == "-" {
		defer a.Progress("reading standard input")()
		data, err := readStream(a, a.Env.Stdin, "standard input")
		return data, nil, err
	}
	defer a.Progress("reading " + src)()
	path := a.Path(src)
	info, err := os.Stat(path)
	if err != nil {
		return nil, nil, err
	}
	if info.IsDir() {
		return nil, nil, cli.Usage("%s is a folder; name a session file in it. `winnow inspect` and `winnow import` take folders", src)
	}
	if !info.Mode().IsRegular() {
		if !isOpen(path) {
			return nil, nil, cli.Hint(&plainfile.KindError{Path: src, Mode: info.Mode()}, "it may never end; to read it all the same: winnow COMMAND - < "+cli.ShellWord(src))
		}
		f, err := os.Open(path)
		if err != nil {
			return nil, nil, err
		}
		defer f.Close()
		data, err := readStream(a, f, src)
		return data, nil, err
	}
	data, info, err := plainfile.Read(path, 0)
	thrift(a, len(data))
	return data, info, err
}

// isOpen reports whether a path is that of a file which the shell opened for this process, a pipe most likely: /dev/stdin, or /dev/fd/63 of <(command).
func isOpen(path string) bool {
	path = filepath.Clean(path)
	dir := filepath.Dir(path)
	return path == "/dev/stdin" || dir == "/dev/fd" || strings.HasPrefix(dir, "/proc/") && filepath.Base(dir) == "fd"
}

// mostStreamed is how many bytes are taken of what has no size: as many as of what is unpacked. What never ends ends there.
const mostStreamed = 1 << 30

// readStream reads what has no size, whole.
func readStream(a *cli.App, r io.Reader, name string) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, mostStreamed+1))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if len(data) > mostStreamed {
		return nil, cli.Hint(fmt.Errorf("%s has more than a gigabyte", name), "write it into a file, and give that: files of lines are inspected piece by piece")
	}
	thrift(a, len(data))
	return data, nil
}

// huge is a session that is read with an eye on memory.
const huge = 32 << 20

// thrift trades time for memory: of a huge session, garbage of its own size is too much.
func thrift(a *cli.App, size int) {
	if size >= huge {
		debug.SetGCPercent(20)
	}
}

func OpenDocument(ctx context.Context, a *cli.App, src string, doc *format.Document, settings winnow.Settings) (_ *Session, err error) {
	s := &Session{Path: src, Doc: doc, ID: doc.Session.Info.ID}
	if s.ID == "" {
		s.ID = "session"
		doc.Session.Info.ID = s.ID
	}
	if s.Engine, s.Store, err = Engine(a, nil, settings); err != nil {
		return nil, err
	}
	defer a.Progress("looking at " + src)()
	if err := s.Engine.Import(ctx, doc.Session, doc.Ledger, nil, winnow.Beside(doc.Beside)...); err != nil {
		return nil, err
	}
	return s, nil
}

// OpenFor opens a source to change it. With dry the change must leave no trace: a session of the store is copied into memory.
func OpenFor(ctx context.Context, a *cli.App, src string, dry bool) (*Session, error) {
	want := Changing
	if dry {
		want = Reading
	}
	s, err := openSource(ctx, a, src, want)
	if err != nil || !dry || s.FromFile() {
		return s, err
	}
	defer s.Close()
	log, state, err := s.Engine.Session(ctx, s.ID)
	if err != nil {
		return nil, err
	}
	settings, err := a.Settings()
	if err != nil {
		return nil, err
	}
	copied := &Session{ID: s.ID}
	if copied.Engine, copied.Store, err = Engine(a, nil, settings); err != nil {
		return nil, err
	}
	if err := copied.Engine.Import(ctx, log, state.Ledger, nil, state.Spent...); err != nil {
		return nil, err
	}
	if len(state.Pins)+len(state.Dismissed)+len(state.Undone) > 0 {
		_, now, err := copied.Engine.Session(ctx, s.ID)
		if err != nil {
			return nil, err
		}
		c := store.Change{Base: now.Revision, Pin: state.Pins, Dismiss: slices.Sorted(maps.Keys(state.Dismissed)), Undo: slices.Sorted(maps.Keys(state.Undone))}
		if _, err := copied.Store.Apply(ctx, s.ID, c); err != nil {
			return nil, err
		}
	}
	return copied, nil
}

// Title names a source for people: the title of the session, or its file.
func (s *Session) Title() string {
	if s.Path != "" && s.Path != "-" && !s.Stored {
		return filepath.Base(s.Path)
	}
	return s.ID
}
