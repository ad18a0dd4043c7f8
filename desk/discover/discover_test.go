package discover

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	_ "modernc.org/sqlite"

	"github.com/winnowhq/winnow/internal/outside"
)

// sample is a session of the command's tests.
func sample(t testing.TB, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(outside.Root(t), "cmd", "internal", "command", "testdata", "sessions", name))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// home is a home folder, written file by file.
type home struct {
	t    testing.TB
	path string
}

func newHome(t testing.TB) home { return home{t, t.TempDir()} }

// put writes a file that was changed some hours ago.
func (h home) put(name string, text []byte, hours int) string {
	h.t.Helper()
	path := filepath.Join(h.path, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		h.t.Fatal(err)
	}
	if err := os.WriteFile(path, text, 0o644); err != nil {
		h.t.Fatal(err)
	}
	at := time.Now().Add(-time.Duration(hours) * time.Hour)
	if err := os.Chtimes(path, at, at); err != nil {
		h.t.Fatal(err)
	}
	return path
}

// openCode makes a database of OpenCode with two sessions: one whose tokens the product has summed up, one of an older version.
func (h home) openCode(name string) string {
	h.t.Helper()
	path := h.put(name, nil, 0)
	db, err := sql.Open("sqlite", path)
	if err != nil {
		h.t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec(`
		CREATE TABLE session (id text PRIMARY KEY, parent_id text, directory text, title text, version text, cost real, tokens_input integer, tokens_output integer, time_created integer, time_updated integer);
		CREATE TABLE message (id text PRIMARY KEY, session_id text, time_created integer, data text);
		CREATE TABLE part (id text PRIMARY KEY, message_id text, session_id text, data text);
		INSERT INTO session VALUES ('ses_summed', NULL, '/pier', 'Nets', '1.18.33', 0.5, 700, 70, 1, 1000), ('ses_plain', 'ses_summed', '/pier', 'Ropes', '1.1.30', 0, 0, 0, 1, 2000);
		INSERT INTO message VALUES ('msg_1', 'ses_plain', 1, '{"role":"user","time":{"created":1}}');
		INSERT INTO part VALUES ('prt_1', 'msg_1', 'ses_plain', '{"type":"text","text":"Which of the ropes is the longest one?"}');`); err != nil {
		h.t.Fatal(err)
	}
	return path
}

func (h home) search() *Search { return &Search{Env: Env{Home: h.path}} }

// everything is a home with sessions of several products.
func everything(t testing.TB) home {
	h := newHome(t)
	claude := sample(t, "claude.jsonl")
	h.put(".claude/projects/-coast/0f1e2d3c-4b5a-4678-9abc-def012345678.jsonl", claude, 1)
	h.put(".claude/projects/-coast/0f1e2d3c-4b5a-4678-9abc-def012345678/subagents/agent-a1.jsonl", claude, 2)
	h.put(".claude/projects/-coast/agent-b2.jsonl", claude, 3)
	h.put(".claude/projects/-coast/empty.jsonl", nil, 1)
	h.put(".claude/projects/-coast/notes.jsonl", []byte("{\"note\":\"none of ours\"}\n"), 1)
	h.put(".codex/sessions/2026/03/01/rollout-2026-03-01T10-00-00-1.jsonl", sample(t, "codex.jsonl"), 4)
	h.put(".pi/agent/sessions/--coast--/1.jsonl", sample(t, "pi.jsonl"), 5)
	h.openCode(".local/share/opencode/opencode.db")
	return h
}

func short(h home, found []Found) string {
	text := ""
	for _, f := range found {
		source := strings.TrimPrefix(filepath.ToSlash(f.Source), filepath.ToSlash(h.path)+"/")
		text += fmt.Sprintf("%s %s id=%s parent=%s project=%s\n", f.Product, source, f.ID, f.Parent, f.Project)
	}
	return text
}

func TestFind_listsWhatEachProductKeeps(t *testing.T) {
	h := everything(t)
	found, problems, err := h.search().Find(t.Context())
	if err != nil || len(problems) > 0 {
		t.Fatalf("%v, problems %v", err, problems)
	}
	const id = "0f1e2d3c-4b5a-4678-9abc-def012345678"
	want := `claude-code .claude/projects/-coast/` + id + `.jsonl id=` + id + ` parent= project=/coast
claude-code .claude/projects/-coast/` + id + `/subagents/agent-a1.jsonl id=agent-a1 parent=` + id + ` project=/coast
claude-code .claude/projects/-coast/agent-b2.jsonl id=agent-b2 parent=` + id + ` project=/coast
codex .codex/sessions/2026/03/01/rollout-2026-03-01T10-00-00-1.jsonl id=`
	got := short(h, found)
	if !strings.HasPrefix(got, want) {
		t.Errorf("got\n%swant it to begin with\n%s", got, want)
	}
	for _, line := range []string{"pi .pi/agent/sessions/--coast--/1.jsonl id=", "opencode .local/share/opencode/opencode.db#ses_plain id=ses_plain parent=ses_summed project=/pier\n", "opencode.db#ses_summed id=ses_summed parent= "} {
		if !strings.Contains(got, line) {
			t.Errorf("%q is not found:\n%s", line, got)
		}
	}
	if len(found) != 7 {
		t.Errorf("found %d sessions, want 7:\n%s", len(found), got)
	}
	if f := found[0]; f.Title == "" || f.Bytes == 0 || f.Measured || time.Since(f.Updated) < 30*time.Minute {
		t.Errorf("what the head tells: %+v", f)
	}
}

func TestFind_variablesNameOtherFolders(t *testing.T) {
	h, other := newHome(t), newHome(t)
	h.put(".claude/projects/p/1.jsonl", sample(t, "claude.jsonl"), 1)
	other.put("c/projects/p/1.jsonl", sample(t, "claude.jsonl"), 1)
	other.put("x/sessions/1.jsonl", sample(t, "codex.jsonl"), 2)
	other.put("pi/sessions/1.jsonl", sample(t, "pi.jsonl"), 3)
	other.put("copilot/session-state/1/events.jsonl", copilotSession(t), 3)
	other.openCode("data/opencode/opencode-next.db")
	elsewhere := other.openCode("elsewhere.sqlite")
	h.put(".qwen/projects/-coast/chats/1.jsonl", qwenChat, 4)
	other.put("q/projects/-coast/chats/1.jsonl", qwenChat, 4)
	variables := map[string]string{
		"QWEN_HOME": filepath.Join(other.path, "nowhere"), "QWEN_RUNTIME_DIR": filepath.Join(other.path, "q"),
		"CLAUDE_CONFIG_DIR": filepath.Join(other.path, "c"), "CODEX_HOME": filepath.Join(other.path, "x"), "PI_CODING_AGENT_DIR": filepath.Join(other.path, "pi"),
		"XDG_DATA_HOME": filepath.Join(other.path, "data"), "OPENCODE_DB": elsewhere, "COPILOT_HOME": filepath.Join(other.path, "copilot"),
	}
	s := h.search()
	s.Env.Getenv = func(name string) string { return variables[name] }
	found, problems, err := s.Find(t.Context())
	if err != nil || len(problems) > 0 {
		t.Fatalf("%v, problems %v", err, problems)
	}
	products := map[string]int{}
	for _, f := range found {
		if !strings.HasPrefix(f.Source, other.path) {
			t.Errorf("found %s, although variables name other folders", f.Source)
		}
		products[f.Product]++
	}
	if diff := cmp.Diff(map[string]int{"claude-code": 1, "codex": 1, "pi": 1, "opencode": 4, "qwen-code": 1, "copilot": 1}, products); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if found, problems, err := (&Search{}).Find(t.Context()); len(found)+len(problems) > 0 || err != nil {
		t.Errorf("without a home: %v %v %v", found, problems, err)
	}
}

func copilotSession(t testing.TB) []byte {
	t.Helper()
	text, err := os.ReadFile("../../format/copilot/testdata/session.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestFind_kiloKeepsWhatOpenCodeDoes(t *testing.T) {
	h := newHome(t)
	path := h.openCode(".local/share/kilo/kilo.db")
	s := h.search()
	for _, product := range []string{"", "kilo"} {
		s.Product = product
		found, problems, err := s.Find(t.Context())
		if err != nil || len(problems) > 0 || len(found) != 2 {
			t.Fatalf("%+v, %v, problems %v", found, err, problems)
		}
		for _, f := range found {
			if f.Product != "kilo" || f.Source != path+"#"+f.ID || f.Project != "/pier" {
				t.Errorf("got %+v", f)
			}
		}
		if problems, err := s.Measure(t.Context(), found); err != nil || len(problems) > 0 || found[0].Tokens == 0 {
			t.Errorf("%+v, %v, problems %v", found, err, problems)
		}
	}
	s.Product = "opencode"
	if found, _, _ := s.Find(t.Context()); len(found) > 0 {
		t.Errorf("of OpenCode: %+v", found)
	}
}

func TestFind_ofCopilotTheEventsAreTheSession(t *testing.T) {
	h := newHome(t)
	const id = "6d0f0000-0000-4000-8000-000000000001"
	h.put(".copilot/session-state/"+id+"/events.jsonl", copilotSession(t), 1)
	h.put(".copilot/session-state/"+id+"/files/events.jsonl", copilotSession(t), 2)
	h.put(".copilot/session-state/"+id+"/notes.jsonl", copilotSession(t), 2)
	h.put(".copilot/session-state/"+id+"/workspace.yaml", []byte("id: x\n"), 2)
	s := h.search()
	found, problems, err := s.Find(t.Context())
	if err != nil || len(problems) > 0 {
		t.Fatalf("%v, problems %v", err, problems)
	}
	if want := "copilot .copilot/session-state/" + id + "/events.jsonl id=" + id + " parent= project=/srv/orchard\n"; short(h, found) != want {
		t.Fatalf("got\n%swant\n%s", short(h, found), want)
	}
	if problems, err := s.Measure(t.Context(), found); err != nil || len(problems) > 0 {
		t.Fatalf("%v, problems %v", err, problems)
	}
	// What the five requests of the file took, the aborted one's and the sub-agent's among them.
	f := found[0]
	if want := 1360 + 510 + 1510 + 1630 + 709; f.Tokens != want || f.Damaged != 1 || f.Messages != 7 || f.Title != "Why do the pears drop early?" || f.Agents == 0 {
		t.Errorf("got %+v, want %d tokens", f, want)
	}
}

// orchard copies a conversation of OpenHands, with one of a sub-agent in it.
func (h home) orchard(name string) (folder string) {
	h.t.Helper()
	folder = filepath.Join(h.path, filepath.FromSlash(name), "5d2e0000000040008000000000000007")
	if err := os.CopyFS(folder, os.DirFS("../../format/openhands/testdata/conversations/5d2e0000000040008000000000000007")); err != nil {
		h.t.Fatal(err)
	}
	return folder
}

func TestFind_aConversationOfOpenHandsIsOneSession(t *testing.T) {
	h := newHome(t)
	folder := h.orchard(".openhands/conversations")
	h.put(".openhands/conversations/begun/base_state.json", []byte(`{"id":"begun","execution_status":"idle","agent":{"llm":{"model":"m"}},"workspace":{}}`), 1)
	h.put(".openhands/conversations/begun/events/.eventlog.lock", nil, 1)
	h.put(".openhands/agent_settings.json", []byte(`{"kind":"Agent","llm":{"model":"anthropic/claude-x"}}`), 1)
	s := h.search()
	s.Cache = LoadCache(filepath.Join(h.path, "cache.json"))
	find := func() []Found {
		t.Helper()
		found, problems, err := s.Find(t.Context())
		if err != nil || len(problems) > 0 {
			t.Fatalf("%v, problems %v", err, problems)
		}
		slices.SortFunc(found, func(a, b Found) int { return strings.Compare(a.Source, b.Source) })
		if problems, err := s.Measure(t.Context(), found); err != nil || len(problems) > 0 {
			t.Fatalf("%v, problems %v", err, problems)
		}
		return found
	}
	found := find()
	want := `openhands .openhands/conversations/5d2e0000000040008000000000000007 id=5d2e0000-0000-4000-8000-000000000007 parent= project=/srv/orchard
openhands .openhands/conversations/5d2e0000000040008000000000000007/subagents/6e3f0000000040008000000000000008 id=6e3f0000-0000-4000-8000-000000000008 parent=5d2e0000-0000-4000-8000-000000000007 project=/srv/orchard
`
	if diff := cmp.Diff(want, short(h, found)); diff != "" {
		t.Fatalf("(-want +got):\n%s", diff)
	}
	if f := found[0]; f.Title != "Which trees want pruning?" || f.Messages != 6 || f.Tokens != 400+40+480+20+540+15+570+18 || f.TokensEstimated || f.Damaged != 0 {
		t.Errorf("%+v", f)
	}
	// What was measured is remembered until an event comes.
	if err := s.Cache.Save(filepath.Join(h.path, "cache.json")); err != nil {
		t.Fatal(err)
	}
	s.Cache = LoadCache(filepath.Join(h.path, "cache.json"))
	if again, _, _ := s.Find(t.Context()); len(again) != 2 || !again[0].Measured || !again[1].Measured {
		t.Errorf("the second time: %+v", again)
	}
	event := `{"id":"n","source":"user","kind":"MessageEvent","llm_message":{"role":"user","content":"Thanks."}}`
	if err := os.WriteFile(filepath.Join(folder, "events", "event-00010-0a0a0a0a.json"), []byte(event), 0o644); err != nil {
		t.Fatal(err)
	}
	if found := find(); found[0].Messages != 7 {
		t.Errorf("after one more event: %+v", found[0])
	}
}

func TestFind_openHandsIsToldToKeepThemElsewhere(t *testing.T) {
	h, other := newHome(t), newHome(t)
	h.orchard(".openhands/conversations")
	kept := filepath.Dir(other.orchard("kept/conversations"))
	apart := filepath.Dir(other.orchard("apart"))
	for _, c := range []struct {
		variables map[string]string
		want      int
	}{
		{map[string]string{"OPENHANDS_PERSISTENCE_DIR": filepath.Dir(kept)}, 2},
		{map[string]string{"OPENHANDS_PERSISTENCE_DIR": filepath.Dir(kept), "OPENHANDS_CONVERSATIONS_DIR": kept}, 2},
		{map[string]string{"OPENHANDS_CONVERSATIONS_DIR": apart}, 4}, // what was kept at home before is there still
	} {
		s := h.search()
		s.Env.Getenv = func(name string) string { return c.variables[name] }
		if found, problems, err := s.Find(t.Context()); err != nil || len(problems) > 0 || len(found) != c.want {
			t.Errorf("%v: %d sessions, want %d; %v %v", c.variables, len(found), c.want, problems, err)
		}
	}
}

// qwenChat is a session of Qwen Code.
var qwenChat = []byte(`{"uuid":"u","parentUuid":null,"sessionId":"5c1e","timestamp":"2026-03-01T10:00:00.000Z","type":"user","cwd":"/coast","message":{"role":"user","parts":[{"text":"Count the gulls."}]}}
{"uuid":"a","parentUuid":"u","sessionId":"5c1e","timestamp":"2026-03-01T10:00:01.000Z","type":"assistant","cwd":"/coast","model":"qwen3-coder-plus","message":{"role":"model","parts":[{"text":"Nine."}]},"usageMetadata":{"promptTokenCount":100,"candidatesTokenCount":5,"totalTokenCount":105}}
`)

func TestFind_qwenCode(t *testing.T) {
	h := newHome(t)
	h.put(".qwen/projects/-coast/chats/5c1e.jsonl", qwenChat, 1)
	h.put(".qwen/projects/-coast/chats/archive/5c1e.jsonl", qwenChat, 2)
	h.put(".qwen/projects/-coast/memory/notes.jsonl", qwenChat, 3)
	s := h.search()
	found, problems, err := s.Find(t.Context())
	if err != nil || len(problems) > 0 {
		t.Fatalf("%v, problems %v", err, problems)
	}
	want := "qwen-code .qwen/projects/-coast/chats/5c1e.jsonl id=5c1e parent= project=/coast\n" +
		"qwen-code .qwen/projects/-coast/chats/archive/5c1e.jsonl id=5c1e parent= project=/coast\n"
	if diff := cmp.Diff(want, short(h, found)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if problems, err := s.Measure(t.Context(), found); err != nil || len(problems) > 0 {
		t.Fatalf("%v, problems %v", err, problems)
	}
	if f := found[0]; f.Title != "Count the gulls." || f.Messages != 2 || f.Tokens != 105 || f.TokensEstimated {
		t.Errorf("%+v", f)
	}
}

func TestMeasure_tokensAndCostAsReportedElseEstimated(t *testing.T) {
	h := everything(t)
	s := h.search()
	found, _, err := s.Find(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if problems, err := s.Measure(t.Context(), found); err != nil || len(problems) > 0 {
		t.Fatalf("%v, problems %v", err, problems)
	}
	by := map[string]Found{}
	for _, f := range found {
		if !f.Measured {
			t.Errorf("%s is not measured", f.Source)
		}
		by[f.Product+" "+f.Title] = f
	}
	if f := by["opencode Nets"]; f.Tokens != 770 || f.Cost == nil || *f.Cost != 0.5 || f.TokensEstimated {
		t.Errorf("a session whose product has summed it up: %+v", f)
	}
	if f := by["opencode Ropes"]; f.Tokens < 5 || f.Tokens > 15 || !f.TokensEstimated || f.Cost == nil || *f.Cost != 0 || f.Messages != 1 {
		t.Errorf("a session that reports nothing: %+v", f)
	}
	f := found[0] // of Claude Code: usage is reported, cost is not
	if f.Tokens == 0 || f.TokensEstimated || f.Cost == nil || *f.Cost == 0 || f.Messages == 0 {
		t.Errorf("a session that reports usage: %+v", f)
	}
}

func TestFind_oneThatCannotBeReadHidesNoOther(t *testing.T) {
	h := everything(t)
	h.put(".local/share/opencode/opencode-dev.db", []byte(strings.Repeat("no database ", 100)), 1)
	h.put(".claude/projects/-coast/cut.jsonl", sample(t, "claude.jsonl")[:3000], 1)
	gone := h.put(".claude/projects/-coast/gone.jsonl", sample(t, "claude.jsonl"), 1)
	s := h.search()
	found, problems, err := s.Find(t.Context())
	if err != nil || len(found) != 9 {
		t.Fatalf("%v: found %d, want 9", err, len(found))
	}
	if len(problems) != 1 || !strings.Contains(problems[0].Error(), "opencode-dev.db") || !strings.Contains(problems[0].Error(), "not an OpenCode store") {
		t.Errorf("problems: %v", problems)
	}
	if err := os.Remove(gone); err != nil {
		t.Fatal(err)
	}
	more, err := s.Measure(t.Context(), found)
	if err != nil || len(more) != 1 || !errors.Is(more[0], os.ErrNotExist) {
		t.Errorf("%v: %v", err, more)
	}
	measured, damaged := 0, 0
	for _, f := range found {
		if f.Measured {
			measured++
		}
		damaged += f.Damaged
	}
	if measured != 8 || damaged == 0 {
		t.Errorf("%d of 9 are measured, %d damaged pieces", measured, damaged)
	}
}

func TestCache_aFileThatDidNotChangeIsNotReadAgain(t *testing.T) {
	h := everything(t)
	file := filepath.Join(t.TempDir(), "cache", "sessions.json")
	reads := func() int {
		var n atomic.Int64
		s := h.search()
		s.Cache = LoadCache(file)
		s.Progress = func(int, int) { n.Add(1) }
		found, _, err := s.Find(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Measure(t.Context(), found); err != nil {
			t.Fatal(err)
		}
		for _, f := range found {
			if !f.Measured || f.Bytes > 100 && f.Tokens == 0 {
				t.Errorf("%+v", f)
			}
		}
		if err := s.Cache.Save(file); err != nil {
			t.Fatal(err)
		}
		return int(n.Load())
	}
	if n := reads(); n != 6 { // one of OpenCode's has no messages
		t.Errorf("the first time %d sessions are read, want 6", n)
	}
	if n := reads(); n != 0 {
		t.Errorf("the second time %d sessions are read, want none", n)
	}
	path := filepath.Join(h.path, ".pi", "agent", "sessions", "--coast--", "1.jsonl")
	h.put(".pi/agent/sessions/--coast--/1.jsonl", append(sample(t, "pi.jsonl"), '\n'), 0)
	if n := reads(); n != 1 {
		t.Errorf("after %s was changed %d sessions are read, want it alone", path, n)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the cache: %v %v", info.Mode(), err)
	}
	if err := os.WriteFile(file, []byte(`{"version":1,"sessions":{"`), 0o600); err != nil {
		t.Fatal(err)
	}
	if n := reads(); n != 6 {
		t.Errorf("with a damaged cache %d sessions are read, want 6", n)
	}
}

func TestFind_readsTheHeadOfAFileAlone(t *testing.T) {
	h := newHome(t)
	// After the head comes what a reader of the whole would have to list.
	text := append(sample(t, "claude.jsonl"), bytes.Repeat([]byte("{\"broken\n"), 1<<20)...)
	h.put(".claude/projects/p/1.jsonl", text, 1)
	s := h.search()
	found, problems, err := s.Find(t.Context())
	if err != nil || len(problems) > 0 || len(found) != 1 || found[0].ID == "" || found[0].Bytes != int64(len(text)) {
		t.Errorf("%+v %v %v", found, problems, err)
	}
}

func TestSearch_endsWithItsContext(t *testing.T) {
	h := everything(t)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := h.search().Find(ended); !errors.Is(err, context.Canceled) {
		t.Errorf("Find: %v", err)
	}
	found, _, err := h.search().Find(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.search().Measure(ended, found); !errors.Is(err, context.Canceled) {
		t.Errorf("Measure: %v", err)
	}
}

// BenchmarkFind is what a person waits for who asks for names alone: 2,000 files, of which each has 1 MB.
func BenchmarkFind(b *testing.B) {
	h := newHome(b)
	text := sample(b, "claude.jsonl")
	for len(text) < 1<<20 {
		text = append(text, sample(b, "claude.jsonl")...)
	}
	const files = 2000
	for i := range files {
		name := fmt.Sprintf(".claude/projects/p%d/%d.jsonl", i%40, i)
		path := h.put(name, text[:headBytes+100], 1)
		if err := os.Truncate(path, 1<<20); err != nil { // the rest is a hole: it takes no room, and nobody reads it
			b.Fatal(err)
		}
	}
	b.ResetTimer()
	for b.Loop() {
		found, _, err := h.search().Find(b.Context())
		if err != nil || len(found) != files {
			b.Fatal(len(found), err)
		}
	}
	b.ReportMetric(float64(files*b.N)/b.Elapsed().Seconds(), "files/s")
}

func TestFind_followsALinkToAFolder(t *testing.T) {
	h, elsewhere := newHome(t), newHome(t)
	elsewhere.put("kept/p/1.jsonl", sample(t, "claude.jsonl"), 1)
	if err := os.Mkdir(filepath.Join(h.path, ".claude"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(elsewhere.path, "kept"), filepath.Join(h.path, ".claude", "projects")); err != nil {
		t.Skip(err)
	}
	found, problems, err := h.search().Find(t.Context())
	if err != nil || len(problems) > 0 || len(found) != 1 || found[0].Source != filepath.Join(h.path, ".claude", "projects", "p", "1.jsonl") {
		t.Errorf("%+v %v %v", found, problems, err)
	}
}
