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

	"github.com/winnowhq/winnow/cmd/internal/cli"
	"github.com/winnowhq/winnow/cmd/internal/output"
	"github.com/winnowhq/winnow/cmd/internal/source"
	"github.com/winnowhq/winnow/desk/inplace"
	"github.com/winnowhq/winnow/plan/pivot"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/store/report"
)

// restored is what is remembered of a file in which parts were restored, by name or with a pin: the
// receipts; and of one in which something was undone: where it still stands. The file itself says
// nothing of either, because what is shown whole is byte for byte what the product wrote. It is
// kept in winnow's data folder, named by the path of the file.
type restored struct {
	Path     string           `json:"path"` // the real one
	Size     int64            `json:"size"` // of the file, when it was written
	Hash     string           `json:"hash"` // SHA-256 of its first Size bytes, in hexadecimal
	Restores []source.Restore `json:"restores"`
	Undone   []source.Undoing `json:"undone"` // the newest last
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

// RecallRestores gives a session that was read from a file its pins, and the receipts of the
// restores that made it what it is. If the file was changed since, except by lines at its end, they
// are ignored.
func RecallRestores(ctx context.Context, a *cli.App, s *source.Session) error {
	if err := recallPins(ctx, s); err != nil || s.Stored || s.Path == "-" {
		return err
	}
	r, file, err := remembered(a, s)
	if err != nil || r.Path == "" {
		return err
	}
	if hash, n, err := hashOf(file, r.Size); err != nil || r.Path != file || n != r.Size || hash != r.Hash {
		return err
	}
	whole, err := os.Stat(file)
	s.Restores, s.Undone, s.Grown = r.Restores, r.Undone, err != nil || whole.Size() != r.Size
	return applyRestores(ctx, s)
}

// remembered is what is remembered of a session's file, the zero value for nothing, and the real
// path of the file.
func remembered(a *cli.App, s *source.Session) (r restored, file string, err error) {
	file, record, err := restoredOf(a, a.Path(s.Path))
	if err != nil {
		return r, "", nil // then nothing could be remembered either
	}
	text, err := os.ReadFile(record)
	if errors.Is(err, fs.ErrNotExist) {
		return r, file, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &r, foreign)
	}
	if err != nil {
		return r, file, cli.Hint(fmt.Errorf("what is remembered of the restores and undos in this file cannot be "+
			"read: %w",
			err), "remove "+record+" to continue without it")
	}
	return r, file, nil
}

// applyRestores gives a session the receipts of its restores.
func applyRestores(ctx context.Context, s *source.Session) error {
	for i := range s.Restores {
		receipt := s.Restores[i].Receipt
		receipt.SessionID = s.ID
		if err := s.Apply(ctx, store.Change{Receipt: &receipt}); err != nil {
			return err
		}
	}
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

// remember keeps what must be known of a file that was just written: the restores in it, and what
// was undone. c says what was done.
func remember(ctx context.Context, a *cli.App, s *source.Session, c *Document, replaced *inplace.Replaced) error {
	_, state, err := s.Engine.Session(ctx, s.ID)
	if err != nil {
		return err
	}
	file, record, err := restoredOf(a, c.Output)
	if err != nil {
		return err
	}
	from := a.Path(s.Path)
	if replaced != nil {
		from = replaced.Original
	}
	r := restored{Path: file, Undone: s.Undone}
	for i := range state.Receipts {
		made := &state.Receipts[i]
		restores := made.Kind == pivot.Restoring || made.Kind == pivot.Pinning
		if !restores || len(made.Replaced) == 0 || !report.Stands(state, made) {
			continue
		}
		one := source.Restore{Receipt: *made, From: from, Hash: hashText(s.Doc.Source)}
		known := func(r source.Restore) bool { return r.Receipt.ID == made.ID }
		if at := slices.IndexFunc(s.Restores, known); at >= 0 {
			if one = s.Restores[at]; s.Grown {
				one.From, one.Hash = "", "" // the lines that came since are not in it
			}
		}
		r.Restores = append(r.Restores, one)
	}
	switch c.Did {
	case "undone":
		if s.Path == "-" || s.Stored {
			break // there is nothing to go back to
		}
		u, err := noteUndoing(a, c.undoing, s, from, file)
		if err != nil {
			return err
		}
		r.Undone = append(r.Undone, u)
	case "redone":
	default:
		r.Undone = nil
	}
	if len(r.Restores)+len(r.Undone) == 0 {
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
