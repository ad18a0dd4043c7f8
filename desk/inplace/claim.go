package inplace

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/gofrs/flock"
)

// Claim is a file that this process has taken to replace it. Close releases it.
type Claim struct {
	Path string // the real one: no symbolic link

	room    Room
	command string
	force   bool
	mends   bool // an incomplete last line is read with the rest
	lock    *flock.Flock
	old     *os.File    // the file as it was taken, wherever it goes
	info    fs.FileInfo // what was known of it when it was read
	lines   bool        // it consists of lines, which are only ever added
	at      int64       // up to here the new file has what is in it
	read    string      // hash of what was read of it
	carried int         // lines of it that were carried over

	renamed bool // the file has been replaced

	end   int64  // up to here the new file is ours and in order
	late  []span // of the new file: what was added behind other's lines
	tries int    // how often it was put in order

	rejected int64 // bytes of an incomplete last line that are not in the new file
}

// Taking says how a file is taken.
type Taking struct {
	Command string              // what is done to it, for the receipt and for processes that wait: "compact"
	Force   bool                // take it although a program is at work on it
	Torn    bool                // an incomplete last line is read with the rest: it is about to be mended
	Waiting func(holder string) // is called once when another process has it
}

// holder is what a lock file says: which process has the file, and how it was left.
type holder struct {
	Path    string `json:"path"`
	PID     int    `json:"pid"`
	Command string `json:"command"`
	// Of the newest replacement. A file that is as winnow left it was not just written by an agent.
	Size     int64     `json:"size"`
	Modified time.Time `json:"modified"`
}

// Take locks a file until Close, waiting if another process has it, and looks whether it may be
// replaced. If not, the error is a *Refusal, before anything costly is done. What is read of the
// file has to be given to Read.
func (r Room) Take(ctx context.Context, path string, how Taking) (_ *Claim, err error) {
	real, err := Real(path)
	if err != nil {
		return nil, err
	}
	c := &Claim{Path: real, room: r.ready(), command: how.Command, force: how.Force, mends: how.Torn}
	left, err := c.acquire(ctx, how.Waiting)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, c.Close())
		}
	}()
	if err := c.open(); err != nil {
		return nil, err
	}
	if refusal := c.look(left); refusal != nil && !how.Force {
		return nil, refusal
	}
	return c, nil
}

// open opens the file and examines it.
func (c *Claim) open() (err error) {
	if c.old, err = os.Open(c.Path); err != nil {
		return err
	}
	if c.info, err = c.old.Stat(); err != nil {
		return err
	}
	if !c.info.Mode().IsRegular() {
		return fmt.Errorf("%s cannot be replaced: it is not a regular file", c.Path)
	}
	c.lines, err = consistsOfLines(c.old, c.Path)
	return err
}

// Look returns the error with which Take would refuse a file now.
func (r Room) Look(path string) (err error) {
	real, err := Real(path)
	if err != nil {
		return err
	}
	c := &Claim{Path: real, room: r.ready()}
	if err := c.open(); err != nil {
		return err
	}
	defer c.old.Close()
	if refusal := c.look(readHolder(r.lockOf(real))); refusal != nil {
		return refusal
	}
	return nil
}

// acquire takes the lock, and returns how the file was left by the process that had it last.
func (c *Claim) acquire(ctx context.Context, waiting func(string)) (left holder, err error) {
	if err := os.MkdirAll(c.room.locks(), 0o700); err != nil {
		return left, err
	}
	name := c.room.lockOf(c.Path)
	c.lock = flock.New(name, flock.SetPermissions(0o600))
	held, err := c.lock.TryLock()
	if err == nil && !held {
		if waiting != nil {
			waiting(readHolder(name).String())
		}
		held, err = c.lock.TryLockContext(ctx, 20*time.Millisecond)
	}
	if err != nil || !held {
		return left, errors.Join(err, c.lock.Close())
	}
	left = readHolder(name)
	return left, c.note(left.Size, left.Modified)
}

func (h holder) String() string {
	if h.PID == 0 {
		return "another winnow"
	}
	return fmt.Sprintf("winnow %s (process %d)", h.Command, h.PID)
}

