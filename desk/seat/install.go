package seat

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/winnowhq/winnow/text/plainfile"
)

// Change is what happens to one file.
type Change struct {
	Path string
	Done Done
	Text []byte // what the file holds afterwards; nil if there is none
}

// Done says what was done to a file.
type Done string

const (
	Written  Done = "written"  // it was not there
	Replaced Done = "replaced" // it was there, and was kept to be put back
	Merged   Done = "merged"   // members were set in it
	Kept     Done = "kept"     // it is as it should be
	Removed  Done = "removed"  // it was not there before
	Restored Done = "restored" // it is as it was before
	Stripped Done = "stripped" // somebody changed it since: only what winnow set was taken out
	Left     Done = "left"     // somebody changed it since: it was not touched
)

// ErrChanged is the error of an installation over a file that somebody changed since winnow wrote
// it.
var ErrChanged = errors.New("somebody changed it since winnow wrote it")

// ErrAbsent is the error of removing what is not installed.
var ErrAbsent = errors.New("not installed")

// Preview says what Install would do, and changes nothing.
func Preview(p Place, s Seat) ([]Change, Plan, error) {
	w, err := prepare(p, s)
	if err != nil {
		return nil, Plan{}, err
	}
	return w.changes, w.plan, nil
}

// Install writes what the product needs. Done again it changes nothing; after an update of winnow
// it replaces what the other version wrote. A file that somebody changed since is an error of the
// kind ErrChanged, before anything is written.
func Install(p Place, s Seat) ([]Change, Plan, error) {
	w, err := prepare(p, s)
	if err != nil {
		return nil, Plan{}, err
	}
	if slices.ContainsFunc(w.changes, func(c Change) bool { return c.Done != Kept }) || !w.current {
		// The receipt comes first: whatever is written can then be taken back.
		if err := w.receipt.save(p, s); err != nil {
			return nil, Plan{}, err
		}
	}
	for _, c := range w.changes {
		switch c.Done {
		case Kept, Left:
		case Removed:
			err = os.Remove(c.Path)
		default:
			err = write(c.Path, c.Text, w.modes[c.Path])
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, Plan{}, fmt.Errorf("install %s: %w", s.Name(), err)
		}
	}
	return w.changes, w.plan, nil
}

// work is an installation that is worked out and not done.
type work struct {
	plan    Plan
	changes []Change
	modes   map[string]fs.FileMode
	receipt receipt
	current bool // whether the receipt that is there says the same
}

func prepare(p Place, s Seat) (*work, error) {
	plan, err := s.Plan(p)
	if err != nil {
		return nil, err
	}
	old, err := load(p, s)
	if err != nil && !errors.Is(err, ErrAbsent) {
		return nil, err
	}
	w := &work{plan: plan, modes: map[string]fs.FileMode{}, receipt: receipt{Version: p.Version, Seat: s.Name(),
		Project: p.Project, Folders: old.Folders}, current: err == nil && old.Version == p.Version}
	for _, f := range plan.Files {
		if err := w.file(f, old.entry(f.Path)); err != nil {
			return nil, err
		}
	}
	members := map[string][]Member{}
	var paths []string
	for _, m := range plan.Members {
		if members[m.Path] == nil {
			paths = append(paths, m.Path)
		}
		members[m.Path] = append(members[m.Path], m)
	}
	for _, path := range paths {
		if err := w.settings(path, members[path], old.entry(path)); err != nil {
			return nil, err
		}
	}
	for _, e := range old.Entries { // what another version wrote, and this one does not
		if w.receipt.entry(e.Path) == nil {
			c, err := back(e)
			if err != nil {
				return nil, err
			}
			w.changes = append(w.changes, c)
			w.modes[e.Path] = cmp.Or(e.Was, 0o644)
			if c.Done == Left {
				w.receipt.Entries = append(w.receipt.Entries, e)
			}
		}
	}
	for _, c := range w.changes {
		w.receipt.makes(filepath.Dir(c.Path))
	}
	return w, nil
}

// file adds a file that is written whole.
func (w *work) file(f File, old *entry) error {
	now, err := read(f.Path)
	if err != nil {
		return err
	}
	mode := cmp.Or(f.Mode, 0o644)
	e := entry{Path: f.Path, Hash: hashOf(f.Text), Before: now, There: now != nil, Was: modeOf(f.Path), Mode: mode}
	if old != nil {
		e.Before, e.There, e.Was = old.Before, old.There, old.Was
		if now != nil && hashOf(now) != old.Hash && hashOf(now) != e.Hash {
			return fmt.Errorf("%s: %w; move it away, or take your change out, and install again", f.Path, ErrChanged)
		}
	}
	done := Replaced
	switch {
	case now == nil:
		done = Written
	case bytes.Equal(now, f.Text):
		done = Kept
	}
	w.add(Change{f.Path, done, f.Text}, e)
	return nil
}

