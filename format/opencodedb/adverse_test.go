package opencodedb

import (
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRead_rowsWithoutAnIDHideNothingElse(t *testing.T) {
	loose := strings.NewReplacer("session_id text NOT NULL", "session_id text", "message_id text NOT NULL", "message_id text").Replace(schema)
	path := laid(t, loose, lighthouse,
		`INSERT INTO message VALUES (NULL, NULL, 1, 1, '{}'); INSERT INTO part VALUES (NULL, NULL, NULL, 1, 1, '{}')`,
		`INSERT INTO message VALUES (NULL, 'ses_light', 5000, 5000, '{"role":"user","time":{"created":5000}}'); INSERT INTO part VALUES (NULL, 'msg_c', 'ses_light', 1, 1, '{"type":"text","text":"nameless"}')`)
	s := open(t, path)
	list, err := s.List(t.Context())
	if err != nil || len(list) != 2 {
		t.Fatalf("%d sessions, want 2; %v", len(list), err)
	}
	if _, err := s.Sizes(t.Context()); err != nil {
		t.Error(err)
	}
	doc, err := s.Read(t.Context(), "ses_light")
	if err != nil {
		t.Fatal(err)
	}
	if len(doc.Session.Messages) < 4 {
		t.Errorf("%d messages are read, want the 4 that are whole among them", len(doc.Session.Messages))
	}
	told := 0
	for _, d := range doc.Damaged {
		if strings.Contains(d.Reason, "has no id") {
			told++
		}
	}
	if told != 2 {
		t.Errorf("%d of the 2 rows without an id are told: %v", told, doc.Damaged)
	}
}

func TestErrors_tablesOfAnotherVersionAreNamed(t *testing.T) {
	for _, c := range []struct{ statement, want string }{
		{`ALTER TABLE part RENAME COLUMN session_id TO owner_id`, "lacks part.session_id"},
		{`ALTER TABLE message RENAME COLUMN time_created TO created`, "lacks message.time_created"},
		{`ALTER TABLE session RENAME COLUMN id TO key`, "lacks session.id"},
	} {
		tables := strings.NewReplacer("CREATE INDEX message_session_time_created_id_idx ON message (session_id, time_created, id);", "", "CREATE INDEX part_session_idx ON part (session_id);", "").Replace(schema)
		s := open(t, laid(t, tables, c.statement))
		for what, err := range map[string]error{
			"List": second(s.List(t.Context())), "Sizes": second(s.Sizes(t.Context())), "Traces": second(s.Traces(t.Context())), "Read": second(s.Read(t.Context(), "ses_light")),
		} {
			if !errors.Is(err, ErrNoSessions) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s after %s: %v, want %q", what, c.statement, err, c.want)
			}
		}
	}
}

func second[T any](_ T, err error) error { return err }

// A program that was killed in the middle of a transaction leaves a journal; the database may be
// half of before and half of after.
func TestErrors_aJournalThatWasLeftBehindIsNamed(t *testing.T) {
	path := laid(t, schema, lighthouse, "PRAGMA journal_mode=DELETE")
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	run(t, db, "PRAGMA cache_size=1", "PRAGMA cache_spill=1", "BEGIN EXCLUSIVE", `UPDATE part SET data = data || replace(hex(zeroblob(9000)), '0', ' ')`)
	left := filepath.Join(t.TempDir(), "opencode.db")
	for _, suffix := range []string{"", "-journal"} {
		text, err := os.ReadFile(path + suffix)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(left+suffix, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	run(t, db, "ROLLBACK")
	before := look(t, filepath.Dir(left))
	_, err = open(t, left).List(t.Context())
	if err == nil || !strings.Contains(err.Error(), "-journal") || strings.Contains(err.Error(), "-wal") {
		t.Errorf("%v, want an error that tells of the journal", err)
	}
	if diff := cmp.Diff(before, look(t, filepath.Dir(left))); diff != "" {
		t.Errorf("reading changed the folder:\n%.500s", diff)
	}
}

// The log lies beside the database, not beside a link to it.
func TestRead_throughALinkSeesWhatStandsInTheLogAlone(t *testing.T) {
	path := laid(t, schema, lighthouse)
	run(t, writer(t, path), "PRAGMA wal_autocheckpoint=0", `UPDATE session SET title = 'Only in the log'`)
	link := filepath.Join(t.TempDir(), "opencode.db")
	if err := os.Symlink(path, link); err != nil {
		t.Skip(err)
	}
	list, err := open(t, link).List(t.Context())
	if err != nil || len(list) != 2 || list[0].Title != "Only in the log" {
		t.Errorf("%+v, %v", list, err)
	}
	if files := look(t, filepath.Dir(link)); len(files) != 1 {
		t.Errorf("beside the link there are %d files", len(files)-1)
	}
}

func TestStores_oneThatWasBegunAndNeverWrittenToIsNone(t *testing.T) {
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "opencode.db"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if found, err := Stores(folder); len(found) > 0 || err != nil {
		t.Errorf("%v, %v", found, err)
	}
}
