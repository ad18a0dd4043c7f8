package inplace

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/winnowhq/winnow/text/plainfile"
)

// A program that opens the file between the rename and the carrying over writes to the new one at
// once, and what it wrote to the original before is added after that. Products take the last line
// for the newest, so such a file is replaced once more, with its lines in their order.

// span is a piece of the new file.
type span struct{ start, end int64 }

// tries is how often a file is put in order if its writer keeps coming between.
const tries = 5

// noteWrite remembers a piece that was just added to the new file after lines of another program.
func (c *Claim) noteWrite(out *os.File, piece []byte) error {
	end, err := out.Seek(0, io.SeekCurrent) // behind what was appended last
	if err != nil {
		return err
	}
	at := span{end - int64(len(piece)), end}
	there := make([]byte, len(piece))
	if _, err := out.ReadAt(there, max(0, at.start)); err != nil || !bytes.Equal(there, piece) {
		return nil // the system does not say where it put it
	}
	if at.start == c.end {
		c.end = at.end
	} else {
		c.late = append(c.late, at)
	}
	return nil
}

// ordered is the new file with the pieces that came late in front of what other programs wrote to
// it.
func ordered(text []byte, end int64, late []span) []byte {
	sorted := bytes.Clone(text[:end])
	for _, s := range late {
		sorted = append(sorted, text[s.start:s.end]...)
	}
	for _, s := range late {
		sorted = append(sorted, text[end:s.start]...)
		end = s.end
	}
	return append(sorted, text[end:]...)
}

// putInOrder replaces the new file by one with its lines in their order.
func (c *Claim) putInOrder(ctx context.Context, out *os.File, done *Replaced) {
	if len(c.late) == 0 {
		return
	}
	err := fmt.Errorf("its writer did not pause")
	if c.tries < tries {
		err = c.replaceAgain(ctx, out)
	}
	if err != nil {
		done.Disordered = true
		done.note("some of the lines that were carried over are behind newer ones: %v", err)
	}
}

func (c *Claim) replaceAgain(ctx context.Context, out *os.File) (err error) {
	room := c.room
	room.Step = nil // the file has been replaced: nothing could be left as it was
	room = room.ready()
	next := &Claim{
		Path: c.Path, room: room, command: c.command, force: true, lock: c.lock, lines: true, tries: c.tries + 1,
	}
	if next.old, err = os.Open(c.Path); err != nil {
		return err
	}
	defer next.old.Close()
	if next.info, err = next.old.Stat(); err != nil {
		return err
	}
	if mine, err := out.Stat(); err != nil || !os.SameFile(mine, next.info) {
		return fmt.Errorf("another file was put in its place")
	}
	text := make([]byte, next.info.Size())
	if _, err := next.old.ReadAt(text, 0); err != nil {
		return err
	}
	if text, err = next.Read(text); err != nil {
		return err
	}
	draft := filepath.Join(filepath.Dir(c.Path), fmt.Sprintf(".%s.%d.unfinished", filepath.Base(c.Path), c.tries))
	err = plainfile.Replace(draft, func(f *os.File) error {
		_, err := f.Write(ordered(text, c.end, c.late))
		return err
	})
	if err != nil {
		return err
	}
	done, err := next.Replace(ctx, Draft{Name: draft, Rename: os.Rename})
	if err != nil {
		os.Remove(draft)
		return err
	}
	if done.Disordered {
		err = fmt.Errorf("its writer did not pause")
	}
	if done.Left == 0 && len(done.Open) == 0 && done.Original != "" { // what it had is in the file, in another order
		receipt := filepath.Join(room.Folder(), filepath.Base(done.Original)) + ".json"
		if o, unread := readOriginal(receipt); unread == nil {
			_ = o.remove() // it does no harm if it stays
		}
	}
	return err
}
