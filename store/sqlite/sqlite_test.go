package sqlite_test

import (
	"path/filepath"
	"testing"

	"github.com/winnowhq/winnow/internal/storetest"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/store/sqlite"
)

func open(t testing.TB, c sqlite.Config) *sqlite.Store {
	t.Helper()
	s, err := sqlite.Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func TestStore(t *testing.T) {
	storetest.Suite{
		Open: func(t *testing.T) store.Store {
			return open(t, sqlite.Config{Path: filepath.Join(t.TempDir(), "winnow.db")})
		},
		Reopen: func(t *testing.T, s store.Store) store.Store {
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			return open(t, sqlite.Config{Path: s.(*sqlite.Store).Path()})
		},
		Sound: func(t *testing.T, s store.Store) {
			s.Close()
			whole(t, raw(t, s.(*sqlite.Store).Path()))
		},
	}.Run(t)
}
