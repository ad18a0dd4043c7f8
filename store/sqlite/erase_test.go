package sqlite_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/store/sqlite"
)

// has are the files of a store that hold a word.
func has(t *testing.T, path, word string) (files []string) {
	t.Helper()
	all, err := filepath.Glob(path + "*")
	if err != nil || len(all) == 0 {
		t.Fatalf("no files: %v", err)
	}
	for _, file := range all {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(data, []byte(word)) {
			files = append(files, filepath.Base(file))
		}
	}
	return files
}

// Nothing of an erased session is in the bytes of the file or of its write-ahead log, nor in the
// index of words, while another process has the store open; others stay and are found.
func TestErase_leavesNoByte(t *testing.T) {
	path := filepath.Join(t.TempDir(), "winnow.db")
	open := func() *sqlite.Store {
		s, err := sqlite.Open(t.Context(), sqlite.Config{Path: path})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Close() })
		return s
	}
	s, other := open(), open()
	say := func(id string, n int, word string) {
		t.Helper()
		info := session.Info{ID: id, Title: word}
		m := session.Message{MessageInfo: session.MessageInfo{ID: "m", SessionID: id, Role: session.User}}
		for i := range n {
			m.Parts = append(m.Parts, session.Part{ID: id + string(rune('a'+i%26)), SessionID: id, MessageID: "m", Type: session.TextPart,
				Text: "They said " + word + " " + strings.Repeat("and more ", i%400)})
		}
		if _, err := s.Apply(t.Context(), id, store.Change{Create: &info, Append: []session.Message{m}}); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 5 {
		say("kept"+string(rune('0'+i)), 20, "amaranth")
		say("gone"+string(rune('0'+i)), 200, "heliotrope")
		if err := s.Index(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
	}
	if len(has(t, path, "They said heliotrope")) == 0 {
		t.Fatal("the test looks in the wrong place")
	}
	if _, err := other.List(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Erase(t.Context(), "gone0", "gone1", "gone2", "gone3", "gone4"); err != nil {
		t.Fatal(err)
	}
	for _, word := range []string{"They said heliotrope", "heliotrope", "gone1"} {
		if files := has(t, path, word); len(files) > 0 {
			t.Errorf("%q is in %v", word, files)
		}
	}
	found, err := other.Search(t.Context(), store.Search{Words: "amaranth"})
	if err != nil || found.Total != 100 {
		t.Errorf("the others: %d, %v", found.Total, err)
	}
	if found, err := other.Search(t.Context(), store.Search{Words: "heliotrope"}); err != nil || found.Total != 0 {
		t.Errorf("found: %+v, %v", found, err)
	}
	if health, err := other.Check(t.Context()); err != nil || len(health.Problems) > 0 {
		t.Errorf("the store: %v, %v", health.Problems, err)
	}
}

// A file is deleted with its write-ahead log, also while a process has it open.
func TestEraseFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "winnow.db")
	s, err := sqlite.Open(t.Context(), sqlite.Config{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.Create(t.Context(), session.Info{ID: "a"}); err != nil {
		t.Fatal(err)
	}
	gone, err := sqlite.EraseFile(t.Context(), path)
	if err != nil || gone.Sessions != 1 || gone.Bytes == 0 {
		t.Errorf("%+v, %v", gone, err)
	}
	if left, _ := filepath.Glob(path + "*"); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	if gone, err := sqlite.EraseFile(t.Context(), path); err != nil || gone != (store.Amount{}) {
		t.Errorf("a file that is missing: %+v, %v", gone, err)
	}
}
