package snapshot

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// Restored is what a Restore did.
type Restored struct {
	// Before is the snapshot of the folder as it was, so that a Restore to it takes everything
	// back.
	Before string
	// Changed are the files that were written or removed, by name.
	Changed []string
	// Kept are files that the snapshot has not and that stayed: they are ignored, or were too large
	// for it.
	Kept []string
}

// Restore brings the folder back to a snapshot: what differs is written, what came later is
// removed. What is there now is kept as a snapshot first, also what is ignored or large of it,
// where it is in the way. After an error the folder may be half-way: Before has it as it was.
func (r *Repository) Restore(ctx context.Context, tree string) (done Restored, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("restoring %s: %w", r.folder, err)
		}
	}()
	unlock, err := r.lock(ctx)
	if err != nil {
		return done, err
	}
	defer unlock()
	if err := r.has(ctx, tree); err != nil {
		return done, err
	}
	names, err := r.run(ctx, nil, "ls-tree", "-r", "-z", "--name-only", "--full-tree", tree)
	if err != nil {
		return done, err
	}
	if done.Before, err = r.take(ctx, slices.Collect(split(names))); err != nil {
		return done, err
	}
	changes, err := r.changes(ctx, done.Before, tree)
	if err != nil {
		return done, err
	}
	root, err := os.OpenRoot(r.folder)
	if err != nil {
		return done, err
	}
	defer root.Close()
	w := &way{root: root, done: &done, repository: r}
	// What is ignored is decided by the rules as they were. Those that something is in the way of
	// say nothing about it; they come with the rest.
	rules := slices.DeleteFunc(slices.Clone(changes), func(c change) bool {
		return path.Base(c.name) != ".gitignore"
	})
	if err := w.back(ctx, rules); ctx.Err() != nil {
		return done, err
	}
	rest := slices.DeleteFunc(changes, func(c change) bool { return slices.Contains(done.Changed, c.name) })
	if rest, err = w.sparing(ctx, tree, rest); err != nil {
		return done, err
	}
	err = w.back(ctx, rest)
	slices.Sort(done.Changed)
	return done, err
}

// way is a folder on its way back.
type way struct {
	root       *os.Root
	done       *Restored
	repository *Repository
}

// sparing leaves out of changes the removal of what the snapshot lacks for another reason than that
// it was not there.
func (w *way) sparing(ctx context.Context, tree string, changes []change) ([]change, error) {
	var removed []string
	for _, c := range changes {
		if c.status == 'D' {
			removed = append(removed, "./"+c.name) // whatever it begins with
		}
	}
	if len(removed) == 0 {
		return changes, nil
	}
	spared := map[string]bool{}
	left, _ := os.ReadFile(w.repository.leftOf(tree)) // there may be none
	for name := range split(left) {
		spared[name] = true
	}
	in := strings.NewReader(strings.Join(removed, "\x00") + "\x00")
	out, err := w.repository.run(ctx, in, "check-ignore", "-z", "--no-index", "--stdin")
	var exit interface{ ExitCode() int }
	if err != nil && (!errors.As(err, &exit) || exit.ExitCode() != 1) { // 1: none is ignored
		return nil, err
	}
	for name := range split(out) {
		spared[strings.TrimPrefix(name, "./")] = true
	}
	return slices.DeleteFunc(changes, func(c change) bool {
		if c.status != 'D' || !spared[c.name] {
			return false
		}
		w.done.Kept = append(w.done.Kept, c.name)
		return true
	}), nil
}

// back removes and writes. One file that cannot be changed does not keep the others from it.
func (w *way) back(ctx context.Context, changes []change) error {
	var all []error
	did := func(name string, err error) {
		if err != nil {
			all = append(all, err)
		} else {
			w.done.Changed = append(w.done.Changed, name)
		}
	}
	at := map[string][]change{}
	for _, c := range changes {
		if c.status == 'D' {
			did(c.name, w.remove(c.name))
			continue
		}
		at[c.newID] = append(at[c.newID], c)
	}
	err := w.repository.blobs(ctx, slices.Sorted(maps.Keys(at)), func(id string, data []byte) error {
		for _, c := range at[id] {
			did(c.name, w.write(c, data))
		}
		return ctx.Err()
	})
	return errors.Join(append(all, err)...)
}

// remove removes a file, and the folders that are empty then.
func (w *way) remove(name string) error {
	if err := w.root.Remove(filepath.FromSlash(name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		if w.root.Remove(filepath.FromSlash(dir)) != nil {
			break
		}
	}
	return nil
}

// write writes a file beside its place and moves it there, so that no program sees half of it.
func (w *way) write(c change, data []byte) error {
	name := filepath.FromSlash(c.name)
	for i := range len(c.name) {
		if c.name[i] != '/' {
			continue
		}
		// A link on the way would lead elsewhere; what snapshots have of it was removed before.
		switch info, err := w.root.Lstat(filepath.FromSlash(c.name[:i])); {
		case errors.Is(err, fs.ErrNotExist):
			if err := w.root.Mkdir(filepath.FromSlash(c.name[:i]), 0o777); err != nil {
				return err
			}
		case err != nil:
			return err
		case !info.IsDir():
			return fmt.Errorf("%s: %s is in the way", c.name, c.name[:i])
		}
	}
	permissions := fs.FileMode(0o666)
	switch info, err := w.root.Lstat(name); {
	case err == nil && info.IsDir():
		if err := w.clear(name); err != nil {
			return fmt.Errorf("%s: in the way is a folder with something that snapshots leave out: %w", c.name, err)
		}
	case err == nil && info.Mode().IsRegular():
		permissions = info.Mode().Perm()
	}
	beside := filepath.Join(filepath.Dir(name), fmt.Sprintf(".winnow-%d-%.12s", os.Getpid(), c.newID))
	w.root.Remove(beside)
	err := w.create(c, beside, permissions, data)
	if err == nil {
		err = w.root.Rename(beside, name)
	}
	if err != nil {
		w.root.Remove(beside)
		return fmt.Errorf("%s: %w", c.name, err)
	}
	return nil
}

// clear removes a folder in which there are folders at most.
func (w *way) clear(name string) error {
	folder, err := w.root.Open(name)
	if err != nil {
		return err
	}
	inside, err := folder.ReadDir(-1)
	if err := errors.Join(err, folder.Close()); err != nil {
		return err
	}
	for _, d := range inside {
		if !d.IsDir() {
			return fmt.Errorf("%s stays", filepath.Join(name, d.Name()))
		}
		if err := w.clear(filepath.Join(name, d.Name())); err != nil {
			return err
		}
	}
	return w.root.Remove(name)
}

func (w *way) create(c change, beside string, permissions fs.FileMode, data []byte) error {
	if c.newMode == "120000" {
		return w.root.Symlink(string(data), beside)
	}
	f, err := w.root.OpenFile(beside, os.O_CREATE|os.O_EXCL|os.O_WRONLY, permissions|0o200)
	if err != nil {
		return err
	}
	_, err = bytes.NewReader(data).WriteTo(f)
	info, statErr := f.Stat()
	if err := errors.Join(err, statErr, f.Close()); err != nil {
		return err
	}
	// If it is executable, everybody who may read it may run it.
	mode := info.Mode().Perm()
	if permissions != 0o666 {
		mode = permissions
	}
	switch runs := c.newMode == "100755"; {
	case runs && mode&0o111 == 0:
		mode |= mode & 0o444 >> 2
	case !runs:
		mode &^= 0o111
	}
	return w.root.Chmod(beside, mode)
}
