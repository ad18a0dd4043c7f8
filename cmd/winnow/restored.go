package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/inplace"
	"github.com/winnowhq/winnow/pivot"
	"github.com/winnowhq/winnow/report"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/visible"
)

// restored is what is remembered of a file in which elided parts were restored, by name or with a pin: the receipts of that. The file itself says nothing of it, for a part that is shown whole is
// to the byte what the product wrote. It lies in winnow's data folder, named by the path of the file.
type restored struct {
	Path     string    `json:"path"` // the real one
	Size     int64     `json:"size"` // of the file, when it was written
	Hash     string    `json:"hash"` // SHA-256 of its first Size bytes, in hexadecimal
	Restores []restore `json:"restores"`
}

// restore is one restore of elided parts in a file.
type restore struct {
	Receipt pivot.Receipt `json:"receipt"`
	From    string        `json:"from"` // the file as it was before, or its original where that was replaced
	Hash    string        `json:"hash"` // SHA-256 of it
}

var restoredJSON = []jsontext.Options{jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true)}

// restoredOf is the real path of a file, and where what is remembered of it lies.
func (a *app) restoredOf(path string) (file, record string, err error) {
	if file, err = filepath.EvalSymlinks(path); err != nil {
		return "", "", err
	}
	if file, err = filepath.Abs(file); err != nil {
		return "", "", err
	}
	room, err := a.room()
	if err != nil {
		return "", "", err
	}
	sum := sha256.Sum256([]byte(file))
	return file, filepath.Join(room.Dir, "restored", hex.EncodeToString(sum[:])+".json"), nil
}

// hashOf is the hash of the first bytes of a file, of all of them with a negative size.
func hashOf(path string, size int64) (hash string, n int64, err error) {
	f, err := os.Open(path)
	if err != nil {
		return "", 0, err
	}
	defer f.Close()
	var from io.Reader = f
	if size >= 0 {
		from = io.LimitReader(f, size)
	}
	h := sha256.New()
	n, err = io.Copy(h, from)
	return hex.EncodeToString(h.Sum(nil)), n, err
}

// recallRestores gives a session that was read from a file its pins, and the receipts of the restores that made it what it is. Those of a file that was changed since, other than by
// lines at its end, are nothing.
func (a *app) recallRestores(ctx context.Context, s *source) error {
	if err := recallPins(ctx, s); err != nil || s.stored || s.path == "-" {
		return err
	}
	file, record, err := a.restoredOf(a.path(s.path))
	if err != nil {
		return nil // then nothing could be remembered either
	}
	text, err := os.ReadFile(record)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var r restored
	if err == nil {
		err = json.Unmarshal(text, &r, restoredJSON[0], restoredJSON[1])
	}
	if err != nil {
		return hinted{fmt.Errorf("what is remembered of the restores in this file cannot be read: %w", err), "remove " + record + " to go on without it"}
	}
	if hash, n, err := hashOf(file, r.Size); err != nil || r.Path != file || n != r.Size || hash != r.Hash {
		return err
	}
	for i := range r.Restores {
		receipt := r.Restores[i].Receipt
		receipt.SessionID = s.id
		if err := apply(ctx, s, func(store.State) store.Change { return store.Change{Receipt: &receipt} }); err != nil {
			return err
		}
	}
	whole, err := os.Stat(file)
	s.restores, s.grown = r.Restores, err != nil || whole.Size() != r.Size
	return nil
}

// apply changes a session beside the engine.
func apply(ctx context.Context, s *source, change func(store.State) store.Change) error {
	_, now, err := s.engine.Session(ctx, s.id)
	if err != nil {
		return err
	}
	c := change(now)
	c.Base = now.Revision
	_, err = s.store.Apply(ctx, s.id, c)
	return err
}

// undone notes the bytes that the file was made from, once the last restore in it is undone and where they still are what they were: the session is then that of those
// bytes. Otherwise it is written as it is; marks in it may then stand in another order.
func (s *source) undone(receipt string) {
	last := len(s.restores) - 1
	if last < 0 || s.restores[last].Receipt.ID != receipt || s.grown {
		return
	}
	data, err := os.ReadFile(s.restores[last].From)
	if err == nil && hashText(data) == s.restores[last].Hash {
		s.exact = data
	}
}

func hashText(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// keepRestores remembers the restores of elided parts that stand in a file that was just written.
func (a *app) keepRestores(ctx context.Context, s *source, output string, replaced *inplace.Replaced) error {
	_, state, err := s.engine.Session(ctx, s.id)
	if err != nil {
		return err
	}
	file, record, err := a.restoredOf(output)
	if err != nil {
		return err
	}
	from := a.path(s.path)
	if replaced != nil {
		from = replaced.Original
	}
	r := restored{Path: file}
	for i := range state.Receipts {
		made := &state.Receipts[i]
		if made.Kind != pivot.Restoring && made.Kind != pivot.Pinning || len(made.Replaced) == 0 || !report.Stands(state, made) {
			continue
		}
		one := restore{Receipt: *made, From: from, Hash: hashText(s.doc.Source)}
		if at := slices.IndexFunc(s.restores, func(r restore) bool { return r.Receipt.ID == made.ID }); at >= 0 {
			one = s.restores[at]
		}
		r.Restores = append(r.Restores, one)
	}
	if len(r.Restores) == 0 {
		if err := os.Remove(record); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}
	if r.Hash, r.Size, err = hashOf(file, -1); err != nil {
		return err
	}
	text, err := json.Marshal(r, restoredJSON[0], restoredJSON[1])
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(record), 0o700); err != nil {
		return err
	}
	return a.files.write(ctx, record, func(w io.Writer) error {
		_, err := w.Write(append(text, '\n'))
		return err
	})
}

// rememberRestores keeps the restores in a file. Where that does not work the file is written all the same: only undo will not know of them.
func (a *app) rememberRestores(ctx context.Context, s *source, output string, replaced *inplace.Replaced) {
	if err := a.keepRestores(ctx, s, output, replaced); err != nil {
		fmt.Fprintln(a.env.Stderr, visible.Text(fmt.Sprintf("winnow: winnow undo will not know of this change: %v", err)))
	}
}
