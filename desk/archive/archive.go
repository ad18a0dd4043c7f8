// Package archive stores old session files compressed in a folder of winnow's own, and brings them
// back to the byte.
//
// A session is one zstd file, and one receipt beside it. The compressed file is written, synced,
// and read back before the session is removed from its place; it stays after the session was
// brought back. Choose decides which sessions are old enough.
package archive

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/gofrs/flock"

	"github.com/winnowhq/winnow/desk/discover"
	"github.com/winnowhq/winnow/desk/inplace"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/text/plainfile"
)

// Archive is a folder of archived sessions. Room is required.
type Archive struct {
	// Room replaces and removes files of other programs; the archive is in its folder "archive".
	Room inplace.Room
	// Unseen lets sessions be archived although the system does not show which programs have a file
	// open.
	Unseen bool
}

// Receipt describes the file of an archived session as it was in its place.
type Receipt struct {
	Source  string `json:"source"`           // the path of its file
	Product string `json:"product"`          // its product
	ID      string `json:"id,omitzero"`      // id of the session
	Parent  string `json:"parent,omitzero"`  // id of the session that a sub-agent works for
	Project string `json:"project,omitzero"` // the folder in which the agent worked
	Title   string `json:"title,omitzero"`   // title of the session

	Hash     string         `json:"hash"`              // SHA-256 of the file, in hexadecimal
	Size     int64          `json:"size"`              // bytes of the file
	Mode     int            `json:"mode"`              // its permission bits
	Modified time.Time      `json:"modified"`          // when it was last written to
	Time     session.Millis `json:"time"`              // the run that archived it
	Restored session.Millis `json:"restored,omitzero"` // when it was brought back

	// The parts that were taken out of the file, if it stayed in its place without them.
	Parts *Parts `json:"parts,omitzero"`
}

// Session is an archived session.
type Session struct {
	Receipt
	Path  string `json:"path"`  // its compressed file
	Bytes int64  `json:"bytes"` // bytes of the compressed file

	receipt string
}

// Ending is the end of the names of compressed files.
const Ending = ".winnow.zst"

const receipts = ".json" // the same of receipts

// step does one thing that changes the disk, and may fail instead.
func (a Archive) step(name string, do func() error) error {
	if a.Room.Step == nil {
		return do()
	}
	return a.Room.Step(name, do)
}

// Folder is the folder of the archive.
func (a Archive) Folder() string { return filepath.Join(a.Room.Dir, "archive") }

// List lists the archived sessions, the newest run first. The error says which receipts cannot be
// read; the others are listed.
func (a Archive) List() ([]Session, error) {
	list, err := a.Everything()
	return slices.DeleteFunc(list, func(s Session) bool { return s.Parts != nil }), err
}

// Everything lists the archived sessions, and those with archived parts, the newest run first.
func (a Archive) Everything() ([]Session, error) {
	entries, err := os.ReadDir(a.Folder())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	failed := []error{err}
	var list []Session
	for _, entry := range entries {
		if !strings.HasSuffix(entry.Name(), receipts) {
			continue
		}
		s, err := read(filepath.Join(a.Folder(), entry.Name()))
		switch {
		case errors.Is(err, fs.ErrNotExist): // its run was interrupted before the file was there
		case err != nil:
			failed = append(failed, err)
		default:
			list = append(list, s)
		}
	}
	slices.SortStableFunc(list, func(x, y Session) int {
		return cmp.Or(cmp.Compare(y.Time, x.Time), strings.Compare(x.Source, y.Source))
	})
	return list, errors.Join(failed...)
}

// most is how many bytes a receipt has at most.
const most = 1 << 20

// read reads a receipt. The error is fs.ErrNotExist if there is no compressed file.
func read(receipt string) (Session, error) {
	s := Session{receipt: receipt, Path: strings.TrimSuffix(receipt, receipts)}
	text, _, err := plainfile.Read(receipt, most)
	if err != nil {
		return s, err
	}
	if err := json.Unmarshal(text, &s.Receipt); err != nil {
		return s, fmt.Errorf("%s is damaged: %w", receipt, err)
	}
	if s.Source == "" || len(s.Hash) != 64 || s.Size < 0 || s.Parts != nil && !s.Parts.valid() {
		return s, fmt.Errorf("%s is damaged: it names no file", receipt)
	}
	info, err := os.Lstat(s.Path)
	if err != nil {
		return s, err
	}
	s.Bytes = info.Size()
	return s, nil
}

