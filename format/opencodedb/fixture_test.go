package opencodedb

import (
	"database/sql"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"testing"

	_ "modernc.org/sqlite"
)

// The product's tables, as far as sessions go. The table event is one that cannot be read at all: a
// query that touches it fails.
const schema = `
CREATE TABLE project (id text PRIMARY KEY, worktree text NOT NULL, time_created integer NOT NULL, time_updated integer NOT NULL, sandboxes text NOT NULL);
CREATE TABLE session (id text PRIMARY KEY, project_id text NOT NULL, workspace_id text, parent_id text, slug text NOT NULL, directory text NOT NULL, path text,
	title text NOT NULL, version text NOT NULL, share_url text, summary_additions integer, summary_deletions integer, summary_files integer, summary_diffs text,
	metadata text, cost real DEFAULT 0 NOT NULL, tokens_input integer DEFAULT 0 NOT NULL, tokens_output integer DEFAULT 0 NOT NULL,
	tokens_reasoning integer DEFAULT 0 NOT NULL, tokens_cache_read integer DEFAULT 0 NOT NULL, tokens_cache_write integer DEFAULT 0 NOT NULL,
	revert text, permission text, agent text, model text, time_created integer NOT NULL, time_updated integer NOT NULL, time_compacting integer, time_archived integer);
CREATE TABLE message (id text PRIMARY KEY, session_id text NOT NULL, time_created integer NOT NULL, time_updated integer NOT NULL, data text NOT NULL);
CREATE TABLE part (id text PRIMARY KEY, message_id text NOT NULL, session_id text NOT NULL, time_created integer NOT NULL, time_updated integer NOT NULL, data text NOT NULL);
CREATE TABLE todo (session_id text NOT NULL, content text NOT NULL, status text NOT NULL, priority text NOT NULL, position integer NOT NULL, time_created integer NOT NULL, time_updated integer NOT NULL);
CREATE INDEX message_session_time_created_id_idx ON message (session_id, time_created, id);
CREATE INDEX part_message_id_id_idx ON part (message_id, id);
CREATE INDEX part_session_idx ON part (session_id);
CREATE VIEW event AS SELECT json('this table must not be read') AS data;
`

const schemaTwo = `
CREATE TABLE session_message (id text PRIMARY KEY, session_id text NOT NULL, type text NOT NULL, seq integer NOT NULL, time_created integer NOT NULL, time_updated integer NOT NULL, data text NOT NULL);
CREATE UNIQUE INDEX session_message_session_seq_idx ON session_message (session_id, seq);
`

// One session with a call, a mark, an unknown part and a compaction. The ids of parts are not in
// the order in which they were put in.
const lighthouse = `
INSERT INTO project VALUES ('pr1', '/isle', 1, 1, '[]');
INSERT INTO session (id, project_id, slug, directory, path, title, version, share_url, summary_additions, summary_deletions, summary_files, cost, tokens_input, tokens_output,
	tokens_cache_read, permission, agent, model, metadata, time_created, time_updated)
	VALUES ('ses_light', 'pr1', 'calm-lamp', '/isle/tower', '', 'The lamp', '1.18.33', 'https://share.example/x', 1, 2, 1, 0.25, 100, 20, 30,
	'[{"permission":"question","pattern":"*","action":"deny"}]', 'build', '{"id":"m1","providerID":"local"}', NULL, 1000, 9000);
INSERT INTO message VALUES ('msg_b', 'ses_light', 2000, 2000, '{"parentID":"msg_a","role":"assistant","mode":"build","agent":"build","path":{"cwd":"/isle","root":"/isle"},"cost":0.25,"tokens":{"input":100,"output":20,"reasoning":0,"cache":{"read":30,"write":0}},"modelID":"m1","providerID":"local","time":{"created":2000,"completed":3000},"finish":"tool-calls"}');
INSERT INTO message VALUES ('msg_a', 'ses_light', 1500, 1500, '{"role":"user","time":{"created":1500},"agent":"build","model":{"providerID":"local","modelID":"m1"}}');
INSERT INTO message VALUES ('msg_c', 'ses_light', 4000, 4000, '{"role":"user","time":{"created":4000},"agent":"build","model":{"providerID":"local","modelID":"m1"}}');
INSERT INTO message VALUES ('msg_d', 'ses_light', 4001, 4001, '{"parentID":"msg_c","role":"assistant","mode":"compaction","agent":"compaction","path":{"cwd":"/isle","root":"/isle"},"summary":true,"cost":0,"tokens":{"input":1,"output":1,"reasoning":0,"cache":{"read":0,"write":0}},"modelID":"m1","providerID":"local","time":{"created":4001,"completed":4002},"finish":"stop"}');
INSERT INTO part VALUES ('prt_3', 'msg_b', 'ses_light', 2, 2, '{"type":"future-kind","colour":"green"}');
INSERT INTO part VALUES ('prt_2', 'msg_b', 'ses_light', 2, 2, '{"type":"tool","callID":"c1","tool":"read","state":{"status":"completed","input":{"filePath":"lamp.txt"},"output":"It burns <é> \u2028.","title":"lamp.txt","metadata":{},"time":{"start":2100,"end":2200,"compacted":3500}}}');
INSERT INTO part VALUES ('prt_1', 'msg_a', 'ses_light', 1, 1, '{"type":"text","text":"Is the lamp lit?"}');
INSERT INTO part VALUES ('prt_4', 'msg_c', 'ses_light', 1, 1, '{"type":"compaction","auto":false,"tail_start_id":"msg_b"}');
INSERT INTO part VALUES ('prt_5', 'msg_d', 'ses_light', 1, 1, '{"type":"text","text":"## Goal\n\nKeep it lit."}');
INSERT INTO session (id, project_id, parent_id, slug, directory, title, version, time_created, time_updated) VALUES ('ses_keeper', 'pr1', 'ses_light', 'wise-keeper', '/isle', 'The keeper', '1.18.33', 3000, 9500);
`