func readHolder(name string) (h holder) {
	text, err := os.ReadFile(name)
	if err != nil || json.Unmarshal(text, &h) != nil {
		return holder{} // it was never written, or by half: nothing is known
	}
	return h
}

// note writes into the lock file who has the file, and how it was left. It must stay the same lock
// file: others wait for it.
func (c *Claim) note(size int64, modified time.Time) error {
	h := holder{Path: c.Path, PID: os.Getpid(), Command: c.command, Size: size, Modified: modified}
	text, err := json.Marshal(h, jsontext.AllowInvalidUTF8(true))
	if err != nil {
		return err
	}
	return os.WriteFile(c.lock.Path(), text, 0o600)
}

// Close lets the next process have the file.
func (c *Claim) Close() error {
	var err error
	if c.old != nil {
		err = c.old.Close()
	}
	return errors.Join(err, c.lock.Close())
}

// look finds a reason not to replace the file, or nil.
func (c *Claim) look(left holder) *Refusal {
	if open, _ := c.room.Openers(c.info); len(open) > 0 {
		return c.openBy(open)
	}
	if agent, lives := c.room.Agent(c.Path); lives {
		return c.alive(agent)
	}
	if !belongs(c.info) {
		return c.foreign()
	}
	ours := left.Size == c.info.Size() && left.Modified.Equal(c.info.ModTime())
	if age := c.room.Now().Sub(c.info.ModTime()); !ours && age < Recent && age > -Recent {
		return c.fresh()
	}
	if c.lines && !c.mends {
		if whole, err := wholeLines(c.old, c.info.Size()); err == nil && whole < c.info.Size() {
			return c.torn(c.info.Size() - whole)
		}
	}
	return nil
}

// Read takes what was read of the file, and returns the part that counts: with force, an incomplete
// last line is left to the writer, who may still complete it, unless it is to be mended.
func (c *Claim) Read(data []byte) ([]byte, error) {
	if c.lines && !c.mends {
		whole, err := wholeLines(bytes.NewReader(data), int64(len(data)))
		if err != nil {
			return nil, err
		}
		data = data[:whole]
	}
	sum := sha256.Sum256(data)
	c.read, c.at = hex.EncodeToString(sum[:]), int64(len(data))
	return data, nil
}

// consistsOfLines reports whether a file is JSON Lines, to which lines are added. A compressed one
// is not.
func consistsOfLines(f io.ReaderAt, path string) (bool, error) {
	head := make([]byte, 64<<10)
	n, err := f.ReadAt(head, 0)
	if err != nil && err != io.EOF {
		return false, err
	}
	head = bytes.TrimPrefix(head[:n], []byte("\xef\xbb\xbf"))
	if bytes.HasPrefix(head, []byte{0x1f, 0x8b}) {
		return false, nil
	}
	switch strings.ToLower(filepath.Ext(path)) {
	case ".jsonl", ".ndjson":
		return true, nil
	}
	first, _, ended := bytes.Cut(head, []byte{'\n'})
	return ended && jsontext.Value(first).IsValid(lenient...), nil
}

var lenient = []jsontext.Options{jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true)}

// wholeLines returns up to where a file consists of whole lines. A last line without a line break
// counts if it is a JSON value.
func wholeLines(f io.ReaderAt, size int64) (int64, error) {
	const block = 64 << 10
	for end := size; end > 0; {
		start := max(0, end-block)
		text := make([]byte, end-start)
		if _, err := f.ReadAt(text, start); err != nil && err != io.EOF {
			return 0, err
		}
		if at := bytes.LastIndexByte(text, '\n'); at >= 0 {
			return endOf(f, start+int64(at)+1, size)
		}
		end = start
	}
	return endOf(f, 0, size)
}

// endOf is the end of the last line, which begins at start: if the line is complete, the end of the
// file.
func endOf(f io.ReaderAt, start, size int64) (int64, error) {
	last := make([]byte, size-start)
	if _, err := f.ReadAt(last, start); err != nil && err != io.EOF {
		return 0, err
	}
	if last = bytes.TrimSpace(last); len(last) == 0 || jsontext.Value(last).IsValid(lenient...) {
		return size, nil
	}
	return start, nil
}
