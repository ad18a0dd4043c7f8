package inplace

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/text/plainfile"
)

// keep gives the original a second name before its first is taken away.
func (c *Claim) keep() (Original, error) {
	if err := os.MkdirAll(c.room.Folder(), 0o700); err != nil {
		return Original{}, err
	}
	now := session.Millis(c.room.Now().UnixMilli())
	o := Original{
		Receipt: Receipt{Source: c.Path, Command: c.command, Time: now, Hash: c.read, Size: c.at}, info: c.info,
	}
	base := filepath.Join(c.room.Folder(), c.read[:32]+"-"+filepath.Base(c.room.lockOf(c.Path))[:8])
	for n := 1; ; n++ {
		o.Path = base
		if n > 1 {
			o.Path += fmt.Sprintf(".%d", n)
		}
		o.receipt = o.Path + ".json"
		there, err := readOriginal(o.receipt)
		switch {
		case errors.Is(err, fs.ErrNotExist), err == nil && there.Missing:
			return o, c.name(&o)
		case err == nil && os.SameFile(there.info, c.info): // a replacement that was broken off
			o.Path, o.Beside = there.Path, there.Beside
			return o, c.room.Step("receipt", o.save)
		}
	}
}

// name writes the receipt and makes the link: in the folder of originals, or beside the file if the
// folder is on another disk.
func (c *Claim) name(o *Original) error {
	if err := c.room.Step("receipt", o.save); err != nil {
		return err
	}
	err := c.room.Step("link", func() error { return c.room.Link(c.Path, o.Path) })
	// The disk fails; any other error says that there can be no such link.
	if errors.Is(err, syscall.EIO) || errors.Is(err, syscall.ENOSPC) {
		return errors.Join(err, o.remove())
	}
	if err != nil {
		base := filepath.Join(filepath.Dir(c.Path), "."+filepath.Base(c.Path)+"."+c.read[:12])
		o.Beside = base + ".original"
		for n := 2; exists(o.Beside) && !sameFile(o.Beside, c.info); n++ {
			o.Beside = fmt.Sprintf("%s.%d.original", base, n)
		}
		inFolder := o.Path
		o.Path = o.Beside
		if err = c.room.Step("receipt", o.save); err == nil && !sameFile(o.Beside, c.info) {
			err = c.room.Step("link", func() error { return c.room.Link(c.Path, o.Beside) })
		}
		if err != nil {
			return c.copied(o, inFolder, err)
		}
	}
	if !sameFile(o.Path, c.info) {
		return errors.Join(c.changed("another file was put in its place since it was read", false), o.remove())
	}
	syncFolder(filepath.Dir(o.Path))
	return nil
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// copied keeps a copy if no link can be made. What is written to the original after this process
// has ended would be lost, so no other program may have it open.
func (c *Claim) copied(o *Original, path string, why error) error {
	open, known := c.room.Openers(c.info)
	if writing := writersOf(open); len(writing) > 0 || !known && !c.force {
		who := "whether a program has it open cannot be found out"
		risk := "what an open program writes afterwards is lost"
		if len(writing) > 0 {
			who, risk = "it is open in "+names(writing), ""
		}
		refusal := &Refusal{
			Code: Unlinkable, Path: c.Path, Reason: fmt.Sprintf("its disk takes no hard link (%v), and %s", why, who),
			Hint: "end the program that has it open, or write to another file with -o", Risk: risk,
		}
		return errors.Join(refusal, os.Remove(o.receipt))
	}
	o.Path, o.Beside, o.copied = path, "", true
	err := c.room.Step("copy", func() error { return copyFile(c.old, c.info.Size(), path, c.info.Mode().Perm()) })
	if err == nil {
		err = c.room.Step("receipt", o.save)
	}
	if err != nil {
		return errors.Join(err, o.remove())
	}
	return nil
}

// copyFile copies the first bytes of a file to a new one: all of it or nothing.
func copyFile(from io.ReaderAt, size int64, path string, mode fs.FileMode) error {
	return plainfile.Replace(path, func(f *os.File) error {
		_, err := io.Copy(f, io.NewSectionReader(from, 0, size))
		return errors.Join(err, f.Chmod(mode), f.Sync())
	})
}

// bring copies an original that is beside the file into the folder of originals, once no program
// writes to it any more. With it goes what is in no other file.
func (c *Claim) bring(o *Original, done *Replaced) error {
	if o.copied { // what came to the original since goes along
		info, err := c.old.Stat()
		if err != nil || info.Size() == c.info.Size() {
			return err
		}
		return copyFile(c.old, info.Size(), o.Path, info.Mode().Perm())
	}
	if o.Beside == "" {
		return nil
	}
	if len(done.Open) > 0 {
		return errors.New("it is open in " + names(done.Open))
	}
	info, err := os.Lstat(o.Beside)
	if err != nil {
		return err
	}
	path := o.receipt[:len(o.receipt)-len(".json")]
	if err := copyFile(c.old, info.Size(), path, info.Mode().Perm()); err != nil {
		return err
	}
	if now, err := os.Lstat(o.Beside); err != nil || now.Size() != info.Size() {
		return errors.Join(errors.New("it was written to while it was copied"), err, os.Remove(path))
	}
	beside := o.Beside
	o.Path, o.Beside = path, ""
	if err := o.save(); err != nil {
		o.Path, o.Beside = beside, beside
		return err
	}
	if err := os.Remove(beside); err != nil {
		done.note("a second name of the original could not be removed: %v", err)
	}
	return nil
}

// tidy removes what an original makes superfluous: other names of it, left by replacements that
// were broken off, and older originals of the same file with the same content.
func (c *Claim) tidy(o Original) {
	list, _ := c.room.Originals() // what cannot be read stays
	for _, other := range list {
		if other.Source == o.Source && other.Missing && other.receipt != o.receipt {
			_ = other.remove() // its replacement was broken off before the link was made, or somebody removed it
		}
		if other.Source != o.Source || other.receipt == o.receipt || other.info == nil ||
			other.Beside != "" && other.Path == o.Path {
			continue
		}
		same := os.SameFile(other.info, c.info)
		if !same && (other.Hash != o.Hash || other.Bytes != other.Size || c.room.reasonToKeep(other) != "") {
			continue
		}
		if !same {
			if whole, err := other.Verify(); !whole || err != nil {
				continue
			}
		}
		_ = other.remove() // it does no harm if it stays
	}
}
