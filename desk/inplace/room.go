// Package inplace replaces a file of another program so that nothing written to it gets lost.
//
// A file is taken (Room.Take): a lock per real path is held from before the file is read until it
// has been replaced, and a file that a program is at work on is refused with a reason. Then it is
// replaced (Claim.Replace): the original is kept under a hard link, so that what is still written
// to it lands in a file that stays; the file is looked at once more immediately before the rename;
// and whole lines that came to the original afterwards are carried over to the new file.
package inplace

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// Recent is how long a file counts as being written after the last write. Agents write a line when
// something happens: two seconds without one tell a session that has ended from one in the middle
// of a step, and are over by the time the next command is typed.
const Recent = 2 * time.Second

// Room is where locks and originals are kept, and the world in which files are replaced. Dir and
// Now are required.
type Room struct {
	Dir  string // winnow's data folder; its folders "locks" and "originals" are made when they are needed
	Home string // the user's home folder, where products leave traces of what runs; "" when unknown
	Now  func() time.Time

	// Proc is where the kernel shows processes; "" is /proc. If there is no such folder, who has a
	// file open is unknown.
	Proc string
	// Link makes a hard link; nil is os.Link.
	Link func(from, to string) error
	// Sleep waits for a writer that has the original open; nil is time.Sleep.
	Sleep func(time.Duration)
	// Step does each thing that changes the disk before a file has been replaced, and may fail
	// instead; nil does them.
	Step func(name string, do func() error) error
	// Looked is called between the last look at a file and the rename, Renamed right after it; nil
	// is not called. Both are for tests.
	Looked, Renamed func()
}

// ready fills in what is nil.
func (r Room) ready() Room {
	if r.Step == nil {
		r.Step = func(_ string, do func() error) error { return do() }
	}
	if r.Sleep == nil {
		r.Sleep = time.Sleep
	}
	if r.Link == nil {
		r.Link = os.Link
	}
	return r
}

func (r Room) locks() string { return filepath.Join(r.Dir, "locks") }

// Folder is where originals are, except for the ones that are still beside their files.
func (r Room) Folder() string { return filepath.Join(r.Dir, "originals") }

// Real is the path under which a file is taken: no link in it, and absolute.
func Real(path string) (string, error) {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return "", err
	}
	return filepath.Abs(real)
}

// lockOf is the lock file of a real path.
func (r Room) lockOf(path string) string {
	sum := sha256.Sum256([]byte(path))
	return filepath.Join(r.locks(), hex.EncodeToString(sum[:16])+".lock")
}

// hashOf is the hash of the first bytes of a file.
func hashOf(f io.ReaderAt, size int64) (string, error) {
	h := sha256.New()
	if n, err := io.Copy(h, io.NewSectionReader(f, 0, size)); err != nil {
		return "", err
	} else if n < size {
		return "", io.ErrUnexpectedEOF
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// syncFolder makes links and renames in a folder survive a power cut, if the system can.
func syncFolder(path string) {
	if f, err := os.Open(path); err == nil {
		f.Sync()
		f.Close()
	}
}

// sameFile reports whether a path leads to this file, without following a link at its end.
func sameFile(path string, info fs.FileInfo) bool {
	there, err := os.Lstat(path)
	return err == nil && os.SameFile(there, info)
}
