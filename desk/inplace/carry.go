package inplace

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"time"
)

// rounds and pause are how long to wait for a writer that has the original open. A program that
// opens a file for one line and closes it again is done long before; one that keeps it open is not
// going to close it.
const (
	rounds = 10
	pause  = 30 * time.Millisecond
)

// catchUp adds to the draft the whole lines that the file has grown by, in their order.
func (c *Claim) catchUp(out *os.File) error {
	for range rounds { // lines that come without a pause are carried over after the rename
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

// carry adds whole lines that the original has and the new file lacks, and returns how many bytes
// they were.
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
		err = c.room.Step(step, write)
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

// unended reports whether a file ends within a line.
func unended(f *os.File) (bool, error) {
	info, err := f.Stat()
	if err != nil || info.Size() == 0 {
		return false, err
	}
	last := make([]byte, 1)
	_, err = f.ReadAt(last, info.Size()-1)
	return last[0] != '\n', err
}

// settle carries over what was written to the original until no program can write to it any more:
// programs that open the file by its name now get the new one.
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
		if err := carry(); err != nil { // after the look at who still writes
			return err
		}
		if quiet++; c.at > before || len(done.Open) > 0 {
			quiet = 0
		}
		if quiet > 1 && (known || quiet > rounds/2) || ctx.Err() != nil {
			break
		}
		c.room.Sleep(pause)
	}
	done.Left = c.rejected
	if c.carried > 0 {
		if err := out.Sync(); err != nil {
			return &Late{Original: done.Original, Err: err}
		}
	}
	return nil
}
