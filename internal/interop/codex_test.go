//go:build interop

package interop

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/format/codex"
	"github.com/winnowhq/winnow/internal/llmtest"
	"github.com/winnowhq/winnow/session"
)

// newCodex is the product with a provider of ours. settings are lines of its configuration.
func newCodex(t *testing.T, u *llmtest.Server, settings string) *client {
	t.Helper()
	c := newClient(t, "codex", "OPENAI_API_KEY=test")
	home := filepath.Join(c.Home, ".codex")
	c.Env = append(c.Env, "CODEX_HOME="+home)
	config := fmt.Sprintf(`model = "gpt-5-codex"
model_provider = "local"
%s
[model_providers.local]
name = "local"
base_url = %q
env_key = "OPENAI_API_KEY"
wire_api = "responses"
[analytics]
enabled = false
`, settings, u.URL+"/v1")
	if err := os.Mkdir(home, 0o755); err != nil {
		t.Fatal(err)
	}
	putFile(t, filepath.Join(home, "config.toml"), config)
	for name, text := range map[string]string{
		"early.txt": "the walrus word\n", "middle.txt": "the heron word\n", "late.txt": "the badger word\n",
		"noise.txt": "the starling word\n",
	} {
		putFile(t, filepath.Join(c.Project, name), text)
	}
	return c
}

func putFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// codexExec plays one turn; thread is "" for a new session.
func codexExec(t *testing.T, c *client, thread, prompt string) {
	t.Helper()
	args := []string{"exec"}
	if thread != "" {
		args = append(args, "resume")
	}
	args = append(args, "--dangerously-bypass-approvals-and-sandbox", "--skip-git-repo-check")
	args = append(args, c.flags...)
	if thread != "" {
		args = append(args, thread)
	}
	c.run(t, append(args, prompt)...)
}

// codexRollout finds the only rollout of the product and reads it.
func codexRollout(t *testing.T, c *client) (path string, doc *format.Document) {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(c.Home, ".codex", "sessions", "*", "*", "*", "rollout-*.jsonl"))
	if err != nil || len(found) != 1 {
		t.Fatalf("rollouts: %v (%v), want one", found, err)
	}
	src, err := os.ReadFile(found[0])
	if err != nil {
		t.Fatal(err)
	}
	doc, err = codex.Format{}.Read(src)
	if err != nil {
		t.Fatal(err)
	}
	if len(doc.Damaged) > 0 {
		t.Errorf("damaged lines in the product's own file: %v", doc.Damaged)
	}
	return found[0], doc
}

// paired checks that every call in a request has its result and every result its call.
func codexPaired(t *testing.T, r llmtest.Request) {
	t.Helper()
	var body struct {
		Input []struct {
			Type   string `json:"type"`
			CallID string `json:"call_id"`
		} `json:"input"`
	}
	if err := json.Unmarshal(r.Body, &body); err != nil {
		t.Fatal(err)
	}
	calls, results := map[string]int{}, map[string]int{}
	for _, it := range body.Input {
		switch it.Type {
		case "function_call", "custom_tool_call":
			calls[it.CallID]++
		case "function_call_output", "custom_tool_call_output":
			results[it.CallID]++
		}
	}
	for id := range calls {
		if calls[id] != 1 || results[id] != 1 {
			t.Errorf("call %s: %d calls, %d results", id, calls[id], results[id])
		}
	}
	for id := range results {
		if calls[id] == 0 {
			t.Errorf("result %s without its call", id)
		}
	}
}

// has checks which words are in a request and which are not.
func hasWords(t *testing.T, r llmtest.Request, there, gone []string) {
	t.Helper()
	for _, word := range there {
		if !bytes.Contains(r.Body, []byte(word)) {
			t.Errorf("request %d: %q is not in it", r.Number, word)
		}
	}
	for _, word := range gone {
		if bytes.Contains(r.Body, []byte(word)) {
			t.Errorf("request %d: %q is in it", r.Number, word)
		}
	}
}

