package change

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

	"github.com/winnowhq/winnow/cmd/winnow/internal/cli"
	"github.com/winnowhq/winnow/cmd/winnow/internal/output"
	"github.com/winnowhq/winnow/cmd/winnow/internal/source"
	"github.com/winnowhq/winnow/inplace"
	"github.com/winnowhq/winnow/pivot"
	"github.com/winnowhq/winnow/report"
	"github.com/winnowhq/winnow/store"
)

// restored is what is remembered of a file in which parts were restored, by name or with a pin: the
// receipts. The file itself says nothing of it, because a part that is shown whole is byte for byte
// what the product wrote. It is kept in winnow's data folder, named by the path of the file.
type restored struct {
	Path     string           `json:"path"` // the real one
	Size     int64            `json:"size"` // of the file, when it was written
	Hash     string           `json:"hash"` // SHA-256 of its first Size bytes, in hexadecimal
	Restores []source.Restore `json:"restores"`
}

var foreign = json.JoinOptions(jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true))

// restoredOf is the real path of a file, and where what is remembered of it is kept.
func restoredOf(a *cli.App, path string) (file, record string, err error) {
	if file, err = filepath.EvalSymlinks(path); err == nil {
		file, err = filepath.Abs(file)
	}
	if err != nil {
		return "", "", err
	}
	room, err := output.Room(a)
	return file, filepath.Join(room.Dir, "restored", hashText([]byte(file))+".json"), err
}

// hashOf is the hash of the first bytes of a file, of all of them if size is negative.
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

func hashText(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// recallRestores gives a session that was read from a file its pins, and the receipts of the
// restores that made it what it is. If the file was changed since, except by lines at its end, they
// are ignored.
func recallRestores(ctx context.Context, a *cli.App, s *source.Session) error {
	if err := recallPins(ctx, s); err != nil || s.Stored || s.Path == "-" {
		return err
	}
	file, record, err := restoredOf(a, a.Path(s.Path))
	if err != nil {
		return nil // then nothing could be remembered either
	}
	text, err := os.ReadFile(record)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var r restored
	if err == nil {
		err = json.Unmarshal(text, &r, foreign)
	}
	if err != nil {
		return cli.Hint(fmt.Errorf("what is remembered of the restores in this file cannot be read: %w", err),
			"remove "+record+" to continue without it")
	}
	if hash, n, err := hashOf(file, r.Size); err != nil || r.Path != file || n != r.Size || hash != r.Hash {
		return err
	}
	for i := range r.Restores {
		receipt := r.Restores[i].Receipt
		receipt.SessionID = s.ID
		if err := s.Apply(ctx, store.Change{Receipt: &receipt}); err != nil {
			return err
		}
	}
	whole, err := os.Stat(file)
	s.Restores, s.Grown = r.Restores, err != nil || whole.Size() != r.Size
	return nil
}

// undone notes the bytes that the file was made from, after the last restore in it was undone, if
// they are still what they were: the session is then that of those bytes. Otherwise it is written
// as it is; marks in it may then be in another order.
func undone(s *source.Session, receipt string) {
	last := len(s.Restores) - 1
	if last < 0 || s.Restores[last].Receipt.ID != receipt || s.Grown {
		return
	}
	data, err := os.ReadFile(s.Restores[last].From)
	if err == nil && hashText(data) == s.Restores[last].Hash {
		s.Exact = data
	}
}

// keepRestores remembers the restores in a file that was just written.
func keepRestores(ctx context.Context, a *cli.App, s *source.Session, written string,
	replaced *inplace.Replaced) error {
	_, state, err := s.Engine.Session(ctx, s.ID)
	if err != nil {
		return err
	}
	file, record, err := restoredOf(a, written)
	if err != nil {
		return err
	}
	from := a.Path(s.Path)
	if replaced != nil {
		from = replaced.Original
	}
	r := restored{Path: file}
	for i := range state.Receipts {
		made := &state.Receipts[i]
		restores := made.Kind == pivot.Restoring || made.Kind == pivot.Pinning
		if !restores || len(made.Replaced) == 0 || !report.Stands(state, made) {
			continue
		}
		one := source.Restore{Receipt: *made, From: from, Hash: hashText(s.Doc.Source)}
		known := func(r source.Restore) bool { return r.Receipt.ID == made.ID }
		if at := slices.IndexFunc(s.Restores, known); at >= 0 {
			one = s.Restores[at]
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
	text, err := json.Marshal(r, foreign)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(record), 0o700); err != nil {
		return err
	}
	return a.Files.Write(ctx, record, func(w io.Writer) error {
		_, err := w.Write(append(text, '\n'))
		return err
	})
}
