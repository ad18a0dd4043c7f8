package sqlite_test

import (
	"bytes"
	"os"
	"os/exec"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/store/sqlite"
)

// version1 is what testdata/version1.db holds: the first version of this package wrote it, with
// gzip.
func version1(id string) (messages []session.Message, source store.Source) {
	messages = steps(3, 6000, 1)
	state := messages[1].Parts[3].State
	state.Status, state.Error, state.Output = session.Failed, words(9, 5000), ""
	messages[2].Parts[2].Text = words(10, 4500)
	if id == "two" {
		messages[0].Parts[3].State.Output = words(11, 4100) + "\x00\xff"
	}
	return messages, store.Source{Format: "claude-code", Path: "/a/" + id + ".jsonl",
		Data: []byte(strings.Repeat("{\"line\": \""+id+"\"}\n", 500))}
}

// holdsVersion1 checks that nothing of it was lost.
func holdsVersion1(t *testing.T, s *sqlite.Store) {
	t.Helper()
	for _, id := range []string{"one", "two"} {
		want, wantSource := version1(id)
		at := len(want)
		for m, err := range s.Messages(t.Context(), id) {
			if err != nil {
				t.Fatal(err)
			}
			at--
			same(t, want[at], m)
		}
		if at != 0 {
			t.Errorf("%d messages of %d are missing", at, len(want))
		}
		source, err := s.Source(t.Context(), id)
		if err != nil || !reflect.DeepEqual(&wantSource, source) {
			t.Errorf("its source came back otherwise: %v", err)
		}
		state, err := s.State(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		if state.Revision != 2 || !state.Ledger.Has(rule.Key{Part: want[0].Parts[3].ID, Field: rule.Output}) ||
			len(state.Pins) != 1 ||
			!state.Undone["marker"] || len(state.Spent) != 1 || state.Info.Title != "session "+id {
			t.Errorf("state %+v", state)
		}
	}
}

func TestOpen_bringsVersion1UpToDate(t *testing.T) {
	path := copyOf(t, "version1.db")
	if _, err := sqlite.Open(t.Context(), sqlite.Config{Path: path, ReadOnly: true}); err == nil ||
		!strings.Contains(err.Error(), "older version") {
		t.Errorf("it was opened only for reading: %v", err)
	}
	s := open(t, sqlite.Config{Path: path})
	holdsVersion1(t, s)
	whole(t, s.Reader())
	if n := count(t, s, `SELECT count(*) FROM content WHERE codec = 1`); n != 4 {
		t.Errorf("%d contents are gzip as they were, want 4", n)
	}

	// What is there is found by its hash, whatever compressed it; what is new is zstd.
	want, _ := version1("one")
	if err := s.Create(t.Context(), session.Info{ID: "three"}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Apply(t.Context(), "three", store.Change{Append: append(want, heavy("h"))}); err != nil {
		t.Fatal(err)
	}
	if n := count(t, s,
		`SELECT count(*) FROM content WHERE codec = 1 AND num IN (SELECT content FROM part WHERE session = 3)`); n != 3 {
		t.Errorf("%d contents of version 1 are shared, want 3", n)
	}
	// A file that is set anew goes into pieces.
	_, source := version1("one")
	if err := s.SetSource(t.Context(), "one", source); err != nil {
		t.Fatal(err)
	}
	holdsVersion1(t, s)
	if n := count(t, s, `SELECT count(*) FROM source WHERE pieces = 0 AND length(data) > 0`); n != 1 {
		t.Errorf("%d sources are as version 1 wrote them, want 1", n)
	}
	whole(t, s.Reader())
	for _, id := range []string{"one", "two", "three"} {
		if err := s.Delete(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		whole(t, s.Reader())
	}
	if n := count(t, s, `SELECT count(*) FROM content`); n != 0 {
		t.Errorf("%d contents are left to nobody", n)
	}
}

// A migration that cannot end leaves the database as it was, for the version that wrote it.
func TestOpen_aMigrationThatFailsChangesNothing(t *testing.T) {
	for _, obstacle := range []string{"piece", "apart_content"} {
		path := copyOf(t, "version1.db")
		db := raw(t, path)
		run(t, db, `CREATE TABLE `+obstacle+` (x)`)
		before := dump(t, path)
		if _, err := sqlite.Open(t.Context(), sqlite.Config{Path: path, Wait: time.Millisecond}); err == nil {
			t.Fatal("it was opened")
		}
		if after := dump(t, path); after != before {
			t.Errorf("it was\n%s\nand is\n%s", before, after)
		}
		sound(t, path)
		run(t, db, `DROP TABLE `+obstacle)
		s := open(t, sqlite.Config{Path: path})
		holdsVersion1(t, s)
		whole(t, s.Reader())
	}
}

// dump is the schema of a database with its version.
func dump(t *testing.T, path string) string {
	t.Helper()
	var text string
	if err := raw(t, path).QueryRow(`SELECT (SELECT user_version FROM pragma_user_version) || char(10) ||
		(SELECT group_concat(sql, char(10)) FROM (SELECT sql FROM sqlite_schema ORDER BY name))`).Scan(&text); err != nil {
		t.Fatal(err)
	}
	return text
}

func TestOpen_killedWhileMigratingLosesNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("nothing in it happens at the same time within a process: -short is for the race detector")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	killed, migrated := 0, 0
	for i := range 24 {
		path := copyOf(t, "version1.db")
		cmd := exec.Command(self, "nobody", "0") // a child that appends nothing: it opens the store
		cmd.Env = append(os.Environ(), childPath+"="+path)
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		// It turns to the write-ahead log just before it migrates.
		for until := time.Now().Add(5 * time.Second); time.Now().Before(until); time.Sleep(50 * time.Microsecond) {
			if _, err := os.Stat(path + "-wal"); err == nil {
				break
			}
		}
		time.Sleep(time.Duration(i) * 200 * time.Microsecond)
		cmd.Process.Kill()
		if cmd.Wait() != nil {
			killed++
		}
		if stderr.Len() > 0 {
			t.Errorf("the process said %s", &stderr)
		}
		var version int
		if err := raw(t, path).QueryRow(`PRAGMA user_version`).Scan(&version); err != nil {
			t.Fatal(err)
		}
		if version > 1 {
			migrated++
		}
		s := open(t, sqlite.Config{Path: path})
		holdsVersion1(t, s)
		whole(t, s.Reader())
		s.Close()
	}
	t.Logf("%d of 24 were killed, %d had done a migration", killed, migrated)
	if killed == 0 {
		t.Error("no process was killed in time")
	}
}
