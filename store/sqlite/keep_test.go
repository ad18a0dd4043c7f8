package sqlite_test

import (
	"errors"
	"path/filepath"
	"testing"

	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/store/sqlite"
)

func TestKeep_aTextIsThereOnceAndGoesWithItsLastOwner(t *testing.T) {
	path := filepath.Join(t.TempDir(), "winnow.db")
	s := open(t, sqlite.Config{Path: path})
	text := words(3, 60_000)
	for _, id := range []string{"one", "two"} {
		if err := s.Create(t.Context(), session.Info{ID: id}); err != nil {
			t.Fatal(err)
		}
		for _, part := range []string{"a", "b"} {
			if err := s.Keep(t.Context(), id, part, text); err != nil {
				t.Fatal(err)
			}
		}
	}
	// A message has the same text as its output.
	m := session.Message{MessageInfo: session.MessageInfo{ID: "m", Role: session.Assistant}, Parts: []session.Part{
		{ID: "p", Type: session.ToolPart, Tool: "bash",
			State: &session.ToolState{Status: session.Completed, Output: text}}}}
	if _, err := s.Apply(t.Context(), "two", store.Change{Append: []session.Message{m}}); err != nil {
		t.Fatal(err)
	}
	contents := func(want int, when string) {
		t.Helper()
		if n := count(t, s, `SELECT count(*) FROM content`); n != want {
			t.Errorf("%s there are %d contents, want %d", when, n, want)
		}
		whole(t, s.Reader())
	}
	contents(1, "kept four times and in a message")
	if n := count(t, s, `SELECT length(data) FROM content`); n > len(text)/2 {
		t.Errorf("%d bytes take %d", len(text), n)
	}
	if err := s.Delete(t.Context(), "one"); err != nil {
		t.Fatal(err)
	}
	contents(1, "after one session went")
	for _, part := range []string{"a", "b"} {
		if err := s.Keep(t.Context(), "two", part, "another text"); err != nil {
			t.Fatal(err)
		}
	}
	contents(2, "after what was kept was replaced")
	if err := s.Delete(t.Context(), "two"); err != nil {
		t.Fatal(err)
	}
	contents(0, "after both sessions went")
}

func TestKept_aDamagedTextIsAnErrorOfTheStore(t *testing.T) {
	for _, damage := range []string{`DELETE FROM content`, `UPDATE content SET size = size + 1`,
		`UPDATE content SET data = x'00'`} {
		path := filepath.Join(t.TempDir(), "winnow.db")
		s := open(t, sqlite.Config{Path: path})
		if err := s.Create(t.Context(), session.Info{ID: "one"}); err != nil {
			t.Fatal(err)
		}
		if err := s.Keep(t.Context(), "one", "a", words(3, 60_000)); err != nil {
			t.Fatal(err)
		}
		run(t, raw(t, path), damage)
		if _, err := s.Kept(t.Context(), "one", "a"); !errors.Is(err, store.ErrCorrupt) {
			t.Errorf("%s: %v, want %v", damage, err, store.ErrCorrupt)
		}
	}
}

func TestKeep_aStoreForReadingKeepsNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "winnow.db")
	s := open(t, sqlite.Config{Path: path})
	if err := s.Create(t.Context(), session.Info{ID: "one"}); err != nil {
		t.Fatal(err)
	}
	if err := s.Keep(t.Context(), "one", "a", "text"); err != nil {
		t.Fatal(err)
	}
	reading := open(t, sqlite.Config{Path: path, ReadOnly: true})
	if err := reading.Keep(t.Context(), "one", "a", "other"); !errors.Is(err, store.ErrReadOnly) {
		t.Errorf("Keep: %v, want %v", err, store.ErrReadOnly)
	}
	if text, err := reading.Kept(t.Context(), "one", "a"); err != nil || text != "text" {
		t.Errorf("Kept: %q, %v", text, err)
	}
}
