package sqlite

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/store/internal/packed"
)

// A store whose file somebody damaged, or made, is read as far as it can be, or says what is wrong:
// each error is a *store.Error with the path, and nothing that is read is longer than the file
// could hold. seed is where the bytes of patch are laid over a good store, three bytes of place
// before each byte.
func FuzzOpen_aStrangersFile(f *testing.F) {
	good := filepath.Join(f.TempDir(), "good.db")
	s, err := Open(context.Background(), Config{Path: good})
	if err != nil {
		f.Fatal(err)
	}
	log := []session.Message{{MessageInfo: session.MessageInfo{ID: "m", Role: session.Assistant}, Parts: []session.Part{
		{ID: "p", Type: session.ToolPart, Tool: "read", CallID: "c",
			State: &session.ToolState{Status: session.Completed, Input: []byte(`{"filePath":"a"}`),
				Output: string(bytes.Repeat([]byte("line of it\n"), 300))}},
		{ID: "q", Type: session.TextPart, Text: "said \x00\xff"}}}}
	_, err = s.Apply(context.Background(), "ses", store.Change{Create: &session.Info{ID: "ses", Title: "t"},
		Append: log, Commit: []rule.Elision{{Part: "p", Message: "m", Field: rule.Output, Shown: "[gone]"}},
		Pin: []rule.Pin{{ID: "x", Text: "never"}}, Spend: []store.Spend{{Kind: "step", Cost: 1}},
		Dismiss: []string{"w"}, Source: &store.Source{Format: "pi", Path: "/a",
			Data: bytes.Repeat([]byte("source "), 400)},
		File: &store.File{Path: "/a", Session: "ses"}})
	if err == nil {
		err = errors.Join(s.Keep(context.Background(), "ses", "p", string(bytes.Repeat([]byte("whole "), 500))),
			s.Index(context.Background(), nil), s.Close())
	}
	if err != nil {
		f.Fatal(err)
	}
	file, err := os.ReadFile(good)
	if err != nil {
		f.Fatal(err)
	}
	f.Add([]byte{})
	f.Add([]byte{0, 0, 60, 9, 0, 0, 63, 255})                              // user_version
	f.Add([]byte{0, 0, 16, 3, 0, 0, 20, 1, 0, 16, 0, 0})                   // page size, reserved bytes, the first leaf
	f.Add(bytes.Repeat([]byte{0, 32, 7, 255, 1, 0, 3, 0, 2, 1, 9, 77}, 9)) // here and there
	for at := 0; at < len(file); at += len(file) / 20 {
		f.Add([]byte{byte(at >> 16), byte(at >> 8), byte(at), 0x80, byte(at >> 16), byte(at >> 8), byte(at) + 1, 0x7f})
	}
	root := f.TempDir()
	f.Fuzz(func(t *testing.T, patch []byte) {
		path := filepath.Join(root, "winnow.db")
		for _, beside := range []string{"", "-wal", "-shm", "-journal"} {
			os.Remove(path + beside)
		}
		data := bytes.Clone(file)
		for ; len(patch) >= 4; patch = patch[4:] {
			data[int(binary.BigEndian.Uint32([]byte{0, patch[0], patch[1], patch[2]}))%len(data)] = patch[3]
		}
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		told := func(what string, err error) {
			t.Helper()
			if e, ok := errors.AsType[*store.Error](err); err != nil && (!ok || e.Path != path || e.Error() == "") {
				t.Errorf("%s: the error %v does not say where", what, err)
			}
			if ctx.Err() != nil {
				t.Fatalf("%s takes more than any reading may", what)
			}
		}
		s, err := Open(ctx, Config{Path: path, Wait: 10 * time.Millisecond})
		told("opening", err)
		if err != nil {
			return
		}
		defer s.Close()
		list, err := s.List(ctx)
		told("listing", err)
		for _, l := range list {
			id := l.Info.ID
			_, err := s.State(ctx, id)
			told("the state", err)
			n := 0
			for m, err := range s.Messages(ctx, id) {
				if told("the messages", err); err != nil {
					break
				}
				for i := range m.Parts {
					if n += len(m.Parts[i].Text); m.Parts[i].State != nil {
						n += len(m.Parts[i].State.Output)
					}
				}
				if n > packed.MostFold*len(data) {
					t.Fatalf("%d bytes were read from a file of %d", n, len(data))
				}
			}
			_, err = s.Source(ctx, id)
			told("the source", err)
			_, err = s.Kept(ctx, id, "p")
			told("what is kept", err)
			_, err = s.Apply(ctx, id, store.Change{Append: log})
			told("appending", err)
		}
		_, err = s.Files(ctx)
		told("the files", err)
		_, err = s.Search(ctx, store.Search{Words: "line said"})
		told("searching", err)
		told("deleting", s.Delete(ctx, "ses"))
	})
}
