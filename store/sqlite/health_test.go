package sqlite

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
)

func TestCheck_findsDamage(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.db")
	s, err := Open(t.Context(), Config{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	info := session.Info{ID: "ses_1"}
	if _, err := s.Apply(t.Context(), "ses_1", store.Change{Create: &info}); err != nil {
		t.Fatal(err)
	}
	h, err := s.Check(t.Context())
	if err != nil || len(h.Problems) > 0 || h.Schema != version || h.Bytes == 0 {
		t.Errorf("a sound store: %+v, %v", h, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for i := len(data) - 4096; i < len(data); i++ { // one page, without which it can be opened
		data[i] = 0xff
	}
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	s, err = Open(t.Context(), Config{Path: path, ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if h, err := s.Check(t.Context()); err == nil && len(h.Problems) == 0 {
		t.Errorf("damage is not found: %+v", h)
	}
}
