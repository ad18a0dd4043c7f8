package sqlite_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/store/sqlite"
)

// filled makes a store with one session of three messages, closes it, and returns its path.
func filled(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "winnow.db")
	s, err := sqlite.Open(t.Context(), sqlite.Config{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	fill(t, s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

func fill(t *testing.T, s *sqlite.Store) {
	t.Helper()
	if err := s.Create(t.Context(), session.Info{ID: "ses"}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Apply(t.Context(), "ses", store.Change{Append: steps(3, 6000, 1)}); err != nil {
		t.Fatal(err)
	}
}

// raw opens the database without the store.
func raw(t *testing.T, path string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	t.Cleanup(func() { db.Close() })
	return db
}

func run(t *testing.T, db interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}, statements ...string) {
	t.Helper()
	for _, s := range statements {
		if _, err := db.ExecContext(t.Context(), s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
}

func sound(t *testing.T, path string) {
	t.Helper()
	var answer string
	if err := raw(t, path).QueryRow(`PRAGMA integrity_check`).Scan(&answer); err != nil || answer != "ok" {
		t.Errorf("the file is not sound: %s, %v", answer, err)
	}
}

func messages(t *testing.T, s *sqlite.Store) int {
	t.Helper()
	n := 0
	for _, err := range s.Messages(t.Context(), "ses") {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	return n
}

// wants checks that an error is of a kind and tells its reader where.
func wants(t *testing.T, err, kind error, path string) {
	t.Helper()
	if !errors.Is(err, kind) {
		t.Fatalf("error %v, want %v", err, kind)
	}
	var e *store.Error
	if !errors.As(err, &e) || e.Path != path || e.Hint == "" {
		t.Errorf("error %v does not name %s and say what to do", err, path)
	}
}

func TestOpen_keepsTheFileToItsOwner(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a", "b", "winnow.db")
	fill(t, open(t, sqlite.Config{Path: path}))
	for name, want := range map[string]fs.FileMode{
		filepath.Dir(path): 0o700 | fs.ModeDir, filepath.Dir(filepath.Dir(path)): 0o700 | fs.ModeDir,
		path: 0o600, path + "-wal": 0o600, path + "-shm": 0o600,
	} {
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode() != want {
			t.Errorf("%s has mode %v, want %v", name, info.Mode(), want)
		}
	}
}

func TestOpen_takesAnyPath(t *testing.T) {
	for _, name := range []string{"a b?mode=ro#x%20;&.db", "ü\\\"'.db", ":memory:", "-"} {
		path := filepath.Join(t.TempDir(), name)
		fill(t, open(t, sqlite.Config{Path: path}))
		if _, err := os.Stat(path); err != nil {
			t.Error(err)
		}
		if got := messages(t, open(t, sqlite.Config{Path: path, ReadOnly: true})); got != 3 {
			t.Errorf("%q: read %d messages of 3", name, got)
		}
	}
}

func TestOpen_explainsWhatIsWrongWithThePath(t *testing.T) {
	folder := t.TempDir()
	file := filepath.Join(folder, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	below := filepath.Join(file, "winnow.db")
	if _, err := sqlite.Open(t.Context(), sqlite.Config{Path: below}); err == nil ||
		!strings.Contains(err.Error(), file) {
		t.Errorf("a store below a file: %v", err)
	}
	if _, err := sqlite.Open(t.Context(), sqlite.Config{Path: folder}); err == nil ||
		!strings.Contains(err.Error(), folder) {
		t.Errorf("a store that is a folder: %v", err)
	}
	if _, err := sqlite.Open(t.Context(), sqlite.Config{}); err == nil {
		t.Error("a store without path was opened")
	}
	missing := filepath.Join(folder, "missing", "winnow.db")
	_, err := sqlite.Open(t.Context(), sqlite.Config{Path: missing, ReadOnly: true})
	wants(t, err, fs.ErrNotExist, missing)
	if _, err := os.Stat(filepath.Dir(missing)); err == nil {
		t.Error("opening for reading made a folder")
	}
}

func TestOpen_refusesWhatIsNoStore(t *testing.T) {
	garbage := filepath.Join(t.TempDir(), "garbage.db")
	text := strings.Repeat("this is not a database\n", 500)
	if err := os.WriteFile(garbage, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	foreign := filepath.Join(t.TempDir(), "foreign.db")
	run(t, raw(t, foreign), `CREATE TABLE session (x)`)
	stamped := filepath.Join(t.TempDir(), "stamped.db")
	run(t, raw(t, stamped), `PRAGMA application_id = 7`)
	for _, path := range []string{garbage, foreign, stamped} {
		before, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, readOnly := range []bool{false, true} {
			_, err := sqlite.Open(t.Context(), sqlite.Config{Path: path, ReadOnly: readOnly})
			wants(t, err, store.ErrCorrupt, path)
		}
		if after, _ := os.ReadFile(path); !slices.Equal(before, after) {
			t.Errorf("%s was changed", path)
		}
	}
}

func TestOpen_refusesANewerVersion(t *testing.T) {
	path := filled(t)
	run(t, raw(t, path), fmt.Sprintf(`PRAGMA user_version = %d`, sqlite.Version+1))
	for _, readOnly := range []bool{false, true} {
		_, err := sqlite.Open(t.Context(), sqlite.Config{Path: path, ReadOnly: readOnly})
		wants(t, err, store.ErrNewer, path)
	}
	run(t, raw(t, path), fmt.Sprintf(`PRAGMA user_version = %d`, sqlite.Version))
	if got := messages(t, open(t, sqlite.Config{Path: path})); got != 3 {
		t.Errorf("%d messages of 3 are left", got)
	}
}

func TestOpen_takesAnEmptyFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "winnow.db") // of a process that died before it wrote anything
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := sqlite.Open(t.Context(), sqlite.Config{Path: path, ReadOnly: true})
	wants(t, err, store.ErrReadOnly, path)
	fill(t, open(t, sqlite.Config{Path: path}))
}

func TestStore_readOnlyRefusesEveryChange(t *testing.T) {
	path := filled(t)
	s := open(t, sqlite.Config{Path: path, ReadOnly: true})
	_, apply := s.Apply(t.Context(), "ses", store.Change{Append: steps(1, 10, 9)})
	for _, err := range []error{
		s.Create(t.Context(), session.Info{ID: "new"}), s.Delete(t.Context(), "ses"), apply,
		s.SetSource(t.Context(), "ses", store.Source{}),
	} {
		wants(t, err, store.ErrReadOnly, path)
	}
	if got := messages(t, s); got != 3 {
		t.Errorf("read %d messages of 3", got)
	}
}

func TestStore_readOnlyFolder(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("the superuser may write everywhere")
	}
	path := filled(t)
	if err := errors.Join(os.Chmod(path, 0o400), os.Chmod(filepath.Dir(path), 0o500)); err != nil {
		t.Fatal(err)
	}
	defer os.Chmod(filepath.Dir(path), 0o700)
	if got := messages(t, open(t, sqlite.Config{Path: path, ReadOnly: true})); got != 3 {
		t.Errorf("read %d messages of 3", got)
	}
	_, err := sqlite.Open(t.Context(), sqlite.Config{Path: path})
	wants(t, err, store.ErrReadOnly, path)
}

func TestStore_saysWhenAnotherProcessHoldsTheLock(t *testing.T) {
	path := filled(t)
	s := open(t, sqlite.Config{Path: path, Wait: 30 * time.Millisecond})
	other := raw(t, path)
	run(t, other, `BEGIN IMMEDIATE`)
	_, err := s.Apply(t.Context(), "ses", store.Change{Append: steps(1, 10, 9)})
	wants(t, err, store.ErrLocked, path)
	if got := messages(t, s); got != 3 {
		t.Errorf("read %d messages of 3 while another process writes", got)
	}
	_, err = sqlite.Open(t.Context(), sqlite.Config{Path: path, Wait: 30 * time.Millisecond})
	if err != nil {
		t.Errorf("opening while another process writes: %v", err)
	}
	run(t, other, `ROLLBACK`)
	if _, err := s.Apply(t.Context(), "ses", store.Change{Append: steps(1, 10, 9)}); err != nil {
		t.Errorf("after the other process was done: %v", err)
	}
}

func TestStore_stopsWaitingForALockWithItsContext(t *testing.T) {
	path := filled(t)
	s := open(t, sqlite.Config{Path: path, Wait: time.Hour})
	other := raw(t, path)
	run(t, other, `BEGIN IMMEDIATE`)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := s.Apply(ctx, "ses", store.Change{Append: steps(1, 10, 9)}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v, want the context's", err)
	}
	run(t, other, `ROLLBACK`)
	if _, err := s.Apply(t.Context(), "ses", store.Change{Append: steps(1, 10, 9)}); err != nil {
		t.Errorf("the next change: %v", err)
	}
}

func TestStore_leavesNothingHalfWrittenOnAFullDisk(t *testing.T) {
	path := filepath.Join(t.TempDir(), "winnow.db")
	s := open(t, sqlite.Config{Path: path})
	fill(t, s)
	before, err := s.State(t.Context(), "ses")
	if err != nil {
		t.Fatal(err)
	}
	var pages int
	if err := s.Writer().QueryRowContext(t.Context(), `PRAGMA page_count`).Scan(&pages); err != nil {
		t.Fatal(err)
	}
	run(t, s.Writer(), fmt.Sprintf(`PRAGMA max_page_count = %d`, pages+10))
	title := session.Info{ID: "ses", Title: "never seen"}
	_, err = s.Apply(t.Context(), "ses", store.Change{Info: &title, Append: steps(100, 6000, 2)})
	wants(t, err, store.ErrFull, path)
	wants(t, s.Unwritable(), store.ErrFull, path)
	wants(t, s.SetSource(t.Context(), "ses", store.Source{Data: random(1 << 20)}), store.ErrFull, path)
	after, err := s.State(t.Context(), "ses")
	if err != nil {
		t.Fatal(err)
	}
	if after.Revision != before.Revision || after.Info.Title != "" || messages(t, s) != 3 {
		t.Errorf("the failed change left %+v, %d messages", after, messages(t, s))
	}
	run(t, s.Writer(), `PRAGMA max_page_count = 1000000`)
	if _, err := s.Apply(t.Context(), "ses", store.Change{Append: steps(100, 6000, 2)}); err != nil {
		t.Errorf("after room was made: %v", err)
	}
	if err := s.Unwritable(); err != nil {
		t.Errorf("after room was made it says %v", err)
	}
	sound(t, path)
}

func TestMessages_sayWhatIsDamagedAndReadTheRest(t *testing.T) {
	for name, damage := range map[string]string{
		"message":    `UPDATE message SET info = '{"info":' WHERE position = 1`,
		"part":       `UPDATE part SET data = x'0001ff' WHERE message = 1 AND position = 2`,
		"no part":    `DELETE FROM part WHERE message = 1 AND position = 4`,
		"no content": `DELETE FROM content WHERE num = (SELECT content FROM part WHERE message = 1 AND content IS NOT NULL)`,
		"content":    `UPDATE content SET data = substr(data, 1, length(data) / 2) WHERE num = (SELECT content FROM part WHERE message = 1 AND content IS NOT NULL)`,
		"size":       `UPDATE content SET size = size - 1 WHERE num = (SELECT content FROM part WHERE message = 1 AND content IS NOT NULL)`,
		"huge":       `UPDATE content SET size = 1 << 60 WHERE num = (SELECT content FROM part WHERE message = 1 AND content IS NOT NULL)`,
		"field":      `UPDATE part SET field = 'x' WHERE message = 1 AND content IS NOT NULL`,
	} {
		t.Run(name, func(t *testing.T) {
			path := filled(t)
			run(t, raw(t, path), damage)
			s := open(t, sqlite.Config{Path: path})
			read := 0
			var last error
			for _, err := range s.Messages(t.Context(), "ses") {
				if last = err; err == nil {
					read++
				}
			}
			wants(t, last, store.ErrCorrupt, path)
			if read != 1 {
				t.Errorf("read %d messages before the damaged one, want 1: no more than is consumed is looked at", read)
			}
		})
	}
}

func TestStore_saysWhenPagesAreDamaged(t *testing.T) {
	path := filepath.Join(t.TempDir(), "winnow.db")
	s := open(t, sqlite.Config{Path: path})
	fill(t, s)
	if _, err := s.Apply(t.Context(), "ses", store.Change{Append: steps(200, 3000, 2)}); err != nil {
		t.Fatal(err)
	}
	s.Close()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for i := 40 * 4096; i < len(data); i += 4096 {
		copy(data[i:i+64], random(64))
	}
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	s = open(t, sqlite.Config{Path: path})
	var last error
	for _, last = range s.Messages(t.Context(), "ses") {
	}
	wants(t, last, store.ErrCorrupt, path)
	_, err = s.Apply(t.Context(), "ses", store.Change{Append: steps(20, 3000, 3)})
	if err != nil {
		wants(t, err, store.ErrCorrupt, path)
	}
}

func TestApply_isWholeOrNothingWhereverItsContextEnds(t *testing.T) {
	path := filepath.Join(t.TempDir(), "winnow.db")
	s := open(t, sqlite.Config{Path: path})
	fill(t, s)
	batch := steps(60, 5000, 4)
	canceled := 0
	for i := range 60 {
		before, err := s.State(t.Context(), "ses")
		if err != nil {
			t.Fatal(err)
		}
		for j := range batch {
			state := batch[j].Parts[3].State
			state.Output = fmt.Sprintf("%6d%s", i, state.Output[6:])
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i)*400*time.Microsecond)
		_, err = s.Apply(ctx, "ses", store.Change{Append: batch})
		cancel()
		want := before.Messages + len(batch)
		if err != nil {
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Fatalf("error %v, want the context's", err)
			}
			canceled++
		}
		after, err2 := s.State(t.Context(), "ses")
		if err2 != nil {
			t.Fatal(err2)
		}
		if n := messages(t, s); n != after.Messages || n != want && (err == nil || n != before.Messages) {
			t.Fatalf("%d messages after %d, with error %v", n, before.Messages, err)
		}
	}
	t.Logf("%d of 60 changes were canceled", canceled)
	if canceled == 0 {
		t.Error("no change was canceled")
	}
	sound(t, path)
}
