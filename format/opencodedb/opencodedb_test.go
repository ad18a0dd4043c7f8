package opencodedb

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/winnowhq/winnow/format/opencode"
	"github.com/winnowhq/winnow/session"
)

func TestExport_isWhatTheProductPrints(t *testing.T) {
	s := open(t, laid(t, schema, lighthouse))
	text, damaged, err := s.Export(t.Context(), "ses_light")
	if err != nil || len(damaged) > 0 {
		t.Fatalf("%v, damaged: %v", err, damaged)
	}
	if diff := cmp.Diff(lighthouseExport, string(text[:min(len(text), len(lighthouseExport))])); diff != "" {
		t.Errorf("the beginning of the export (-want +got):\n%s", diff)
	}
	for _, want := range []string{
		"          \"id\": \"prt_2\",\n          \"sessionID\": \"ses_light\",\n          \"messageID\": \"msg_b\"\n        },\n        {\n          \"type\": \"future-kind\",",
		"It burns <é> \\u2028.", // as it is stored
		"\n      ]\n    }\n  ]\n}\n",
	} {
		if !strings.Contains(string(text), want) {
			t.Errorf("the export lacks %q:\n%s", want, text)
		}
	}
}

func TestRead_givesTheLogWithItsPivotAndMarks(t *testing.T) {
	s := open(t, laid(t, schema, lighthouse))
	doc, err := s.Read(t.Context(), "ses_light")
	if err != nil {
		t.Fatal(err)
	}
	if got, want := outline(doc.Session.Messages), "user msg_a: text\nassistant msg_b: tool future-kind\nuser msg_c: compaction\nassistant msg_d: text\n"; got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	m := doc.Session.Messages
	if m[2].Marker() == nil || m[2].Marker().TailStartID != "msg_b" || !m[3].Completes() {
		t.Error("the compaction is no pivot")
	}
	if doc.Format != opencode.Name || doc.Ledger.Len() != 1 || len(doc.Damaged) > 0 {
		t.Errorf("format %q, %d elisions, damaged %v; want the one mark", doc.Format, doc.Ledger.Len(), doc.Damaged)
	}
}

func outline(messages []session.Message) string {
	text := ""
	for _, m := range messages {
		text += fmt.Sprintf("%s %s:", m.Role, m.ID)
		for _, p := range m.Parts {
			text += " " + string(p.Type)
		}
		text += "\n"
	}
	return text
}

func TestList_readsNoMessage(t *testing.T) {
	// In messages that cannot be parsed nothing could be found.
	s := open(t, laid(t, schema, lighthouse, `UPDATE message SET data = 'none'; UPDATE part SET data = 'none'`))
	list, err := s.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := []Listing{
		{ID: "ses_keeper", ParentID: "ses_light", Title: "The keeper", Directory: "/isle", Project: "/isle", Version: "1.18.33", Generation: 1, Created: 3000, Updated: 9500},
		{ID: "ses_light", Title: "The lamp", Directory: "/isle/tower", Project: "/isle", Version: "1.18.33", Generation: 1, Messages: 4, Cost: 0.25,
			Tokens: session.Usage{Input: 100, Output: 20, Cache: session.CacheUsage{Read: 30}}, Created: 1000, Updated: 9000},
	}
	if diff := cmp.Diff(want, list); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	sizes, err := s.Sizes(t.Context())
	if err != nil || sizes["ses_light"] != int64(4*len("none")+5*len("none")) {
		t.Errorf("sizes %v, %v", sizes, err)
	}
}

func TestStore_anOlderOneHasFewerColumns(t *testing.T) {
	s := open(t, laid(t, `
		CREATE TABLE session (id text PRIMARY KEY, project_id text, slug text, directory text, title text, version text, time_created integer, time_updated integer);
		CREATE TABLE message (id text PRIMARY KEY, session_id text, time_created integer, data text);
		CREATE TABLE part (id text PRIMARY KEY, message_id text, session_id text, data text);
		INSERT INTO session VALUES ('ses_old', 'p', 's', '/isle', 'Old', '1.1.30', 1, 2);
		INSERT INTO message VALUES ('msg_1', 'ses_old', 1, '{"role":"user","time":{"created":1}}');
		INSERT INTO part VALUES ('prt_1', 'msg_1', 'ses_old', '{"type":"text","text":"Ahoy."}');`))
	doc, err := s.Read(t.Context(), "ses_old")
	if err != nil || len(doc.Session.Messages) != 1 || doc.Session.Messages[0].Text() != "Ahoy." {
		t.Errorf("%+v, %v", doc, err)
	}
	if list, err := s.List(t.Context()); err != nil || len(list) != 1 || list[0].Messages != 1 {
		t.Errorf("%+v, %v", list, err)
	}
}

const secondGeneration = `
INSERT INTO session (id, project_id, slug, directory, title, version, time_created, time_updated) VALUES ('ses_two', 'pr1', 's', '/isle', 'Second', '2.0.1', 1, 9);
INSERT INTO session_message VALUES ('msg_z', 'ses_two', 'user', 1, 10, 10, '{"text":"Look out.","time":{"created":10}}');
INSERT INTO session_message VALUES ('msg_y', 'ses_two', 'assistant', 2, 11, 11, '{"agent":"build","model":{"id":"m1","providerID":"local"},"content":[{"type":"text","text":"A sail."},{"type":"tool","id":"c1","name":"read","state":{"status":"completed","input":{"path":"log"},"content":[{"type":"text","text":"calm"}]},"time":{"created":11,"completed":12}}],"finish":"stop","tokens":{"input":5,"output":1,"reasoning":0,"cache":{"read":0,"write":0}},"time":{"created":11,"completed":12}}');
INSERT INTO session_message VALUES ('msg_x', 'ses_two', 'compaction', 3, 13, 13, '{"status":"completed","reason":"manual","summary":"A sail was seen.","recent":"[User]: Look out.","time":{"created":13}}');
INSERT INTO session_message VALUES ('msg_w', 'ses_two', 'idle', 4, 14, 14, '{"outcome":"done"}');
`