func codexFold(doc *format.Document, tail string, auto bool) (marker, summary session.Message) {
	id := doc.Session.Info.ID
	at := doc.Session.Info.Time.Updated
	marker = session.Message{
		MessageInfo: session.MessageInfo{ID: "msg_marker", SessionID: id, Role: session.User,
			Time: session.MessageTime{Created: at}},
		Parts: []session.Part{{ID: "prt_marker", SessionID: id, MessageID: "msg_marker",
			Type: session.CompactionPart, Auto: auto, TailStartID: tail}},
	}
	summary = session.Message{
		MessageInfo: session.MessageInfo{
			ID: "msg_summary", SessionID: id, Role: session.Assistant, ParentID: marker.ID,
			Time:    session.MessageTime{Created: at, Completed: at},
			Summary: jsontext.Value("true"), Finish: "stop",
		},
		Parts: []session.Part{
			{ID: "prt_summary", SessionID: id, MessageID: "msg_summary", Type: session.TextPart,
				Text: "So far: two files were read. The secret word is quagga."},
			{ID: "prt_carry", SessionID: id, MessageID: "msg_summary", Type: session.TextPart,
				Text: "Carried over: the tapir rule.", Metadata: session.Note{Carry: true}.Metadata()},
		},
	}
	return marker, summary
}

// codexAgent is Codex. It compacts by itself, when a request was large.
func codexAgent(t *testing.T) *agent {
	a := &agent{}
	a.up = provider(t, a.answer)
	a.client = newCodex(t, a.up, "model_auto_compact_token_limit = 100000")
	path, id := "", ""
	a.shell = func(command string) llmtest.Call {
		return llmtest.Call{Name: "exec_command",
			Arguments: fmt.Sprintf(`{"cmd":%q,"max_output_tokens":20000}`, command)}
	}
	a.say = func(t *testing.T, prompt string) {
		codexExec(t, a.client, id, prompt)
		var doc *format.Document
		path, doc = codexRollout(t, a.client)
		id = doc.Session.Info.ID
	}
	a.compact = func(t *testing.T) {
		a.usage = &session.Usage{Input: 150_000, Output: 20}
		a.work(t, "Go on, slowly.", "true")
	}
	a.save = func(t *testing.T) []byte { return readFile(t, path) }
	a.load = func(t *testing.T, text []byte) {
		s := readAny(t, text).Session.Info
		id, path = codex.ThreadID(s.ID), filepath.Join(a.Home, ".codex", "sessions", codex.Path(&s))
		putFile(t, path, string(text))
	}
	return a
}

func TestCodex_itsOwnCompactionIsRead(t *testing.T) {
	tries(t, "native compaction before")
	u := provider(t, func(r llmtest.Request) llmtest.Reply {
		switch r.Number {
		case 1:
			return llmtest.Reply{Calls: []llmtest.Call{{Name: "exec_command", Arguments: `{"cmd":"cat early.txt"}`}}}
		case 2: // its size makes the product fold
			return llmtest.Reply{Calls: []llmtest.Call{{Name: "exec_command", Arguments: `{"cmd":"cat late.txt"}`}},
				Usage: &session.Usage{Input: 150000, Output: 20}}
		case 3:
			return llmtest.Reply{Text: "Folded: the zebu word."}
		}
		return llmtest.Reply{Text: "That is all."}
	})
	c := newCodex(t, u, "model_auto_compact_token_limit = 100000")
	codexExec(t, c, "", "Read what you find, slowly.")
	_, doc := codexRollout(t, c)
	messages := doc.Session.Messages
	at := slices.IndexFunc(messages, func(m session.Message) bool { return m.Completes() })
	if at < 1 {
		t.Fatal("no completed summary was read")
	}
	if p := messages[at-1].Marker(); p == nil || !p.Auto || messages[at].ParentID != messages[at-1].ID {
		t.Errorf("before the summary stands %+v, want its automatic marker", messages[at-1])
	}
	if text := messages[at].Parts[0].Text; !strings.Contains(text, "the zebu word") {
		t.Errorf("summary = %q", text)
	}
	carried := 0
	for _, p := range messages[at].Parts {
		if n, ok := p.Note(); ok && n.Carry && p.Text == "Read what you find, slowly." {
			carried++
		}
	}
	if carried != 1 {
		t.Errorf("the user's request is carried %d times, want once", carried)
	}
	// What we take for the window after the pivot is what the product sent.
	requests := requestsTo(u)
	last := requests[len(requests)-1]
	for _, p := range messages[at].Parts {
		text, err := json.Marshal(p.Text)
		if err != nil {
			t.Fatal(err)
		}
		if p.Type == session.TextPart && !bytes.Contains(last.Body, text[1:len(text)-1]) {
			t.Errorf("part %s is not in the request after the compaction: %.60q", p.ID, p.Text)
		}
	}
	hasWords(t, last, nil, []string{"walrus", "badger"})
}

