package opencodedb

import (
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRead_leavesNoTraceWhenTheProductDoesNotRun(t *testing.T) {
	path := laid(t, schema, lighthouse)
	before := look(t, filepath.Dir(path))
	if len(before) != 1 {
		t.Fatalf("there should be the database alone: %d files", len(before))
	}
	s := open(t, path)
	if _, err := s.List(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Read(t.Context(), "ses_light"); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, look(t, filepath.Dir(path))); diff != "" {
		t.Errorf("reading changed the folder:\n%.500s", diff)
	}
}

func TestRead_seesWhatStandsInTheLogAlone(t *testing.T) {
	path := laid(t, schema, lighthouse)
	db := writer(t, path)
	run(t, db, "PRAGMA wal_autocheckpoint=0", `UPDATE part SET data = '{"type":"text","text":"Is it lit now?"}' WHERE id = 'prt_1'`)
	before := look(t, filepath.Dir(path))
	if len(before) != 3 {
		t.Fatalf("a running product has a log and its index beside the database: %d files", len(before))
	}
	tx, err := db.Begin() // a change that is under way holds nobody up, and is not seen
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(`DELETE FROM message`); err != nil {
		t.Fatal(err)
	}
	doc, err := open(t, path).Read(t.Context(), "ses_light")
	if err != nil {
		t.Fatal(err)
	}
	if len(doc.Session.Messages) != 4 || doc.Session.Messages[0].Text() != "Is it lit now?" {
		t.Errorf("read %d messages, the first says %q", len(doc.Session.Messages), doc.Session.Messages[0].Text())
	}
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	after := look(t, filepath.Dir(path))
	for _, name := range []string{"opencode.db", "opencode.db-wal"} {
		if before[name] != after[name] {
			t.Errorf("%s was changed by reading", name)
		}
	}
	if len(after) != len(before) {
		t.Errorf("%d files before, %d after", len(before), len(after))
	}
	// What the product may do when it ends: nobody stands in the way of folding the log into the
	// database.
	var busy, log, folded int
	if err := db.QueryRow("PRAGMA wal_checkpoint(TRUNCATE)").Scan(&busy, &log, &folded); err != nil || busy != 0 {
		t.Errorf("a checkpoint after reading: busy %d, %v", busy, err)
	}
	run(t, db, "PRAGMA integrity_check")
}

func TestRead_aLogWithoutItsIndexIsRead(t *testing.T) {
	path := laid(t, schema, lighthouse)
	db := writer(t, path)
	run(t, db, "PRAGMA wal_autocheckpoint=0", `UPDATE session SET title = 'Only in the log'`)
	copied := filepath.Join(t.TempDir(), "opencode.db") // as after a crash, or from a backup
	for _, suffix := range []string{"", "-wal"} {
		text, err := os.ReadFile(path + suffix)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(copied+suffix, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	before := look(t, filepath.Dir(copied))
	list, err := open(t, copied).List(t.Context())
	if err != nil || len(list) != 2 || list[0].Title != "Only in the log" {
		t.Fatalf("%+v, %v", list, err)
	}
	after := look(t, filepath.Dir(copied))
	delete(after, "opencode.db-shm") // the one file that had to be made
	if diff := cmp.Diff(before, after); diff != "" {
		t.Errorf("reading changed the folder:\n%.500s", diff)
	}
}

// The product starts, writes and checkpoints in the middle of a reading that began when it did not
// run.
func TestSnapshot_readsAgainWhenTheProductStartedMeanwhile(t *testing.T) {
	path := laid(t, schema, lighthouse)
	s := open(t, path)
	times := 0
	title, err := snapshot(t.Context(), database(s.path), func(tx *sql.Tx) (title string, err error) {
		if times++; times == 1 {
			run(t, writer(t, path), `UPDATE session SET title = 'New'`, `PRAGMA wal_checkpoint(TRUNCATE)`)
		}
		err = tx.QueryRowContext(t.Context(), `SELECT title FROM session WHERE id = 'ses_light'`).Scan(&title)
		return title, err
	})
	if err != nil {
		t.Fatal(err)
	}
	if times != 2 || title != "New" {
		t.Errorf("read %d times, last %q; want a second time that sees what was written", times, title)
	}
}

// Every message is written in one transaction with its part: a reading that is one moment never
// sees one without the other.
func TestRead_isOneMomentWhileTheProductWrites(t *testing.T) {
	path := laid(t, schema, lighthouse, `DELETE FROM message; DELETE FROM part`)
	db := writer(t, path)
	run(t, db, "PRAGMA wal_autocheckpoint=20")
	s := open(t, path)
	const messages = 200
	wrote := make(chan error, 1)
	go func() {
		for i := range messages {
			_, err := db.Exec(fmt.Sprintf(`BEGIN;
				INSERT INTO message VALUES ('msg_%04[1]d', 'ses_light', %[1]d, %[1]d, '{"role":"user","time":{"created":%[1]d}}');
				INSERT INTO part VALUES ('prt_%04[1]d', 'msg_%04[1]d', 'ses_light', %[1]d, %[1]d, '{"type":"text","text":"wave"}');
				COMMIT`, i))
			if err != nil {
				wrote <- err
				return
			}
		}
		wrote <- nil
	}()
	last, done := 0, false
	for !done {
		select {
		case err := <-wrote:
			if err != nil {
				t.Fatal(err)
			}
			done = true
		default:
		}
		doc, err := s.Read(t.Context(), "ses_light")
		if err != nil {
			t.Fatal(err)
		}
		if n := len(doc.Session.Messages); n < last {
			t.Fatalf("%d messages after %d", n, last)
		} else {
			last = n
		}
		for _, m := range doc.Session.Messages {
			if len(m.Parts) != 1 {
				t.Fatalf("message %s has %d parts", m.ID, len(m.Parts))
			}
		}
		if len(doc.Damaged) > 0 {
			t.Fatalf("damaged: %v", doc.Damaged)
		}
	}
	if last != messages {
		t.Errorf("at the end %d messages are read, want %d", last, messages)
	}
}
