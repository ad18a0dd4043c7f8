package inplace

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
)

// Info is the state of the file when it was taken.
func (c *Claim) Info() fs.FileInfo { return c.info }

// Content reads the bytes that the file had when it was taken.
func (c *Claim) Content() io.Reader { return io.NewSectionReader(c.old, 0, c.info.Size()) }

// Removable reports, before anything costly is done, why Remove would refuse the file. unseen takes
// a file although the system does not show which programs have it open.
func (c *Claim) Removable(unseen bool) error {
	if reason := shared(c.info); reason != "" {
		return &Refusal{Code: Foreign, Path: c.Path, Reason: reason, Hint: "nothing was changed", verb: "removed"}
	}
	if _, known := c.room.processes(); !known && !unseen {
		return &Refusal{Code: Unseen, Path: c.Path, verb: "removed",
			Reason: "this system does not show which programs have it open",
			Hint:   "end every agent, and try again with --force"}
	}
	return nil
}

// unopened is nil if no other program is known to have the file open.
func (c *Claim) unopened() error {
	if open, _ := c.room.Openers(c.info); len(open) > 0 {
		return &Refusal{Code: Open, Path: c.Path, Reason: "it is open in " + names(open),
			Hint: "end that program and try again", verb: "removed"}
	}
	return nil
}

// Remove removes the file from its place. The caller has stored its content elsewhere. The file is
// first renamed, so that no program opens it any more by its name, and put back if a program has it
// open by then, or wrote to it. A process that dies in between leaves it under the other name, where
// Recover finds it.
func (c *Claim) Remove(unseen bool) error {
	if err := c.Removable(unseen); err != nil {
		return err
	}
	if err := c.same(c.Path); err != nil {
		return err
	}
	if runtime.GOOS == "windows" { // a file that is open is not renamed
		if err := c.old.Close(); err != nil {
			return err
		}
	}
	away := awayName(c.Path)
	if exists(away) {
		return fmt.Errorf("%s was left by a run that was interrupted", away)
	}
	if err := c.room.Step("away", func() error { return os.Rename(c.Path, away) }); err != nil {
		return err
	}
	if c.room.Renamed != nil {
		c.room.Renamed()
	}
	err := c.unopened()
	if err == nil {
		err = c.same(away)
	}
	if err == nil {
		err = c.room.Step("remove", func() error { return os.Remove(away) })
	}
	if err != nil {
		return errors.Join(err, c.room.putBack(away, c.Path))
	}
	syncFolder(filepath.Dir(c.Path))
	return nil
}

// same reports whether a path still leads to the file as it was taken.
func (c *Claim) same(path string) error {
	info, err := os.Lstat(path)
	if err != nil {
		return err
	}
	if !os.SameFile(info, c.info) || info.Size() != c.info.Size() || !info.ModTime().Equal(c.info.ModTime()) {
		return c.changed("it was written to since it was read", false)
	}
	return nil
}

// awayName is the name of a file while it is being removed. It has the ending of no session.
func awayName(path string) string {
	return filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+".away")
}

// Recover puts a file back that an interrupted Remove left under its other name. It reports whether
// there was one. If there is another file in its place by now, both stay, and the error names them.
func (r Room) Recover(path string) (bool, error) {
	away := awayName(path)
	if !exists(away) {
		return false, nil
	}
	return true, r.ready().putBack(away, path)
}

// putBack gives a file its name again, unless another file has the name.
func (r Room) putBack(away, path string) error {
	info, err := os.Lstat(away)
	if err != nil {
		return err
	}
	if !sameFile(path, info) { // else it was interrupted between the two steps
		err := r.Link(away, path)
		switch {
		case errors.Is(err, fs.ErrExist):
			return fmt.Errorf("another file took the place of %s; its old content is in %s", path, away)
		case err != nil && exists(path): // the disk takes no link
			return fmt.Errorf("%s stays as %s: %w", path, away, err)
		case err != nil:
			return os.Rename(away, path)
		}
	}
	syncFolder(filepath.Dir(path))
	return os.Remove(away)
}