func (s Session) save() error { return inplace.SaveReceipt(s.receipt, s.Receipt) }

// ErrBusy is the error of an archive that another process changes.
var ErrBusy = errors.New("another winnow works on the archive")

// Open locks the archive for changes until the returned function is called. It first removes the
// unfinished files of interrupted runs, and puts files back that they were removing; left says
// which files it could not put back.
func (a Archive) Open() (release func() error, left []error, err error) {
	if err := os.MkdirAll(a.Folder(), 0o700); err != nil {
		return nil, nil, err
	}
	lock := flock.New(filepath.Join(a.Folder(), "lock"), flock.SetPermissions(0o600))
	held, err := lock.TryLock()
	if err == nil && !held {
		err = ErrBusy
	}
	if err != nil {
		return nil, nil, errors.Join(err, lock.Close())
	}
	if left, err = a.tidy(); err != nil {
		return nil, left, errors.Join(err, lock.Close())
	}
	return lock.Close, left, nil
}

func (a Archive) tidy() (left []error, err error) {
	entries, err := os.ReadDir(a.Folder())
	if err != nil {
		return nil, err
	}
	var failed []error
	for _, entry := range entries {
		path := filepath.Join(a.Folder(), entry.Name())
		switch {
		case strings.HasSuffix(path, ".unfinished"):
			failed = append(failed, os.Remove(path))
		case strings.HasSuffix(path, receipts):
			s, err := read(path)
			if err != nil { // List says so
				continue
			}
			_ = os.Remove(restoring(s.Source)) // there is none, mostly
			if _, err = a.Room.Recover(s.Source); err != nil {
				left = append(left, err)
			}
		}
	}
	return left, errors.Join(append(failed, a.dropOriginals())...)
}

// Put archives a session that was found, and removes its file. now is the time of the run, the same
// for all its sessions. If the file is not removed, the error says why, an *inplace.Refusal if
// nothing is wrong; the compressed copy may then be in the archive all the same.
func (a Archive) Put(ctx context.Context, f discover.Found, now session.Millis) (_ Session, err error) {
	claim, s, err := a.take(ctx, f, now)
	if err != nil {
		return s, err
	}
	defer func() { err = errors.Join(err, claim.Close()) }()
	if err := a.store(ctx, &s, claim.Content()); err != nil {
		return s, err
	}
	return s, claim.Remove(a.Unseen)
}

// take claims the file of a session that was found, and describes it. The caller closes the claim.
func (a Archive) take(ctx context.Context, f discover.Found, now session.Millis) (_ *inplace.Claim, s Session,
	err error) {
	info, err := os.Lstat(f.Source)
	switch {
	case err != nil:
		return nil, s, err
	case !info.Mode().IsRegular():
		return nil, s, refused(f.Source, "it is not a plain file")
	case info.Size() != f.Bytes || !info.ModTime().Equal(f.Updated):
		return nil, s, refused(f.Source, "it was written to since it was found")
	}
	claim, err := a.Room.Take(ctx, f.Source, inplace.Taking{Command: command})
	if err != nil {
		return nil, s, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, claim.Close())
		}
	}()
	if !os.SameFile(info, claim.Info()) || !utf8.ValidString(claim.Path) {
		return nil, s, refused(f.Source, "its path cannot be written down")
	}
	if err := claim.Removable(a.Unseen); err != nil {
		return nil, s, err
	}
	return claim, Session{Receipt: Receipt{Source: claim.Path, Product: f.Product, ID: f.ID, Parent: f.Parent,
		Project: f.Project, Title: f.Title, Size: claim.Info().Size(), Mode: int(claim.Info().Mode().Perm()),
		Modified: claim.Info().ModTime(), Time: now}}, nil
}

// command is the command of gc in locks and receipts.
const command = "gc"

func refused(path, reason string) error {
	return &inplace.Refusal{Code: inplace.Changed, Path: path, Reason: reason, Hint: "nothing was changed"}
}