// settings adds a file of settings.
func (w *work) settings(path string, members []Member, old *entry) error {
	now, err := read(path)
	if err != nil {
		return err
	}
	before := now
	if old != nil && now != nil {
		before = old.Before
		if hashOf(now) != old.Hash {
			before = without(now, old.Before, old.Members)
		}
	}
	text, err := with(path, before, members)
	if err != nil {
		return err
	}
	done := Merged
	switch {
	case now == nil:
		done = Written
	case bytes.Equal(now, text):
		done = Kept
	}
	e := entry{Path: path, Hash: hashOf(text), Before: before, There: before != nil, Members: members,
		Was: modeOf(path), Mode: cmp.Or(modeOf(path), 0o644)}
	if now != nil && old != nil {
		e.There = e.There && old.There
	}
	w.add(Change{path, done, text}, e)
	return nil
}

func (w *work) add(c Change, e entry) {
	w.changes, w.receipt.Entries = append(w.changes, c), append(w.receipt.Entries, e)
	w.modes[c.Path] = e.Mode
}

// Uninstall puts back what was there before Install, to the byte. What somebody changed since is
// left, or loses only what winnow set. The error is of the kind ErrAbsent if nothing is installed.
func Uninstall(p Place, s Seat) ([]Change, error) {
	r, err := load(p, s)
	if err != nil {
		return nil, err
	}
	var changes []Change
	for _, e := range r.Entries {
		c, err := back(e)
		if err != nil {
			return nil, err
		}
		switch c.Done {
		case Removed:
			err = os.Remove(c.Path)
		case Restored, Stripped:
			err = write(c.Path, c.Text, cmp.Or(e.Was, modeOf(c.Path), 0o644))
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return changes, fmt.Errorf("uninstall %s: %w", s.Name(), err)
		}
		changes = append(changes, c)
	}
	for _, folder := range r.Folders { // deepest first; one that is not empty stays
		_ = os.Remove(folder)
	}
	return changes, r.remove(p, s)
}

// back is how a file becomes what it was before.
func back(e entry) (Change, error) {
	now, err := read(e.Path)
	c := Change{Path: e.Path, Text: e.Before}
	switch {
	case err != nil:
		return c, err
	case now == nil && !e.There, bytes.Equal(now, e.Before) && e.There:
		c.Done = Kept
	case hashOf(now) == e.Hash && e.There:
		c.Done = Restored
	case hashOf(now) == e.Hash:
		c.Done, c.Text = Removed, nil
	case e.Members == nil || now == nil:
		c.Done, c.Text = Left, now
	default:
		c.Done, c.Text = Stripped, without(now, e.Before, e.Members)
		if left := string(bytes.TrimSpace(c.Text)); !e.There && (left == "{}" || left == "") {
			c.Done, c.Text = Removed, nil
		}
	}
	return c, nil
}

// Examine says what is wrong with an installation: files that are not what was written, a program
// that is gone, and what the seat itself finds. Nothing is said if it is not installed.
func Examine(p Place, s Seat) ([]Finding, error) {
	r, err := load(p, s)
	if errors.Is(err, ErrAbsent) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	again := "winnow install " + s.Name()
	if p.Project != "" {
		again += " --project"
	}
	var found []Finding
	for _, e := range r.Entries {
		now, err := read(e.Path)
		switch {
		case err != nil:
			return found, err
		case now == nil:
			found = append(found, Finding{Missing, "a file of winnow's in " + s.Name() + " is gone: " + e.Path, again,
				e.Path, true})
		case e.Members == nil && hashOf(now) != e.Hash:
			found = append(found, Finding{Changed, "somebody changed a file of winnow's in " + s.Name() + ": " + e.Path,
				"move it away, then: " + again, e.Path, false})
		}
	}
	if r.Version != p.Version {
		found = append(found, Finding{Outdated, fmt.Sprintf("winnow %s is installed in %s, and this is %s", r.Version,
			s.Name(), p.Version), again, "", false})
	}
	if r.Winnow != "" {
		if info, err := os.Stat(r.Winnow); err != nil || info.Mode()&0o111 == 0 {
			found = append(found, Finding{NoBinary, s.Name() + " calls winnow at " + r.Winnow + ", which is not there",
				again,
				r.Winnow, true})
		}
	}
	return append(found, s.Check(p)...), nil
}

// Installed reports whether a seat is installed in a place, and which version of winnow did it.
func Installed(p Place, s Seat) (version string, is bool) {
	r, err := load(p, s)
	return r.Version, err == nil
}

// mostBytes is the largest file that is read: settings are small.
const mostBytes = 16 << 20

// read reads a file, nil if there is none. An empty file is not nil.
func read(path string) ([]byte, error) {
	text, _, err := plainfile.Read(path, mostBytes)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if text == nil && err == nil {
		text = []byte{}
	}
	return text, err
}

// modeOf is the mode of a file, 0 if there is none.
func modeOf(path string) fs.FileMode {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return info.Mode().Perm()
}

// write puts a file in its place, whole. A link stays one: what it leads to is written.
func write(path string, text []byte, mode fs.FileMode) error {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return plainfile.Replace(path, func(f *os.File) error {
		_, err := f.Write(text)
		return cmp.Or(err, f.Chmod(mode))
	})
}

func hashOf(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}
