package command

import (
	"bytes"
	"cmp"
	"context"
	"os"
	"path/filepath"

	"github.com/winnowhq/winnow/cmd/internal/cli"
	"github.com/winnowhq/winnow/cmd/internal/output"
	"github.com/winnowhq/winnow/cmd/internal/source"
	"github.com/winnowhq/winnow/desk/inplace"
	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/format/claudecode"
	"github.com/winnowhq/winnow/text/visible"
)

// undoAt is where it is noted that the last compaction is to be taken back.
func undoAt(a *cli.App, path string) string {
	return a.Env.Kept("handed", filepath.Base(path)+".undo")
}

// noteUndo notes that the newest compaction of the session in a file is to be taken back when the
// session ends: the product has it open.
func noteUndo(ctx context.Context, a *cli.App, path string) error {
	s, err := source.Open(ctx, a, path)
	if err != nil {
		return err
	}
	defer s.Close()
	marker := newestMarker(s.Doc)
	if _, err := readAwaited(a, path); err != nil && marker == "" {
		return cli.Nothing("winnow compacted nothing of this session")
	}
	if err := os.MkdirAll(filepath.Dir(undoAt(a, path)), 0o700); err != nil {
		return err
	}
	if err := os.WriteFile(undoAt(a, path), []byte("newest"), 0o600); err != nil {
		return err
	}
	a.Printf("The last compaction is taken back when this session ends. Then: claude --resume %s\n",
		visible.Text(idOfFile(path)))
	return nil
}

// newestMarker is the id of the newest compaction by winnow that is in a file, "" without one.
func newestMarker(doc *format.Document) (id string) {
	for i := range doc.Session.Messages {
		if m := &doc.Session.Messages[i]; m.Marker() != nil && !doc.Theirs[m.ID] {
			id = m.ID
		}
	}
	return id
}

// undoNoted takes back the newest compaction of a session that has ended, if somebody asked for it:
// in the store and in the file.
func undoNoted(ctx context.Context, a *cli.App, path string, doc *anchored) error {
	if _, err := os.Stat(undoAt(a, path)); err != nil {
		return nil
	}
	if err := importFile(ctx, a, path); err != nil {
		return err
	}
	settings, err := a.Settings()
	if err != nil {
		return err
	}
	room, err := output.Room(a)
	if err != nil {
		return err
	}
	claim, err := room.Take(ctx, path, inplace.Taking{Command: "undo", Force: true})
	if err != nil {
		return err
	}
	defer claim.Close()
	data, _, err := source.ReadFile(a, path)
	if err == nil {
		data, err = claim.Read(data)
	}
	if err != nil {
		return err
	}
	was, err := claudecode.Format{}.Read(data)
	if err != nil {
		return err
	}
	marker := newestMarker(was)
	if marker == "" {
		return os.Remove(undoAt(a, path))
	}
	s, err := source.OpenStored(ctx, a, cmp.Or(was.Session.Info.ID, idOfFile(path)), source.Changing, settings)
	if err != nil {
		return err
	}
	defer s.Close()
	if err := followFile(ctx, s, was); err != nil {
		return err
	}
	if _, err := s.Engine.Undo(ctx, s.ID, marker); err != nil {
		return err
	}
	log, state, err := s.Engine.Session(ctx, s.ID)
	if err != nil {
		return err
	}
	var made bytes.Buffer
	err = claudecode.Format{}.Write(&made, was,
		format.Change{Session: log, Ledger: unsent(log, state.Ledger), Undone: state.Undone})
	if err != nil {
		return err
	}
	if err := replaceBy(ctx, a, claim, made.Bytes()); err != nil {
		return err
	}
	doc.Done = "undone"
	return os.Remove(undoAt(a, path))
}
