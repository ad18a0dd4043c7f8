package sqlite_test

import (
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/winnowhq/winnow/internal/storetest"
	"github.com/winnowhq/winnow/session"
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

// However many read at one time, few files are open: SQLite keeps those of closed connections as
// long as others read.
func TestReaders_keepFewFilesOpen(t *testing.T) {
	const folder = "/proc/self/fd"
	if _, err := os.Stat(folder); err != nil {
		t.Skipf("the files of a process cannot be counted here: %v", err)
	}
	files := func() int {
		all, err := os.ReadDir(folder)
		if err != nil {
			t.Fatal(err)
		}
		return len(all)
	}
	s := open(t, sqlite.Config{Path: filepath.Join(t.TempDir(), "winnow.db")})
	if _, err := s.Apply(t.Context(), "ses_1", store.Change{Create: &session.Info{ID: "ses_1"}}); err != nil {
		t.Fatal(err)
	}
	before := files()
	var all sync.WaitGroup
	for range 500 {
		all.Go(func() {
			for range 5 {
				if _, err := s.State(t.Context(), "ses_1"); err != nil {
					t.Error(err)
				}
				if _, err := s.Revision(t.Context(), "ses_1"); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	if more := files() - before; more > 40 { // eight readers with the database, its log and their index
		t.Errorf("%d more files are open after 500 readers", more)
	}
}
