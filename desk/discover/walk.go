package discover

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Walk visits root and what is below it, in the order of the names. visit may return fs.SkipDir for
// a folder that is not to be entered; any other error ends the walk.
//
// A link is visited as what it leads to, under its own name. What lies below root is visited where
// it lies and not once more through a link, and what lies elsewhere is visited once, so that no
// file is seen twice and links that lead in a circle have an end. A link that leads nowhere is
// passed over.
//
// A folder that cannot be listed, and a link that cannot be followed, is told to unread, and hides
// nothing else.
func Walk(root string, visit func(path string, d fs.DirEntry) error, unread func(path string, err error)) error {
	real, err := filepath.EvalSymlinks(root)
	if err != nil {
		return err
	}
	info, err := os.Stat(real)
	if err != nil {
		return err
	}
	w := walk{root: real, seen: map[string]bool{}, visit: visit, unread: unread}
	return w.entry(root, real, named{fs.FileInfoToDirEntry(info), filepath.Base(root)})
}

type walk struct {
	root   string
	seen   map[string]bool // what lies outside of root, without links
	visit  func(path string, d fs.DirEntry) error
	unread func(path string, err error)
}

// named is what a link leads to, under the link's name.
type named struct {
	fs.DirEntry
	name string
}

func (n named) Name() string { return n.name }

// entry visits what has a path, which is real without links.
func (w *walk) entry(path, real string, d fs.DirEntry) error {
	if !w.inside(real) {
		if w.seen[real] {
			return nil
		}
		w.seen[real] = true
	}
	if err := w.visit(path, d); err != nil || !d.IsDir() {
		if errors.Is(err, fs.SkipDir) {
			return nil
		}
		return err
	}
	entries, err := os.ReadDir(path) // on an error what was listed before it
	if err != nil {
		w.unread(path, err)
	}
	for _, d := range entries {
		below, realBelow := filepath.Join(path, d.Name()), filepath.Join(real, d.Name())
		if d.Type()&fs.ModeSymlink != 0 {
			if d, realBelow, err = follow(below); err != nil {
				w.unread(below, err)
			}
			if d == nil || w.inside(realBelow) {
				continue
			}
		}
		if err := w.entry(below, realBelow, d); err != nil {
			return err
		}
	}
	return nil
}

// inside reports whether a path without links is root's or lies below it.
func (w *walk) inside(real string) bool { return within(w.root, real) }

// within reports whether a path is a folder's or lies below it.
func within(folder, path string) bool {
	rel, err := filepath.Rel(folder, path)
	return err == nil && filepath.IsLocal(rel)
}

// follow returns what a link leads to and where that is, nil when it leads nowhere.
func follow(path string) (d fs.DirEntry, real string, err error) {
	info, err := os.Stat(path)
	if err == nil {
		real, err = filepath.EvalSymlinks(path)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist) || isCircle(err):
		return nil, "", nil
	case err != nil:
		return nil, "", err
	}
	return named{fs.FileInfoToDirEntry(info), filepath.Base(path)}, real, nil
}

// isCircle tells of a link that leads to itself, which is what more links than a system follows
// come to.
func isCircle(err error) bool {
	return err != nil && strings.Contains(err.Error(), "too many")
}
