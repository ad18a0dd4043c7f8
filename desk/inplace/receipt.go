package inplace

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/text/plainfile"
)

// Receipt says what an original is. It lies beside it as HASH.json.
type Receipt struct {
	Source  string         `json:"source"`  // the real path of the replaced file
	Command string         `json:"command"` // the command that replaced it, such as "compact"
	Time    session.Millis `json:"time"`    // when it was replaced
	// SHA-256 of the bytes from which the new file was made, in hexadecimal.
	Hash string `json:"hash"`
	Size int64  `json:"size"` // how many bytes the new file was made from
	// How many bytes after them were added to the new file unchanged.
	Carried int64 `json:"carried"`
	// SHA-256 of the new file as it was written.
	Made      string `json:"made,omitzero"`
	MadeBytes int64  `json:"madeBytes,omitzero"` // the length of the new file, in bytes
	Beside    string `json:"beside"`             // its path while it is beside its file, otherwise empty
}

// When is when the file was replaced.
func (r Receipt) When() time.Time { return time.UnixMilli(int64(r.Time)) }

// Original is an original as it is now.
type Original struct {
	Receipt
	Path  string `json:"path"`  // where it is
	Bytes int64  `json:"bytes"` // its size now
	// Bytes that were written to it later and not added to the new file.
	Grown int64 `json:"grown"`
	// Whether it is still the file itself: the replacement was interrupted.
	Linked  bool `json:"linked"`
	Missing bool `json:"missing"` // whether it was removed

	receipt string      // path of its receipt
	info    fs.FileInfo // nil if it is missing
	copied  bool        // it is a copy, not a link
}

// Originals lists all originals that are kept, the newest first. The error says what cannot be
// read; the others are listed.
func (r Room) Originals() ([]Original, error) {
	receipts, err := jsonIn(r.Folder())
	if err != nil {
		return nil, err
	}
	var list []Original
	var failed []error
	for _, name := range receipts {
		o, err := readOriginal(name)
		switch {
		case errors.Is(err, fs.ErrNotExist): // removed just now
		case err != nil:
			failed = append(failed, err)
		default:
			list = append(list, o)
		}
	}
	slices.SortStableFunc(list, func(a, b Original) int { return cmp.Compare(b.Time, a.Time) })
	return list, errors.Join(failed...)
}

