package seat

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// receipt says what one installation wrote, and what was there before.
type receipt struct {
	Version string   `json:"version"` // of winnow
	Seat    string   `json:"seat"`
	Project string   `json:"project,omitzero"`
	Winnow  string   `json:"winnow"` // the program that is called
	Entries []entry  `json:"files"`
	Folders []string `json:"folders"` // that were made, deepest first
}

// entry is one file.
type entry struct {
	Path    string      `json:"path"`
	Hash    string      `json:"hash"`             // SHA-256 of what was written
	There   bool        `json:"there"`            // whether there was a file before
	Before  []byte      `json:"before"`           // what it held
	Was     fs.FileMode `json:"was"`              // the mode that it had
	Mode    fs.FileMode `json:"mode"`             // the mode that it was given
	Members []Member    `json:"members,omitzero"` // what was set, if it is a file of settings
}

func (r *receipt) entry(path string) *entry {
	if i := slices.IndexFunc(r.Entries, func(e entry) bool { return e.Path == path }); i >= 0 {
		return &r.Entries[i]
	}
	return nil
}

// makes notes which folders will be made for a file.
func (r *receipt) makes(folder string) {
	var missing []string
	for ; !slices.Contains(r.Folders, folder); folder = filepath.Dir(folder) {
		if _, err := os.Lstat(folder); err == nil || folder == filepath.Dir(folder) {
			break
		}
		missing = append(missing, folder)
	}
	r.Folders = append(r.Folders, missing...)
	slices.SortFunc(r.Folders, func(a, b string) int { return len(b) - len(a) })
}

// receiptOf is where a receipt is kept.
func receiptOf(p Place, s Seat) string {
	name := s.Name()
	if p.Project != "" {
		name += "-" + hashOf([]byte(p.Project))[:16]
	}
	return filepath.Join(p.Receipts, name+".json")
}

// load reads the receipt of an installation. The error is of the kind ErrAbsent if there is none.
func load(p Place, s Seat) (r receipt, err error) {
	path := receiptOf(p, s)
	text, err := read(path)
	if err != nil {
		return r, err
	}
	if text == nil {
		return r, fmt.Errorf("%s: %w", s.Name(), ErrAbsent)
	}
	if err := json.Unmarshal(text, &r); err != nil {
		return r, fmt.Errorf("%s, which says what was there before winnow was installed, cannot be read: %w", path, err)
	}
	return r, nil
}

func (r receipt) save(p Place, s Seat) error {
	r.Winnow = p.Winnow
	text, err := json.Marshal(r, jsontext.WithIndent("  "))
	if err != nil {
		return err
	}
	path := receiptOf(p, s)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return write(path, append(text, '\n'), 0o600)
}

func (r receipt) remove(p Place, s Seat) error {
	if err := os.Remove(receiptOf(p, s)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	_ = os.Remove(p.Receipts) // it stays if others are in it
	return nil
}