func TestCodex_resumesWhatIsNotItsOwn(t *testing.T) {
	tries(t, "import")
	u := provider(t, llmtest.Text("Hello there."))
	c := newCodex(t, u, "")
	s := session.Session{Info: session.Info{ID: "ses_from_elsewhere", Directory: c.Project, Title: "elsewhere",
		Time: session.Lifetime{Created: 1772359300000}}}
	text := func(id string, role session.Role, text string) session.Message {
		return session.Message{
			MessageInfo: session.MessageInfo{ID: id, Role: role, Time: session.MessageTime{Created: 1772359300000},
				Finish: map[session.Role]string{session.Assistant: "stop"}[role]},
			Parts: []session.Part{{ID: id + "p", Type: session.TextPart, Text: text}},
		}
	}
	s.Messages = []session.Message{text("m1", session.User, "The okapi question."),
		text("m2", session.Assistant, "I look."), text("m3", session.User, "Well?")}
	s.Messages[1].Parts = append(s.Messages[1].Parts, session.Part{
		ID: "p9", Type: session.ToolPart, CallID: "toolu_9", Tool: "mcp.read file", State: &session.ToolState{
			Status: session.Completed, Input: jsontext.Value(`{"path":"early.txt"}`), Output: "the walrus word",
		}})
	var written bytes.Buffer
	if err := (codex.Format{}).Write(&written, nil, format.Change{Session: s}); err != nil {
		t.Fatal(err)
	}
	putFile(t, filepath.Join(c.Home, ".codex", "sessions", codex.Path(&s.Info)), written.String())
	codexExec(t, c, codex.ThreadID(s.Info.ID), "Go on from there.")
	r := requestsTo(u)[0]
	hasWords(t, r, []string{"The okapi question.", "I look.", "the walrus word", "Well?", "Go on from there."}, nil)
	codexPaired(t, r)
	_, doc := codexRollout(t, c)
	if n := len(doc.Session.Messages); doc.Session.Info.ID != s.Info.ID || n < 5 ||
		doc.Session.Messages[n-1].Text() != "Hello there." {
		t.Errorf("read back: session %s, %d messages", doc.Session.Info.ID, n)
	}
}

func TestCodex_goesOnFromAPivotThatWasNeverItsOwn(t *testing.T) {
	tries(t, "import", "compact")
	u := provider(t, llmtest.Text("Hello there."))
	c := newCodex(t, u, "")
	doc := &format.Document{Session: session.Session{Info: session.Info{
		ID: "ses_folded_elsewhere", Directory: c.Project, Title: "elsewhere",
		Time: session.Lifetime{Created: 1772359300000, Updated: 1772359300000},
	}}}
	message := func(id string, role session.Role, text string) session.Message {
		return session.Message{
			MessageInfo: session.MessageInfo{ID: id, Role: role, Time: session.MessageTime{Created: 1772359300000}},
			Parts:       []session.Part{{ID: id + "p", Type: session.TextPart, Text: text}},
		}
	}
	s := &doc.Session
	s.Messages = []session.Message{message("m1", session.User, "The walrus question."),
		message("m2", session.Assistant, "The heron answer."), message("m3", session.User, "The badger question.")}
	marker, summary := codexFold(doc, "m3", false)
	s.Messages = append(s.Messages, marker, summary)
	var written bytes.Buffer
	if err := (codex.Format{}).Write(&written, nil, format.Change{Session: *s}); err != nil {
		t.Fatal(err)
	}
	putFile(t, filepath.Join(c.Home, ".codex", "sessions", codex.Path(&s.Info)), written.String())
	codexExec(t, c, codex.ThreadID(s.Info.ID), "Go on from there.")
	hasWords(t, requestsTo(u)[0], []string{"quagga", "tapir rule", "The badger question.", "Go on from there."},
		[]string{"walrus", "heron"})
}