// lighthouseExport is what the product prints for it.
const lighthouseExport = `{
  "info": {
    "id": "ses_light",
    "slug": "calm-lamp",
    "projectID": "pr1",
    "directory": "/isle/tower",
    "path": "",
    "title": "The lamp",
    "agent": "build",
    "model": {
      "id": "m1",
      "providerID": "local"
    },
    "version": "1.18.33",
    "summary": {
      "additions": 1,
      "deletions": 2,
      "files": 1
    },
    "cost": 0.25,
    "tokens": {
      "input": 100,
      "output": 20,
      "reasoning": 0,
      "cache": {
        "read": 30,
        "write": 0
      }
    },
    "share": {
      "url": "https://share.example/x"
    },
    "permission": [
      {
        "permission": "question",
        "pattern": "*",
        "action": "deny"
      }
    ],
    "time": {
      "created": 1000,
      "updated": 9000
    }
  },
  "messages": [
    {
      "info": {
        "role": "user",
        "time": {
          "created": 1500
        },
        "agent": "build",
        "model": {
          "providerID": "local",
          "modelID": "m1"
        },
        "id": "msg_a",
        "sessionID": "ses_light"
      },
      "parts": [
        {
          "type": "text",
          "text": "Is the lamp lit?",
          "id": "prt_1",
          "sessionID": "ses_light",
          "messageID": "msg_a"
        }
      ]
    },
`

// laid makes a database in the state in which the product leaves one: a write-ahead log is asked
// for, and nothing is in it.
func laid(t testing.TB, statements ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "opencode.db")
	db := writer(t, path)
	run(t, db, append([]string{"PRAGMA journal_mode=WAL"}, statements...)...)
	if err := db.Close(); err != nil { // the last connection: the log is folded into the file and removed
		t.Fatal(err)
	}
	return path
}

func writer(t testing.TB, path string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", (&url.URL{Scheme: "file", OmitHost: true, Path: filepath.ToSlash(path)}).String())
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	t.Cleanup(func() { db.Close() })
	return db
}

func run(t testing.TB, db *sql.DB, statements ...string) {
	t.Helper()
	for _, s := range statements {
		if _, err := db.Exec(s); err != nil {
			t.Fatalf("%.60s: %v", s, err)
		}
	}
}

func open(t testing.TB, path string) *Store {
	t.Helper()
	s, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// look is what can be seen of the files of a folder: names, sizes, contents.
func look(t testing.TB, folder string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]string{}
	for _, d := range entries {
		text, err := os.ReadFile(filepath.Join(folder, d.Name()))
		if err != nil {
			t.Fatal(err)
		}
		seen[d.Name()] = fmt.Sprintf("%d %x", len(text), text)
	}
	return seen
}
