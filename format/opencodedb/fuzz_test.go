package opencodedb

import (
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/format/opencode"
	"github.com/winnowhq/winnow/session"
)

// FuzzRead puts any bytes where a message, a part, a row of the second generation and a column of
// the session have JSON: nothing panics, every row that is not a JSON object is listed, the others
// are read, and what comes out is an export.
func FuzzRead(f *testing.F) {
	for _, seed := range []string{
		`{"role":"user","time":{"created":1500}}`, `{"type":"text","text":"lit"}`, `{"type":"tool","state":{"status":"completed","output":"x"}}`, ``, `{`, `[]`, `null`,
		`{"role":"assistant","id":"msg_other","id":7,"time":1}`, "{\"text\":\"\xff\xfe\"}", `{"type":"compaction","status":"completed","summary":"s"} x`, `{"a":{"b":[1,2`,
		`{"type":"assistant","content":[{"type":"tool","state":{}}]}`,
	} {
		f.Add([]byte(seed), []byte(seed), []byte(seed))
	}
	db := laid(f, schema, schemaTwo, lighthouse, secondGeneration)
	w := writer(f, db)
	run(f, w, `PRAGMA journal_mode=MEMORY`, `PRAGMA synchronous=OFF`) // nothing but speed
	f.Fuzz(func(t *testing.T, message, part, row []byte) {
		tx, err := w.Begin()
		if err != nil {
			t.Fatal(err)
		}
		for query, data := range map[string][]byte{
			`UPDATE message SET data = CAST(? AS TEXT) WHERE id = 'msg_b'`:         message,
			`UPDATE part SET data = CAST(? AS TEXT) WHERE id = 'prt_2'`:            part,
			`UPDATE session_message SET data = CAST(? AS TEXT) WHERE id = 'msg_y'`: row,
			`UPDATE session SET model = CAST(? AS TEXT)`:                           row,
		} {
			if _, err := tx.Exec(query, data); err != nil {
				t.Fatal(err)
			}
		}
		if err := tx.Commit(); err != nil {
			t.Fatal(err)
		}
		s := open(t, db)
		for id, broken := range map[string][][]byte{"ses_light": {message, part}, "ses_two": {row}} {
			text, damaged, err := s.Export(t.Context(), id)
			if err != nil {
				t.Fatal(err)
			}
			if !jsontext.Value(text).IsValid(session.ReadOptions()) {
				t.Fatalf("the export is not JSON:\n%s", text)
			}
			want := 0
			for _, data := range broken {
				if v := jsontext.Value(data); !v.IsValid(session.ReadOptions()) || v.Kind() != '{' {
					want++
				}
			}
			if len(damaged) < want {
				t.Errorf("%d rows are no JSON objects, %d are listed: %v", want, len(damaged), damaged)
			}
			doc, err := opencode.Format{}.Read(text)
			if err != nil {
				t.Fatalf("the export is not read: %v", err)
			}
			if doc.Session.Info.ID != id {
				t.Errorf("the session is called %q", doc.Session.Info.ID)
			}
			if id == "ses_light" && len(doc.Session.Messages) < 3 {
				t.Errorf("only %d messages are left of four", len(doc.Session.Messages))
			}
		}
	})
}

// FuzzMessage does the same without a database, a thousand times as fast.
func FuzzMessage(f *testing.F) {
	for _, seed := range []string{`{"role":"user","time":{"created":1500}}`, `{"type":"tool","state":{"input":{}}}`, `{"a":1}}`, "{\"\xff\":1", `{"id":1,"id":2} `, ` {`, `{"info":{},"parts":[]}`} {
		f.Add([]byte(seed), []byte(seed))
	}
	f.Fuzz(func(t *testing.T, message, part []byte) {
		e := &exporter{id: "ses_1"}
		info, _ := parse([]byte(`{"id":"ses_1"}`), "session")
		e.begin(info)
		e.message(stored{"msg_1", int64(7), message},
			[]stored{{"prt_1", nil, part}, {"prt_2", nil, []byte(`{"type":"text","text":"after it"}`)}})
		text := e.text()
		if !jsontext.Value(text).IsValid(session.ReadOptions()) {
			t.Fatalf("the export is not JSON:\n%s", text)
		}
		for what, data := range map[string][]byte{"message": message, "part": part} {
			if v := jsontext.Value(data); (!v.IsValid(session.ReadOptions()) || v.Kind() != '{') && len(e.damaged) == 0 {
				t.Errorf("the %s is not a JSON object and is not listed", what)
			}
		}
		doc, err := opencode.Format{}.Read(text)
		if err != nil {
			t.Fatalf("the export is not read: %v\n%s", err, text)
		}
		for _, m := range doc.Session.Messages {
			if n := len(m.Parts); n == 0 || m.Parts[n-1].Text != "after it" {
				t.Errorf("the part after it is lost:\n%s", text)
			}
		}
	})
}
