package inplace

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"time"

	"github.com/winnowhq/winnow/session"
)

// Replaced says how a file was replaced.
type Replaced struct {
	Path         string    `json:"path"`         // the real path of the file
	Original     string    `json:"original"`     // where the original is kept
	Hash         string    `json:"hash"`         // SHA-256 of its first bytes, those that the new file was made from
	Bytes        int64     `json:"bytes"`        // how many those are
	Beside       bool      `json:"beside"`       // it is beside the file and not with winnow's originals: another program still has it open, or it could not be copied
	CarriedLines int       `json:"carriedLines"` // lines that were written to the original meanwhile, and were added to the new file
	Left         int64     `json:"left"`         // bytes of the original that are not in the new file: an incomplete last line, or what is no line
	Open         []Process `json:"open"`         // who still has the original open, and may write to it
	Disordered   bool      `json:"disordered"`   // some of the carried lines stand behind newer ones
	Notes        []string  `json:"notes"`        // what else is worth knowing, for people
}

// Draft is the new content, written to a temporary file in the folder of the file that it replaces.
type Draft struct {
	Name   string
	Rename func(from, to string) error // puts it in its place
}

// rounds and pause are how long a writer is waited for that has the original open: whoever opens a file for a line and closes it again is done long
// before, whoever keeps it open is not going to close it.
const (
	rounds = 10
	pause  = 30 * time.Millisecond
)

// Replace puts a draft in the place of the file. After an error that is no *Late the file is as it was.
func (c *Claim) Replace(ctx context.Context, draft Draft) (Replaced, error) {
	done := Replaced{Path: c.Path, Hash: c.read, Bytes: c.at, Open: []Process{}, Notes: []string{}}
	if err := c.unchanged(); err != nil {
		return done, err
	}
	kept, err := c.keep()
	if err != nil {
		return done, err
	}
	out, err := c.finish(ctx, draft, kept.Path)
	if err != nil && c.renamed {
		return done, &Late{Original: kept.Path, Err: err}
	}
	if err != nil {
		return done, errors.Join(err, c.forget(kept))
	}
	defer out.Close()
	done.Original = kept.Path
	late := c.settle(ctx, out, &done)
	if late == nil {
		c.putInOrder(ctx, out, &done)
	}
	if copied := c.bring(&kept, &done); copied != nil {
		done.Notes = append(done.Notes, fmt.Sprintf("the original stays as %s: %v", kept.Path, copied))
	}
	done.Original, done.Beside, done.CarriedLines = kept.Path, kept.Beside != "", c.carried
	kept.Carried = c.at - done.Bytes
	if err := kept.save(); err != nil {
		done.Notes = append(done.Notes, fmt.Sprintf("the receipt of the original could not be brought up to date: %v", err))
	}
	c.tidy(kept)
	if err := c.leave(); err != nil {
		done.Notes = append(done.Notes, fmt.Sprintf("that the file was replaced could not be noted: %v", err))
	}
	return done, late
}

// Late is the error of a file that was replaced, and then what was written to the original meanwhile could not be added to it.
type Late struct {
	Original string
	Err      error
}

func (l *Late) Error() string {
	return fmt.Sprintf("the file was replaced, but what was written to it meanwhile could not be added to it and is in %s alone: %v", l.Original, l.Err)
}

func (l *Late) Unwrap() error { return l.Err }

// unchanged checks that the file still begins with what was read. It may have grown by lines where they can be carried over.
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

// growth looks whether the file is what it was, and returns by how much it has grown. Without force growth is refused.
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

// keep makes the original's second name, before its first is taken away.
func (c *Claim) keep() (Original, error) {
	if err := os.MkdirAll(c.room.Folder(), 0o700); err != nil {
		return Original{}, err
	}
	o := Original{Receipt: Receipt{Source: c.Path, Command: c.command, Time: session.Millis(c.room.Now().UnixMilli()), Hash: c.read, Size: c.at}, info: c.info}
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
			return o, c.room.step("receipt", o.save)
		}
	}
}

