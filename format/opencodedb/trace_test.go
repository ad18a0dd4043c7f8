package opencodedb

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func traces(t *testing.T, path string) map[string]Trace {
	t.Helper()
	found, err := open(t, path).Traces(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestTraces_showWhatIsWrittenThoughTheSessionDoesNot(t *testing.T) {
	path := laid(t, schema, schemaTwo, lighthouse)
	before := traces(t, path)
	if len(before) != 2 || before["ses_light"].Written != 9000 || before["ses_light"].Bytes < 1000 || before["ses_keeper"].Written != 9500 {
		t.Fatalf("%+v", before)
	}
	db := writer(t, path)
	for _, c := range []struct{ what, statement string }{
		{"a part of the same length", `UPDATE part SET data = replace(data, 'lit', 'out'), time_updated = 9001 WHERE id = 'prt_1'`},
		{"a longer part", `UPDATE part SET data = replace(data, 'It burns', 'It burns well') WHERE id = 'prt_2'`},
		{"a message that is gone", `DELETE FROM message WHERE id = 'msg_d'`},
		{"a new part", `INSERT INTO part VALUES ('prt_6', 'msg_c', 'ses_light', 9002, 9002, '{"type":"text","text":"x"}')`},
		{"what was taken back", `UPDATE session SET revert = '{"messageID":"msg_c"}' WHERE id = 'ses_light'`},
		{"a row of the second generation", `INSERT INTO session_message VALUES ('m2', 'ses_light', 'user', 1, 9003, 9003, '{}')`},
	} {
		run(t, db, c.statement)
		after := traces(t, path)
		if after["ses_light"] == before["ses_light"] {
			t.Errorf("%s leaves no trace: %+v", c.what, after["ses_light"])
		}
		if after["ses_keeper"] != before["ses_keeper"] {
			t.Errorf("%s leaves a trace on another session", c.what)
		}
		before = after
	}
}

func TestTraces_rowsWithoutATimeTellNothing(t *testing.T) {
	path := laid(t, `CREATE TABLE session (id text PRIMARY KEY, title text, time_created integer, time_updated integer);
		CREATE TABLE message (id text PRIMARY KEY, session_id text, time_created integer, data text);
		CREATE TABLE part (id text PRIMARY KEY, message_id text, session_id text, data text);
		INSERT INTO session VALUES ('ses_a', 'A', 1, 7); INSERT INTO session VALUES ('ses_b', 'B', 1, 8);
		INSERT INTO message VALUES ('msg_a', 'ses_a', 1, '{}');`)
	want := map[string]Trace{"ses_a": {Bytes: 3}, "ses_b": {Bytes: 1, Written: 8}}
	if diff := cmp.Diff(want, traces(t, path)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestTraces_ofFiles(t *testing.T) {
	folder := filepath.Join(folderOf(t, harbour()), "storage")
	before := traces(t, folder)
	if len(before) == 0 {
		t.Fatal("no session")
	}
	parts, err := filepath.Glob(filepath.Join(folder, "part", "*", "*.json"))
	if err != nil || len(parts) == 0 {
		t.Fatal(parts, err)
	}
	at := time.Now().Add(time.Hour)
	if err := os.Chtimes(parts[0], at, at); err != nil {
		t.Fatal(err)
	}
	changed := 0
	for id, trace := range traces(t, folder) {
		if trace != before[id] {
			changed++
		}
	}
	if changed != 1 {
		t.Errorf("%d sessions changed, want 1", changed)
	}
}