// jsonIn are the JSON files of a folder. A folder that is not there has none.
func jsonIn(folder string) (paths []string, err error) {
	list, err := os.ReadDir(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for _, entry := range list {
		if strings.HasSuffix(entry.Name(), ".json") {
			paths = append(paths, filepath.Join(folder, entry.Name()))
		}
	}
	return paths, err
}

func readOriginal(receipt string) (Original, error) {
	o := Original{receipt: receipt, Path: strings.TrimSuffix(receipt, ".json")}
	text, err := os.ReadFile(receipt)
	if err != nil {
		return o, err
	}
	if err := json.Unmarshal(text, &o.Receipt, lenient...); err != nil {
		return o, fmt.Errorf("%s is damaged: %w", receipt, err)
	}
	o.Path = cmp.Or(o.Beside, o.Path)
	o.info, err = os.Lstat(o.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		o.Missing = true
	case err != nil:
		return o, err
	default:
		o.Bytes, o.Linked = o.info.Size(), sameFile(o.Source, o.info)
		o.Grown = max(0, o.Bytes-o.Size-o.Carried)
	}
	if o.Linked { // nothing took its place
		o.Grown = 0
	}
	return o, nil
}

// MadeBy finds the newest original of a file that a command replaced, if data is the new file, or
// begins with it.
func (r Room) MadeBy(command, path string, data []byte) (Original, bool) {
	list, _ := r.Originals() // those that can be read
	for _, o := range list {
		if o.Source != path || o.Command != command || o.Missing || o.Made == "" || o.MadeBytes > int64(len(data)) {
			continue
		}
		if hash, err := hashOf(bytes.NewReader(data), o.MadeBytes); err == nil && hash == o.Made {
			return o, true
		}
	}
	return Original{}, false
}

// Before is the file as it was before it was replaced.
func (o Original) Before() ([]byte, error) {
	same, err := o.Verify()
	if err != nil {
		return nil, err
	}
	if !same {
		return nil, fmt.Errorf("%s is not what was kept", o.Path)
	}
	data, err := os.ReadFile(o.Path)
	if err != nil {
		return nil, err
	}
	return data[:o.Size], nil
}

// Missed counts the whole lines that came to an original and are in no line of data, which is the
// file that took its place, and the bytes of an incomplete line after them.
func (o Original) Missed(data []byte) (lines int, torn int64, err error) {
	f, err := os.Open(o.Path)
	if err != nil {
		return 0, 0, err
	}
	defer f.Close()
	text := make([]byte, o.Grown)
	n, err := f.ReadAt(text, o.Size+o.Carried)
	if err != nil && err != io.EOF {
		return 0, 0, err
	}
	whole, rest := cutLines(text[:n])
	have := map[string]bool{}
	for line := range bytes.Lines(data) {
		have[string(bytes.TrimSpace(line))] = true
	}
	for line := range bytes.Lines(whole) {
		if line = bytes.TrimSpace(line); len(line) > 0 && !have[string(line)] {
			lines++
		}
	}
	return lines, int64(len(rest)), nil
}

// Verify reports whether an original begins with what it was when it was kept.
func (o Original) Verify() (bool, error) {
	f, err := os.Open(o.Path)
	if err != nil {
		return false, err
	}
	defer f.Close()
	hash, err := hashOf(f, o.Size)
	if err == io.ErrUnexpectedEOF {
		return false, nil
	}
	return hash == o.Hash, err
}

func (o Original) save() error { return SaveReceipt(o.receipt, o.Receipt) }

// SaveReceipt writes a receipt as JSON. The file is on the disk when it returns, whole or not at
// all.
func SaveReceipt(path string, receipt any) error {
	text, err := json.Marshal(receipt, jsontext.AllowInvalidUTF8(true), jsontext.WithIndent("  "))
	if err != nil {
		return err
	}
	return plainfile.Replace(path, func(f *os.File) error {
		_, err := f.Write(append(text, '\n'))
		return errors.Join(err, f.Sync())
	})
}

// remove removes an original and its receipt, in this order: an original without a receipt would
// never be found.
func (o Original) remove() error {
	for _, path := range []string{o.Path, o.receipt} {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// Pruning says which originals go. At least one of its fields is set.
type Pruning struct {
	OlderThan time.Duration // only older ones; 0 is any age
	Keep      int           // not these newest ones of each file
	All       bool          // every one
	Force     bool          // also if they are open, or have lines that are nowhere else
	Dry       bool          // remove none, only say which
}

// Kept is an original that was to be removed and stays, with the reason.
type Kept struct {
	Original
	Reason string `json:"reason"` // why it stays, a sentence
}

// Prune removes originals.
func (r Room) Prune(p Pruning) (removed []Original, kept []Kept, err error) {
	list, err := r.Originals()
	newer := map[string]int{}
	for _, o := range list {
		newer[o.Source]++
		if !p.All && (newer[o.Source] <= p.Keep || p.OlderThan > 0 && r.Now().Sub(o.When()) < p.OlderThan) {
			continue
		}
		if reason := r.reasonToKeep(o); reason != "" && !p.Force {
			kept = append(kept, Kept{o, reason})
			continue
		}
		if !p.Dry {
			if gone := o.remove(); gone != nil {
				err = errors.Join(err, gone)
				continue
			}
		}
		removed = append(removed, o)
	}
	return removed, kept, err
}

// Drop removes the original at a path, unless it is open or has lines that are nowhere else.
func (r Room) Drop(path string) error {
	list, _ := r.Originals() // those that can be read
	for _, o := range list {
		if o.Path == path && r.reasonToKeep(o) == "" {
			return o.remove()
		}
	}
	return nil
}

func (r Room) reasonToKeep(o Original) string {
	if o.Missing || o.Linked {
		return ""
	}
	if o.Grown > 0 {
		return fmt.Sprintf("%d bytes were written to it afterwards and are nowhere else", o.Grown)
	}
	if open, _ := r.Openers(o.info); len(writersOf(open)) > 0 {
		return "it is open in " + names(writersOf(open))
	}
	return ""
}