func TestRead_rowsOfTheSecondGeneration(t *testing.T) {
	for name, statements := range map[string][]string{
		"beside the first tables": {schema, schemaTwo, lighthouse, secondGeneration},
		"with a table of its own": {schema, schemaTwo, lighthouse, secondGeneration,
			`CREATE TABLE session_v2 AS SELECT * FROM session WHERE id = 'ses_two'`, `DELETE FROM session WHERE id = 'ses_two'`},
		// Carried over, the rows of the first generation stay: the second counts.
		"carried over": {schema, schemaTwo, lighthouse, secondGeneration, `CREATE TABLE session_v2 AS SELECT * FROM session WHERE id = 'ses_two'`,
			`INSERT INTO message VALUES ('msg_first', 'ses_two', 1, 1, '{"role":"user","time":{"created":1}}')`},
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t, laid(t, statements...))
			doc, err := s.Read(t.Context(), "ses_two")
			if err != nil {
				t.Fatal(err)
			}
			got := outline(doc.Session.Messages)
			if !strings.HasPrefix(got, "user msg_z: text\nassistant msg_y: text tool\nuser msg_x: compaction\nassistant ") || len(doc.Session.Messages) != 4 || len(doc.Damaged) > 0 {
				t.Errorf("damaged %v, log:\n%s", doc.Damaged, got)
			}
			list, err := s.List(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for _, l := range list {
				if l.ID == "ses_two" && (l.Generation != 2 || l.Messages != 4) {
					t.Errorf("listed as %+v", l)
				}
			}
			if doc, err := s.Read(t.Context(), "ses_light"); err != nil || len(doc.Session.Messages) != 4 {
				t.Errorf("the session of the first generation: %v", err)
			}
		})
	}
}

func TestRead_damagedRowsAreListedAndTheRestIsRead(t *testing.T) {
	s := open(t, laid(t, schema, lighthouse,
		`UPDATE message SET data = '{"role":"assistant","modelID":"m1","time":{"crea' WHERE id = 'msg_b'`,
		`UPDATE message SET data = '' WHERE id = 'msg_d'`,
		`UPDATE part SET data = '{"type":"text","text":"Is the lamp' WHERE id = 'prt_1'`,
		`UPDATE part SET data = '[]' WHERE id = 'prt_3'`,
		`INSERT INTO part VALUES ('prt_9', 'msg_gone', 'ses_light', 1, 1, '{"type":"text","text":"lost"}')`,
		`UPDATE session SET model = '{', metadata = '{"a":1}' WHERE id = 'ses_light'`))
	doc, err := s.Read(t.Context(), "ses_light")
	if err != nil {
		t.Fatal(err)
	}
	if got, want := outline(doc.Session.Messages), "user msg_a: text\nassistant msg_b: tool\nuser msg_c: compaction\nuser msg_d: text\n"; got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	reasons := ""
	for _, d := range doc.Damaged {
		reasons += d.Reason + "\n"
	}
	for _, want := range []string{"message msg_b: it is not JSON", "message msg_d: it is empty", "part prt_1: it is not JSON", "part prt_3: it is not a JSON object",
		"1 rows of the table part belong to messages that are not there", "the column model is not JSON"} {
		if !strings.Contains(reasons, want) {
			t.Errorf("%q is not listed:\n%s", want, reasons)
		}
	}
	if doc.Session.Messages[1].Time.Created != 2000 || doc.Session.Messages[1].ModelID != "m1" {
		t.Errorf("what the cut message still says is lost: %+v", doc.Session.Messages[1].MessageInfo)
	}
}

func TestErrors_sayWhatIsWrong(t *testing.T) {
	folder := t.TempDir()
	text := filepath.Join(folder, "opencode.db")
	if err := os.WriteFile(text, []byte(strings.Repeat("a diary, no database. ", 100)), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := open(t, text).List(t.Context()); !errors.Is(err, ErrNoSessions) || !strings.Contains(err.Error(), text) {
		t.Errorf("a text file: %v", err)
	}
	if _, err := open(t, laid(t, `CREATE TABLE message (body text)`)).List(t.Context()); !errors.Is(err, ErrNoSessions) {
		t.Errorf("another program's database: %v", err)
	}
	if _, err := Open(folder); !errors.Is(err, ErrNoSessions) {
		t.Errorf("another folder: %v", err)
	}
	if _, err := Open(filepath.Join(folder, "none.db")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
	s := open(t, laid(t, schema, lighthouse))
	if _, err := s.Read(t.Context(), "ses_none"); !errors.Is(err, ErrNotFound) || !strings.Contains(err.Error(), "ses_none") {
		t.Errorf("no such session: %v", err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.List(ended); !errors.Is(err, context.Canceled) {
		t.Errorf("an ended context: %v", err)
	}
	whole, err := os.ReadFile(s.path)
	if err != nil {
		t.Fatal(err)
	}
	for i := 4096; i < len(whole); i++ {
		whole[i] = 0xff
	}
	broken := filepath.Join(folder, "broken.db")
	if err := os.WriteFile(broken, whole, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := open(t, broken).List(t.Context()); err == nil || !strings.Contains(err.Error(), "damaged") {
		t.Errorf("a broken database: %v", err)
	}
}
