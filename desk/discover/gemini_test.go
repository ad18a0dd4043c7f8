package discover

import (
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// geminiChat is a chat of some turns, of lines or in one object.
func geminiChat(id string, turns int, lines bool) []byte {
	head := fmt.Sprintf(`"sessionId":%q,"projectHash":"0f","startTime":"2026-03-01T10:00:00Z","lastUpdated":"2026-03-01T10:00:00Z"`, id)
	var messages []string
	for i := range turns {
		messages = append(messages, fmt.Sprintf(`{"id":"u%d","timestamp":"2026-03-01T10:00:01Z","type":"user","content":[{"text":"Is the tide in?"}]}`, i),
			fmt.Sprintf(`{"id":"g%d","timestamp":"2026-03-01T10:00:02Z","type":"gemini","content":"Not yet.","model":"gemini-2.5-pro","tokens":{"input":100,"output":10,"cached":0,"total":110}}`, i))
	}
	if lines {
		return []byte("{" + head + "}\n" + strings.Join(messages, "\n") + "\n")
	}
	return []byte("{\n  " + head + `,"messages":[` + strings.Join(messages, ",\n") + "]\n}\n")
}

func TestFind_aChatOfGeminiThatTheProductCopiedIsListedOnce(t *testing.T) {
	h := newHome(t)
	sum := sha256.Sum256([]byte("/coast/harbour"))
	hashed := ".gemini/tmp/" + hex.EncodeToString(sum[:])
	// As it was kept first; copied into the folder with a name; gone on with as lines.
	h.put(hashed+"/chats/session-2026-03-01T10-00-aaaa0000.json", geminiChat("aaaa0000-1", 1, false), 9)
	h.put(".gemini/tmp/harbour/.project_root", []byte("/coast/harbour"), 9)
	h.put(".gemini/tmp/harbour/chats/session-2026-03-01T10-00-aaaa0000.json", geminiChat("aaaa0000-1", 1, false), 8)
	h.put(".gemini/tmp/harbour/chats/session-2026-03-01T10-00-aaaa0000.jsonl", geminiChat("aaaa0000-1", 2, true), 7)
	// A chat of the same process that was begun anew is another one, and so is that of another
	// project.
	h.put(".gemini/tmp/harbour/chats/session-2026-03-01T11-00-aaaa0000.json", geminiChat("aaaa0000-1", 3, false), 6)
	h.put(".gemini/tmp/harbour/chats/aaaa0000-1/bbbb.jsonl", geminiChat("bbbb", 1, true), 5)
	h.put(".gemini/projects.json", []byte(`{"projects":{"/coast/harbour":"harbour","/coast/pier":"pier","/coast/dune":"dune"}}`), 5)
	h.put(".gemini/tmp/pier/chats/session-2026-03-01T12-00-cccc0000.jsonl", geminiChat("cccc0000-1", 1, true), 4)
	sum = sha256.Sum256([]byte("/coast/dune"))
	h.put(".gemini/tmp/"+hex.EncodeToString(sum[:])+"/chats/session-2026-03-01T12-00-dddd0000.json", geminiChat("dddd0000-1", 1, false), 3)
	h.put(".gemini/tmp/unknown/chats/session-2026-03-01T12-00-eeee0000.jsonl", geminiChat("eeee0000-1", 1, true), 2)
	// What the product leaves behind when it goes on with another chat says nothing.
	h.put(".gemini/tmp/pier/chats/session-2026-03-01T13-00-cccc0000.jsonl", []byte(`{"sessionId":"cccc0000-1","projectHash":"h"}
{"$set":{"messages":[{"id":"c","type":"user","content":[{"text":"<session_context>\nToday.\n</session_context>"}]}]}}
`), 1)
	s := h.search()
	found, problems, err := s.Find(t.Context())
	if err != nil || len(problems) > 0 {
		t.Fatalf("%v, problems %v", err, problems)
	}
	if problems, err := s.Measure(t.Context(), found); err != nil || len(problems) > 0 {
		t.Fatalf("%v, problems %v", err, problems)
	}
	var got []string
	for _, f := range found {
		name, err := filepath.Rel(h.path, f.Source)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, fmt.Sprintf("%s id=%s parent=%s project=%s messages=%d", filepath.Base(name), f.ID, f.Parent, f.Project, f.Messages))
	}
	want := []string{
		"session-2026-03-01T12-00-eeee0000.jsonl id=eeee0000-1 parent= project= messages=2",
		"session-2026-03-01T12-00-dddd0000.json id=dddd0000-1 parent= project=/coast/dune messages=2",
		"session-2026-03-01T12-00-cccc0000.jsonl id=cccc0000-1 parent= project=/coast/pier messages=2",
		"bbbb.jsonl id=bbbb parent=aaaa0000-1 project=/coast/harbour messages=2",
		"session-2026-03-01T11-00-aaaa0000.json id=aaaa0000-1 parent= project=/coast/harbour messages=6",
		"session-2026-03-01T10-00-aaaa0000.jsonl id=aaaa0000-1 parent= project=/coast/harbour messages=4",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestFind_aDatabaseThatOpenCodeDBNamesIsListedOnce(t *testing.T) {
	h := newHome(t)
	in := h.openCode(".local/share/opencode/opencode.db")
	h.openCode(".local/share/opencode/work.db")
	for _, c := range []struct {
		variable string
		want     []string
	}{
		{"", []string{"opencode.db"}},
		{in, []string{"opencode.db"}},
		{"opencode.db", []string{"opencode.db"}},
		{"work.db", []string{"opencode.db", "work.db"}}, // below the folder of the data, not below the one that one is in
		{":memory:", []string{"opencode.db"}},
	} {
		s := h.search()
		s.Env.Getenv = func(name string) string { return map[string]string{"OPENCODE_DB": c.variable}[name] }
		found, problems, err := s.Find(t.Context())
		if err != nil || len(problems) > 0 {
			t.Fatalf("%q: %v, problems %v", c.variable, err, problems)
		}
		var got []string
		for _, f := range found {
			path, _, _ := strings.Cut(f.Source, "#")
			got = append(got, filepath.Base(path))
		}
		slices.Sort(got)
		var want []string
		for _, name := range c.want {
			want = append(want, name, name) // two sessions each
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("OPENCODE_DB=%s (-want +got):\n%s", c.variable, diff)
		}
	}
}

func TestMeasure_aSessionWithoutACostOfTheProductsIsPricedByTheList(t *testing.T) {
	h := newHome(t)
	path := h.openCode(".local/share/opencode/opencode.db")
	run(t, path, `UPDATE session SET cost = 0, tokens_input = 1000000 WHERE id = 'ses_summed'`, `INSERT INTO message VALUES ('msg_2', 'ses_summed', 1, '{"role":"assistant","time":{"created":1},"providerID":"anthropic","modelID":"claude-sonnet-4-5","cost":0,"tokens":{"input":100000,"output":0,"reasoning":0,"cache":{"read":0,"write":0}}}')`)
	s := h.search()
	found, _, err := s.Find(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if problems, err := s.Measure(t.Context(), found); err != nil || len(problems) > 0 {
		t.Fatalf("%v, problems %v", err, problems)
	}
	at := slices.IndexFunc(found, func(f Found) bool { return f.ID == "ses_summed" })
	if f := found[at]; f.Tokens != 100000 || f.Cost == nil || *f.Cost < 0.29 || *f.Cost > 0.31 {
		t.Errorf("%+v", f)
	}
}

func run(t *testing.T, path string, statements ...string) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, s := range statements {
		if _, err := db.Exec(s); err != nil {
			t.Fatal(err)
		}
	}
}
