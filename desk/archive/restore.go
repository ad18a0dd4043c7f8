package archive

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/text/plainfile"
)

// ErrTaken is the error of a session that is not brought back because another file is in its place.
var ErrTaken = errors.New("another file is in its place")

// Restore brings a session back to its place, with its bytes, permissions and time. The archived
// copy stays. A session whose file is there already is only marked as restored. Parts that were
// taken out of a file are put back into it.
func (a Archive) Restore(ctx context.Context, s *Session, now session.Millis) error {
	there, err := os.Lstat(s.Source)
	switch {
	case err == nil && s.Parts != nil:
		if err := a.rejoin(ctx, *s); err != nil {
			return err
		}
	case s.Parts != nil:
		return err
	case err == nil && !a.is(ctx, there, *s):
		return fmt.Errorf("%s: %w; rename it, and try again", s.Source, ErrTaken)
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return err
	case err != nil:
		if err := a.bring(ctx, *s); err != nil {
			return fmt.Errorf("%s: %w", s.Source, err)
		}
	}
	s.Restored = now
	return s.save()
}

// is reports whether a file has the content of an archived session.
func (a Archive) is(ctx context.Context, info fs.FileInfo, s Session) bool {
	if !info.Mode().IsRegular() || info.Size() != s.Size {
		return false
	}
	f, _, err := plainfile.Open(s.Source)
	if err != nil {
		return false
	}
	defer f.Close()
	hash, err := hashOf(interruptible{ctx, f})
	return err == nil && hash == s.Hash
}

// restoring is the name of a session's file until it is whole.
func restoring(path string) string {
	return filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+".restoring")
}

// bring writes the file under another name, and gives it its own when it is whole.
func (a Archive) bring(ctx context.Context, s Session) (err error) {
	from, _, err := plainfile.Open(s.Path)
	if err != nil {
		return err
	}
	defer from.Close()
	if err := os.MkdirAll(filepath.Dir(s.Source), 0o700); err != nil {
		return err
	}
	name := restoring(s.Source)
	if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer os.Remove(name) // it has its own name by then, if all went well
	err = unpack(f, interruptible{ctx, from}, s.Receipt)
	if err == nil {
		err = f.Chmod(fs.FileMode(s.Mode).Perm())
	}
	if err == nil {
		err = a.step("sync", f.Sync)
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err := os.Chtimes(name, s.Modified, s.Modified); err != nil {
		return err
	}
	err = a.step("link", func() error { return os.Link(name, s.Source) })
	if errors.Is(err, fs.ErrExist) {
		return ErrTaken
	}
	if err != nil { // the disk takes no link
		if _, there := os.Lstat(s.Source); !errors.Is(there, fs.ErrNotExist) {
			return errors.Join(err, there)
		}
		if err := os.Rename(name, s.Source); err != nil {
			return err
		}
	}
	return syncFolder(filepath.Dir(s.Source))
}

// Named are the sessions of a list that a word names: a path, or the beginning of an id, which may
// follow its product and a colon. A session comes with the sessions of its sub-agents. Of several
// archived versions of a file it is the newest, with all parts that are not back in it.
func Named(list []Session, word string) (named []Session) {
	const least = 4
	product, id, ok := strings.Cut(word, ":")
	if !ok {
		product, id = "", word
	}
	ids, sources, parted := map[string]bool{}, map[string]bool{}, map[string]bool{}
	add := func(s Session) {
		key := s.Source
		switch {
		case s.Parts != nil && s.Restored != 0, s.Parts == nil && s.Restored != 0 && parted[s.Source]:
			return
		case s.Parts != nil:
			key += " " + s.Hash
			parted[s.Source] = true
		}
		if !sources[key] {
			named, sources[key] = append(named, s), true
		}
	}
	for _, s := range list {
		byID := len(id) >= least && strings.HasPrefix(s.ID, id) && (product == "" || product == s.Product)
		if byID || word != "" && (word == s.Source || word == s.Path) {
			add(s)
			ids[s.Product+" "+s.ID] = s.ID != ""
		}
	}
	for _, s := range list {
		if s.Parent != "" && ids[s.Product+" "+s.Parent] {
			add(s)
		}
	}
	return named
}

// NewestRun are the sessions of the newest run that are not brought back yet. Parts of a session
// that is gone, because its product deleted it, are left out.
func NewestRun(list []Session) (run []Session) {
	archived := map[string]bool{}
	for _, s := range list {
		if s.Restored != 0 || s.Parts != nil && !archived[s.Source] && !exists(s.Source) {
			continue
		}
		archived[s.Source] = s.Parts == nil
		if len(run) == 0 || s.Time == run[0].Time {
			run = append(run, s)
		}
	}
	return run
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