// name writes the receipt and makes the link: in the folder of originals, or beside the file where that is on another disk.
func (c *Claim) name(o *Original) error {
	if err := c.room.step("receipt", o.save); err != nil {
		return err
	}
	err := c.room.step("link", func() error { return c.room.link(c.Path, o.Path) })
	if errors.Is(err, syscall.EIO) || errors.Is(err, syscall.ENOSPC) { // the disk fails; anything else says that there can be no such link
		return errors.Join(err, c.forget(*o))
	}
	if err != nil {
		o.Beside = filepath.Join(filepath.Dir(c.Path), "."+filepath.Base(c.Path)+"."+c.read[:12]+".original")
		for n := 2; exists(o.Beside) && !sameFile(o.Beside, c.info); n++ {
			o.Beside = filepath.Join(filepath.Dir(c.Path), fmt.Sprintf(".%s.%s.%d.original", filepath.Base(c.Path), c.read[:12], n))
		}
		inFolder := o.Path
		o.Path = o.Beside
		if err = c.room.step("receipt", o.save); err == nil && !sameFile(o.Beside, c.info) {
			err = c.room.step("link", func() error { return c.room.link(c.Path, o.Beside) })
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

// copied keeps a copy where no link can be made. What is written to the original after this process has ended would be lost, so nobody may have it open.
func (c *Claim) copied(o *Original, path string, why error) error {
	open, known := c.room.Openers(c.info)
	if writing := writersOf(open); len(writing) > 0 || !known && !c.force {
		who := "whether a program has it open cannot be found out"
		risk := "what an open program writes afterwards is lost"
		if len(writing) > 0 {
			who, risk = "it is open in "+names(writing), ""
		}
		return errors.Join(&Refusal{Code: Unlinkable, Path: c.Path, Reason: fmt.Sprintf("its disk takes no hard link (%v), and %s", why, who),
			Hint: "end the program that has it open, or write to another file with -o", Risk: risk}, os.Remove(o.receipt))
	}
	o.Path, o.Beside, o.copied = path, "", true
	err := c.room.step("copy", func() error { return copyFile(c.old, c.info.Size(), path, c.info.Mode().Perm()) })
	if err == nil {
		err = c.room.step("receipt", o.save)
	}
	if err != nil {
		return errors.Join(err, c.forget(*o))
	}
	return nil
}

// copyFile copies the first bytes of a file to a new one: all of it or nothing.
func copyFile(from io.ReaderAt, size int64, path string, mode fs.FileMode) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".*.unfinished")
	if err != nil {
		return err
	}
	_, err = io.Copy(f, io.NewSectionReader(from, 0, size))
	err = errors.Join(err, f.Chmod(mode), f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		os.Remove(f.Name())
	}
	return err
}

// forget takes the second name back from a file that was not replaced.
func (c *Claim) forget(o Original) error {
	err := o.remove()
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// finish adds to the draft what came meanwhile, gives it the owner and mode of the file, looks at the file once more and renames. It returns the new file, for
// what comes later.
func (c *Claim) finish(ctx context.Context, draft Draft, kept string) (out *os.File, err error) {
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
	c.end = written.Size()
	if err := c.catchUp(out); err != nil {
		return nil, err
	}
	if !owned(out, c.info) && !c.force {
		return nil, c.foreign()
	}
	if err := c.room.step("chmod", func() error { return out.Chmod(c.info.Mode().Perm()) }); err != nil {
		return nil, err
	}
	if err := c.room.step("sync", out.Sync); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := c.catchUp(out); err != nil { // the last look
		return nil, err
	}
	if c.room.Looked != nil {
		c.room.Looked()
	}
	if runtime.GOOS == "windows" { // a file that is open is not renamed over
		err = c.renameClosed(&out, draft, kept)
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

// catchUp adds the whole lines to the draft that the file has grown by, in their order.
func (c *Claim) catchUp(out *os.File) error {
	for range rounds { // one that is written without a pause is caught up with after the rename
		grown, err := c.growth()
		if err != nil || grown == 0 {
			return err
		}
		moved, err := c.carry(out, "append")
		if err != nil || moved == 0 {
			return err
		}
	}
	return nil
}

// carry adds whole lines that the original has and the new file has not, and returns how many bytes it was.
func (c *Claim) carry(out *os.File, step string) (int64, error) {
	info, err := c.old.Stat()
	if err != nil {
		return 0, err
	}
	c.rejected = info.Size() - c.at
	if c.rejected <= 0 || !c.lines {
		return 0, nil
	}
	text := make([]byte, c.rejected)
	if n, err := c.old.ReadAt(text, c.at); err != nil && err != io.EOF {
		return 0, err
	} else {
		text = text[:n]
	}
	whole, rest := cutLines(text)
	if len(whole) == 0 {
		return 0, nil
	}
	add := whole
	if open, err := unended(out); err != nil {
		return 0, err
	} else if open && whole[0] != '\n' {
		add = append([]byte{'\n'}, whole...)
	}
	write := func() error { _, err := out.Write(add); return err }
	if step != "" {
		err = c.room.step(step, write)
	} else {
		err = write()
	}
	if err == nil {
		err = c.noteWrite(out, add)
	}
	if err != nil {
		return 0, err
	}
	c.at += int64(len(whole))
	c.carried += countLines(whole)
	c.rejected = int64(len(rest))
	return int64(len(whole)), nil
}

// cutLines separates whole lines from the beginning of one.
func cutLines(text []byte) (whole, rest []byte) {
	at := bytes.LastIndexByte(text, '\n') + 1
	return text[:at], text[at:]
}

// countLines counts lines with something in them.
func countLines(text []byte) (n int) {
	for line := range bytes.Lines(text) {
		if len(bytes.TrimSpace(line)) > 0 {
			n++
		}
	}
	return n
}

// unended tells whether a file ends within a line.
func unended(f *os.File) (bool, error) {
	info, err := f.Stat()
	if err != nil || info.Size() == 0 {
		return false, err
	}
	last := make([]byte, 1)
	_, err = f.ReadAt(last, info.Size()-1)
	return last[0] != '\n', err
}

// settle carries over what was written to the original, until nobody can write to it any more: all who open the file by its name now get the new one.
func (c *Claim) settle(ctx context.Context, out *os.File, done *Replaced) error {
	carry := func() error {
		if _, err := c.carry(out, ""); err != nil {
			return &Late{Original: done.Original, Err: err}
		}
		return nil
	}
	if err := carry(); err != nil { // at once, so that lines keep their order
		return err
	}
	syncFolder(filepath.Dir(c.Path))
	quiet := 0
	for range rounds {
		open, known := c.room.Openers(c.info)
		done.Open = append([]Process{}, writersOf(open)...)
		before := c.at
		if err := carry(); err != nil { // after it was seen that nobody writes any more
			return err
		}
		if quiet++; c.at > before || len(done.Open) > 0 {
			quiet = 0
		}
		if quiet > 1 && (known || quiet > rounds/2) || ctx.Err() != nil {
			break
		}
		c.room.sleep(pause)
	}
	done.Left = c.rejected
	if c.carried > 0 {
		if err := out.Sync(); err != nil {
			return &Late{Original: done.Original, Err: err}
		}
	}
	return nil
}

// bring copies an original that is beside the file into the folder of originals, once nobody writes to it any more. What of it is in no other file goes along.
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
		done.Notes = append(done.Notes, fmt.Sprintf("a second name of the original could not be removed: %v", err))
	}
	return nil
}

// tidy removes what an original makes superfluous: other names of it that replacements left which were broken off, and older originals of the same file
// with the same content.
func (c *Claim) tidy(o Original) {
	list, _ := c.room.Originals() // what cannot be read stays
	for _, other := range list {
		if other.Source == o.Source && other.Missing && other.receipt != o.receipt {
			_ = other.remove() // a replacement that was broken off before the link was made, or somebody removed it
		}
		if other.Source != o.Source || other.receipt == o.receipt || other.info == nil || other.Beside != "" && other.Path == o.Path {
			continue
		}
		same := os.SameFile(other.info, c.info)
		if !same && (other.Hash != o.Hash || other.Bytes != other.Size || c.room.reasonToKeep(other) != "") {
			continue
		}
		if !same {
			if f, err := os.Open(other.Path); err != nil {
				continue
			} else if hash, err := hashOf(f, other.Size); f.Close() != nil || err != nil || hash != o.Hash {
				continue
			}
		}
		_ = other.remove() // it is in nobody's way
	}
}

// leave notes how the file was left.
func (c *Claim) leave() error {
	info, err := os.Stat(c.Path)
	if err != nil {
		return err
	}
	return c.note(holder{Path: c.Path, PID: os.Getpid(), Command: c.command, Size: info.Size(), Modified: info.ModTime()})
}
