package source

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/winnowhq/winnow/cmd/internal/cli"
	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/format/all"
	"github.com/winnowhq/winnow/format/opencodedb"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/text/plainfile"
)

// Read reads a file, standard input, a conversation's folder, or a session in a store of
// OpenCode's. The session has no engine yet.
func Read(ctx context.Context, a *cli.App, src string) (*Session, error) {
	s := &Session{Path: src}
	var err error
	if path, id, ok := inStore(a, src); ok {
		var from *opencodedb.Store
		if from, err = opencodedb.Open(path); err != nil {
			return nil, err
		}
		defer a.Progress("reading " + src)()
		s.Doc, err = from.Read(ctx, id)
		s.Stored = true
	} else if folder, ok := Conversation(a, src); ok {
		defer a.Progress("reading " + src)()
		thrift(int(folder.Size()))
		s.Doc, err = folder.Read()
		s.Stored = true
	} else {
		var data []byte
		if data, s.Stat, err = ReadFile(a, src); err == nil && a.Held != nil {
			data, err = a.Held.Read(data)
		}
		if err != nil {
			return nil, err
		}
		if s.Doc, err = all.Read(data); err == nil {
			err = s.together(a.Path(src))
		}
		if err != nil {
			err = fmt.Errorf("%s: %w", src, err)
		}
	}
	if err != nil {
		return nil, err
	}
	thrift(len(s.Doc.Source))
	if s.Doc.Session.Info.ID == "" {
		s.Doc.Session.Info.ID = "session"
	}
	s.ID = s.Doc.Session.Info.ID
	return s, nil
}

// together reads the session once more with the other files of its product that are a part of it.
func (s *Session) together(path string) error {
	f, err := all.Named(s.Doc.Format)
	if err != nil {
		return err
	}
	if product, ok := f.(format.Accompanied); ok {
		return s.accompanied(product, path)
	}
	s.Doc, err = withBase(s.Doc, path)
	return err
}

// withBase reads a file once more, behind its base, if it has one. If the base is missing or was
// changed, the session has its own file alone, and cannot be written.
func withBase(doc *format.Document, path string) (*format.Document, error) {
	f, err := all.Named(doc.Format)
	if err != nil {
		return nil, err
	}
	product, ok := f.(format.Continued)
	if !ok || path == "-" {
		return doc, nil
	}
	before, err := earlier(product, path, doc.Source, 0)
	if err != nil || len(before) == 0 {
		return doc, err
	}
	return product.ReadBehind(doc.Source, before)
}

// mostForks is how often a session may be a fork of a fork.
const mostForks = 100

// earlier is everything that comes before a file, nothing if a part of it is missing.
func earlier(product format.Continued, path string, src []byte, forks int) ([]byte, error) {
	pattern := product.Base(path, src)
	if pattern == "" || forks == mostForks {
		return nil, nil
	}
	paths, err := filepath.Glob(pattern)
	if err != nil {
		return nil, nil // the path is no pattern
	}
	var part, whole []byte
	from, found := "", 0
	for _, at := range paths {
		data, _, err := plainfile.Read(at, 0)
		if err != nil {
			return nil, err
		}
		before, sure := product.Before(src, data)
		if len(before) > 0 {
			part, whole, from, found = before, data, at, found+1
		}
		if sure {
			found = 1
			break
		}
	}
	if found != 1 {
		return nil, nil
	}
	before, err := earlier(product, from, whole, forks+1)
	if err != nil || len(before) == 0 && product.Base(from, whole) != "" {
		return nil, err
	}
	return slices.Concat(before, part), nil
}

// accompanied reads the session once more with the file that its product keeps beside it, if there
// is one.
func (s *Session) accompanied(product format.Accompanied, path string) error {
	beside := product.Beside(path)
	if beside == "" {
		return nil
	}
	data, _, err := plainfile.Read(beside, 0)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	}
	s.Doc, err = product.ReadWith(s.Doc.Source, data)
	return err
}

// ForStore is the file of a session as a store keeps it: behind its base, if it has one.
func ForStore(doc *format.Document, path string) *store.Source {
	kept := &store.Source{Format: doc.Format, Path: path, Data: doc.Source}
	if f, err := all.Named(doc.Format); err == nil {
		if product, ok := f.(format.Continued); ok {
			kept.Data = product.Whole(doc)
		}
	}
	return kept
}

// FromStore reads the file that a store kept.
func FromStore(kept *store.Source) (*format.Document, error) {
	f, err := all.Named(kept.Format)
	if err != nil {
		return nil, err
	}
	if product, ok := f.(format.Continued); ok {
		if n := product.Parted(kept.Data); n > 0 {
			return product.ReadBehind(kept.Data[n:], kept.Data[:n])
		}
	}
	return f.Read(kept.Data)
}

// ReadFile reads a file or standard input, whole.
func ReadFile(a *cli.App, src string) ([]byte, fs.FileInfo, error) {
	if src == "-" {
		defer a.Progress("reading standard input")()
		data, err := readStream(a.Env.Stdin, "standard input")
		return data, nil, err
	}
	defer a.Progress("reading " + src)()
	path := a.Path(src)
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, nil, err
	case info.IsDir():
		return nil, nil, cli.Usage("%s is a folder; name a session file in it. "+
			"`winnow inspect` and `winnow import` take folders", src)
	case info.Mode().IsRegular():
		data, info, err := plainfile.Read(path, 0)
		thrift(len(data))
		return data, info, err
	case !isOpen(path):
		return nil, nil, cli.Hint(&plainfile.KindError{Path: src, Mode: info.Mode()},
			"it may never end; to read it all the same: winnow COMMAND - < "+cli.ShellWord(src))
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	data, err := readStream(f, src)
	return data, nil, err
}

// isOpen reports whether a path is that of a file which the shell opened for this process, most
// likely a pipe: /dev/stdin, or /dev/fd/63 of <(command).
func isOpen(path string) bool {
	path = filepath.Clean(path)
	dir := filepath.Dir(path)
	return path == "/dev/stdin" || dir == "/dev/fd" || strings.HasPrefix(dir, "/proc/") && filepath.Base(dir) == "fd"
}

// mostStreamed is how many bytes of what has no size are read: as many as of what is unpacked. It
// may never end.
const mostStreamed = 1 << 30

// readStream reads what has no size, whole.
func readStream(r io.Reader, name string) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, mostStreamed+1))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if len(data) > mostStreamed {
		return nil, cli.Hint(fmt.Errorf("%s has more than a gigabyte", name),
			"write it into a file, and give that: files of lines are inspected piece by piece")
	}
	thrift(len(data))
	return data, nil
}

// huge is the size in bytes of a session that must be read with an eye on memory.
const huge = 32 << 20

// thrift trades time for memory: for a huge session, garbage of its own size is too much.
func thrift(size int) {
	if size >= huge {
		debug.SetGCPercent(20)
	}
}
