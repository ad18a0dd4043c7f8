package inplace

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime"
)

// Replaced says how a file was replaced.
type Replaced struct {
	// The real path of the file; a symbolic link stays and its target is replaced.
	Path     string `json:"path"`
	Original string `json:"original"` // the path at which the original is kept
	Hash     string `json:"hash"`     // SHA-256 of the bytes from which the new file was made
	Bytes    int64  `json:"bytes"`    // how many bytes the new file was made from
	// Whether the original is beside the file instead of with the others: their folder is on
	// another disk, and a program still has the original open.
	Beside bool `json:"beside"`
	// Lines that were written to the original meanwhile and added to the new file.
	CarriedLines int `json:"carriedLines"`
	// Bytes at the end of the original that are not in the new file: an incomplete line.
	Left int64 `json:"left"`
	// The processes that still have the original open and may write to it.
	Open []Process `json:"open"`
	// Whether some of the carried lines come after newer ones, because the writer did not pause.
	Disordered bool `json:"disordered"`
	// Other remarks, as sentences: above all that the carried lines bypass the compaction.
	Notes []string `json:"notes"`
}

func (d *Replaced) note(format string, args ...any) {
	d.Notes = append(d.Notes, fmt.Sprintf(format, args...))
}

// Draft is the new content, written to a temporary file in the folder of the file that it replaces.
type Draft struct {
	Name   string
	Rename func(from, to string) error // puts it in its place
}

// Replace puts a draft in the place of the file. After an error that is not a *Late the file is as
// it was.
func (c *Claim) Replace(ctx context.Context, draft Draft) (Replaced, error) {
	done := Replaced{Path: c.Path, Hash: c.read, Bytes: c.at, Open: []Process{}, Notes: []string{}}
	if err := c.unchanged(); err != nil {
		return done, err
	}
	kept, err := c.keep()
	if err != nil {
		return done, err
	}
	out, err := c.finish(ctx, draft, &kept)
	if err != nil && c.renamed {
		return done, &Late{Original: kept.Path, Err: err}
	}
	if err != nil {
		return done, errors.Join(err, kept.remove())
	}
	defer out.Close()
	done.Original = kept.Path
	late := c.settle(ctx, out, &done)
	if late == nil {
		c.putInOrder(ctx, out, &done)
	}
	if copied := c.bring(&kept, &done); copied != nil {
		done.note("the original stays as %s: %v", kept.Path, copied)
	}
	done.Original, done.Beside, done.CarriedLines = kept.Path, kept.Beside != "", c.carried
	kept.Carried = c.at - done.Bytes
	if err := kept.save(); err != nil {
		done.note("the receipt of the original could not be brought up to date: %v", err)
	}
	c.tidy(kept)
	if err := c.leave(); err != nil {
		done.note("that the file was replaced could not be noted: %v", err)
	}
	return done, late
}

// Late is the error of a file that was replaced, if what was written to the original meanwhile
// could not be added to it.
type Late struct {
	Original string
	Err      error
}

func (l *Late) Error() string {
	return fmt.Sprintf("the file was replaced, but what was written to it meanwhile could not be added to it "+
		"and is in %s alone: %v", l.Original, l.Err)
}

func (l *Late) Unwrap() error { return l.Err }

// unchanged checks that the file still begins with what was read. It may have grown by lines if
// they can be carried over.
func (c *Claim) unchanged() error {
	hash, err := hashOf(c.old, c.at)
	if err != nil && err != io.ErrUnexpectedEOF {
		return err
	}
	if hash != c.read {
		return c.changed("it was rewritten since it was read", false)
	}
	_, err = c.growth()
	return err
}

// growth looks whether the file is what it was, and returns by how much it has grown. Without force
// it refuses growth.
func (c *Claim) growth() (int64, error) {
	info, err := os.Lstat(c.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, c.changed("it was removed since it was read", false)
	}
	if err != nil {
		return 0, err
	}
	grown := info.Size() - c.at
	switch {
	case !os.SameFile(info, c.info):
		return 0, c.changed("another file was put in its place since it was read", false)
	case grown < 0:
		return 0, c.changed("it was cut short since it was read", false)
	case info.Size() != c.info.Size() && (!c.force || !c.lines):
		return 0, c.changed("it was written to since it was read", c.lines)
	case info.Size() == c.info.Size() && !info.ModTime().Equal(c.info.ModTime()):
		return 0, c.changed("it was written to since it was read", false)
	}
	return grown, nil
}

// finish adds to the draft what came meanwhile, gives it the owner and mode of the file, looks at
// the file once more and renames. It returns the new file.
func (c *Claim) finish(ctx context.Context, draft Draft, kept *Original) (out *os.File, err error) {
	out, err = os.OpenFile(draft.Name, os.O_RDWR|os.O_APPEND, 0)
	if err != nil {
		return nil, err
	}
	draftFile := out
	defer func() {
		if err != nil {
			draftFile.Close()
		}
	}()
	written, err := out.Stat()
	if err != nil {
		return nil, err
	}
	c.end, kept.MadeBytes = written.Size(), written.Size()
	if kept.Made, err = hashOf(out, c.end); err != nil {
		return nil, err
	}
	if err := c.catchUp(out); err != nil {
		return nil, err
	}
	if !owned(out, c.info) && !c.force {
		return nil, c.foreign()
	}
	err = c.room.Step("chmod", func() error { return out.Chmod(c.info.Mode().Perm()) })
	if err == nil {
		err = c.room.Step("sync", out.Sync)
	}
	if err = cmp.Or(err, ctx.Err()); err == nil {
		err = c.catchUp(out) // the last look
	}
	if err != nil {
		return nil, err
	}
	if c.room.Looked != nil {
		c.room.Looked()
	}
	if runtime.GOOS == "windows" { // a file that is open is not renamed over
		err = c.renameClosed(&out, draft, kept.Path)
	} else {
		err = draft.Rename(draft.Name, c.Path)
	}
	if err != nil {
		return nil, err
	}
	c.renamed = true
	if c.room.Renamed != nil {
		c.room.Renamed()
	}
	return out, nil
}

// renameClosed closes the two files for the rename, and opens them by their new names.
func (c *Claim) renameClosed(out **os.File, draft Draft, kept string) error {
	if err := errors.Join((*out).Close(), c.old.Close()); err != nil {
		return err
	}
	err := draft.Rename(draft.Name, c.Path)
	old, opened := os.Open(kept)
	if opened == nil {
		c.old = old
	}
	if err != nil {
		return err
	}
	c.renamed = true
	*out, err = os.OpenFile(c.Path, os.O_RDWR|os.O_APPEND, 0)
	return errors.Join(err, opened)
}

// leave notes how the file was left.
func (c *Claim) leave() error {
	info, err := os.Stat(c.Path)
	if err != nil {
		return err
	}
	return c.note(info.Size(), info.ModTime())
}
