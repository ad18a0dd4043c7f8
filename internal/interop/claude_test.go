//go:build interop

package interop

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/format/claudecode"
	"github.com/winnowhq/winnow/internal/llmtest"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/session"
)

// claude is Claude Code with an upstream that works through a script of shell commands, then says
// that it is done.
type claude struct {
	*client
	up     *llmtest.Server
	script []string
}

func newClaude(t *testing.T, script ...string) *claude {
	t.Helper()
	c := &claude{script: script}
	c.up = provider(t, func(r llmtest.Request) llmtest.Reply {
		if n := r.Results(); len(r.ToolNames()) > 0 && n < len(c.script) {
			arguments, err := json.Marshal(map[string]string{"command": c.script[n], "description": "step " +
				fmt.Sprint(n)}, json.Deterministic(true))
			if err != nil {
				t.Error(err)
			}
			return llmtest.Reply{Text: fmt.Sprintf("Step %d.", n), Calls: []llmtest.Call{{
				ID: fmt.Sprintf("toolu_%04d", n), Name: "Bash", Arguments: string(arguments)}}}
		}
		return llmtest.Reply{Text: "The job is done."}
	})
	c.client = claudeClient(t, c.up)
	return c
}

func claudeClient(t *testing.T, up *llmtest.Server) *client {
	t.Helper()
	return newClient(t, "claude", "ANTHROPIC_BASE_URL="+up.URL, "ANTHROPIC_API_KEY=test", "IS_SANDBOX=1",
		"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "DISABLE_TELEMETRY=1", "DISABLE_AUTOUPDATER=1",
		"DISABLE_ERROR_REPORTING=1")
}

func (c *claude) say(t *testing.T, prompt string, args ...string) string {
	t.Helper()
	return c.run(t, append([]string{"-p", prompt, "--dangerously-skip-permissions"}, args...)...)
}

// file is the session file that the product wrote.
func (c *claude) file(t *testing.T) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(c.Home, ".claude", "projects", "*", "*.jsonl"))
	if err != nil || len(files) != 1 {
		t.Fatalf("session files: %q, %v; want one", files, err)
	}
	return files[0]
}

func readClaude(t *testing.T, path string) *format.Document {
	t.Helper()
	src, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := claudecode.Format{}.Read(src)
	if err != nil {
		t.Fatalf("read what the product wrote: %v", err)
	}
	return doc
}

func writeClaude(t *testing.T, path string, from *format.Document, change format.Change) []byte {
	t.Helper()
	var file bytes.Buffer
	if err := (claudecode.Format{}).Write(&file, from, change); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, file.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return file.Bytes()
}

// conversation is the last request that offered tools: the one of the conversation itself.
func (c *claude) conversation(t *testing.T) llmtest.Request {
	t.Helper()
	for _, r := range slices.Backward(requestsTo(c.up)) {
		if len(r.ToolNames()) > 0 {
			return r
		}
	}
	t.Fatal("the product asked nothing")
	return llmtest.Request{}
}

// checkPairs checks what the provider would refuse: roles that do not take turns, calls without
// results and results without calls.
func checkPairs(t *testing.T, r llmtest.Request) {
	t.Helper()
	var asked struct {
		Messages []struct {
			Role    string         `json:"role"`
			Content jsontext.Value `json:"content"`
		} `json:"messages"`
	}
	if err := json.Unmarshal(r.Body, &asked, session.ReadOptions()); err != nil {
		t.Fatal(err)
	}
	open := map[string]bool{}
	for i, m := range asked.Messages {
		if i == 0 && m.Role != "user" {
			t.Errorf("the conversation begins with %s", m.Role)
		}
		if m.Content.Kind() != '[' {
			continue
		}
		var blocks []struct {
			Type string `json:"type"`
			ID   string `json:"id"`
			Call string `json:"tool_use_id"`
			Text string `json:"text"`
		}
		if err := json.Unmarshal(m.Content, &blocks, session.ReadOptions()); err != nil {
			t.Fatal(err)
		}
		if len(blocks) == 0 && m.Role != "system" { // of which newer versions send empty ones
			t.Errorf("message %d is empty", i)
		}
		for _, b := range blocks {
			switch {
			case b.Type == "text" && strings.TrimSpace(b.Text) == "":
				t.Errorf("message %d has an empty text", i)
			case b.Type == "tool_use":
				if open[b.ID] {
					t.Errorf("message %d: call %s came before", i, b.ID)
				}
				open[b.ID] = true
			case b.Type == "tool_result":
				if !open[b.Call] {
					t.Errorf("message %d: result without call %s", i, b.Call)
				}
				delete(open, b.Call)
			}
		}
		if m.Role == "user" && len(open) > 0 {
			t.Errorf("message %d: calls without result: %v", i, open)
		}
	}
}

func checkContains(t *testing.T, r llmtest.Request, want bool, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if r.Contains(text) != want {
			t.Errorf("the request contains %q: %v, want %v", text, !want, want)
		}
	}
}

// outputs of the script, which the command itself does not spell.
func lines(word string, n int) string {
	return fmt.Sprintf("seq 1 %d | sed s/^/%s-line-/", n, word) // Gemini CLI refuses $(…)
}

func tool(t *testing.T, doc *format.Document, call string) (*session.Message, *session.Part) {
	t.Helper()
	m, p := session.FindPart(doc.Session.Messages, call)
	if p == nil {
		t.Fatalf("call %s is not in the log", call)
	}
	return m, p
}

// fold appends a pivot to a session: marker, summary with carry-over, continuation.
func fold(s session.Session, tail string) (session.Session, string) {
	marker := session.Message{
		MessageInfo: session.MessageInfo{ID: "msg_marker", SessionID: s.Info.ID, Role: session.User},
		Parts:       []session.Part{{ID: "prt_marker", Type: session.CompactionPart, Auto: true, TailStartID: tail}},
	}
	summary := session.Message{
		MessageInfo: session.MessageInfo{
			ID: "msg_summary", SessionID: s.Info.ID, Role: session.Assistant, ParentID: marker.ID,
			Summary: jsontext.Value("true"), Finish: "stop", Mode: "compaction", Agent: "compaction",
		},
		Parts: []session.Part{
			{ID: "prt_summary", Type: session.TextPart, Text: "## Goal\nThe zanzibar of the job."},
			{ID: "prt_carry", Type: session.TextPart, Text: "## Carried over\nquokka",
				Metadata: session.Note{Carry: true}.Metadata()},
		},
	}
	goOn := session.Message{
		MessageInfo: session.MessageInfo{ID: "msg_continue", SessionID: s.Info.ID, Role: session.User},
		Parts: []session.Part{{ID: "prt_continue", Type: session.TextPart, Text: "Continue if you have next steps",
			Synthetic: true, Metadata: session.Note{Pivot: marker.ID}.Metadata()}},
	}
	s.Messages = append(slices.Clone(s.Messages), marker, summary, goOn)
	return s, marker.ID
}

// claudeAgent is Claude Code.
func claudeAgent(t *testing.T) *agent {
	a := &agent{}
	return claudeAgentOn(t, a, provider(t, a.answer))
}

func claudeAgentOn(t *testing.T, a *agent, up *llmtest.Server) *agent {
	a.up = up
	a.client = claudeClient(t, a.up)
	c := &claude{client: a.client, up: a.up}
	path := ""
	a.shell = func(command string) llmtest.Call {
		return llmtest.Call{Name: "Bash", Arguments: fmt.Sprintf(`{"command":%q,"description":"run it"}`, command)}
	}
	a.say = func(t *testing.T, prompt string) {
		if path == "" {
			c.say(t, prompt)
			path = c.file(t)
			return
		}
		c.say(t, prompt, "--resume", strings.TrimSuffix(filepath.Base(path), ".jsonl"))
	}
	a.compact = func(t *testing.T) { a.say(t, "/compact") }
	a.save = func(t *testing.T) []byte { return readFile(t, path) }
	a.load = func(t *testing.T, text []byte) {
		path = c.path(readAny(t, text).Session.Info.ID)
		putFile(t, path, string(text))
	}
	return a
}

// place writes a session from elsewhere to where the product looks for it, and returns its path and
// id.
func (c *claude) place(t *testing.T, s session.Session, ledger rule.Ledger) (path, id string) {
	t.Helper()
	var file bytes.Buffer
	if err := (claudecode.Format{}).Write(&file, nil, format.Change{Session: s, Ledger: ledger}); err != nil {
		t.Fatal(err)
	}
	doc, err := claudecode.Format{}.Read(file.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	id = doc.Session.Info.ID
	path = c.path(id)
	putFile(t, path, file.String())
	return path, id
}

// path is where the product looks for a session of its folder.
func (c *claude) path(id string) string {
	folder := regexp.MustCompile(`[^a-zA-Z0-9]`).ReplaceAllString(c.Project, "-")
	return filepath.Join(c.Home, ".claude", "projects", folder, id+".jsonl")
}

func typed(id string, role session.Role, text string) session.Message {
	m := session.Message{MessageInfo: session.MessageInfo{ID: "msg_" + id, Role: role},
		Parts: []session.Part{{ID: "prt_" + id, Type: session.TextPart, Text: text}}}
	if role == session.Assistant {
		m.Finish = "stop"
	}
	return m
}

// Files of more than 5 MiB are read by another way: members are looked for without reading the
// JSON.
func TestClaudeCode_resumesLargeFilesWithDamagedLines(t *testing.T) {
	tries(t, "compact", "damaged file")
	c := newClaude(t)
	s := session.Session{Info: session.Info{ID: "ses_large", Directory: c.Project}}
	s.Messages = append(s.Messages, typed("first", session.User, "Say capybara."))
	for i := range 60 {
		m := typed(fmt.Sprintf("step%d", i), session.Assistant, fmt.Sprintf("Step %d.", i))
		m.Finish = "tool-calls"
		m.Parts = append(m.Parts, session.Part{ID: fmt.Sprintf("call%d", i), CallID: fmt.Sprintf("toolu_%d", i),
			Type: session.ToolPart, Tool: "Bash", State: &session.ToolState{
				Status: session.Completed, Input: jsontext.Value(`{"command":"true"}`),
				Output: fmt.Sprintf("output-of-%d ", i) + strings.Repeat("many words ", 10_000)}})
		s.Messages = append(s.Messages, m)
	}
	s.Messages = append(s.Messages, typed("last", session.Assistant, "The words are counted."))
	path, id := c.place(t, s, rule.Ledger{})

	src, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if len(src) < 6<<20 {
		t.Fatalf("the file has only %d bytes", len(src))
	}
	at := bytes.IndexByte(src[len(src)/2:], '\n') + len(src)/2 + 1
	src = slices.Concat(src[:at], []byte("{\"parentUuid\":\"cut o\n\x00\x00\x00\nno JSON\n"), src[at:])
	doc, err := claudecode.Format{}.Read(src)
	if err != nil {
		t.Fatal(err)
	}
	if len(doc.Damaged) != 3 {
		t.Fatalf("damaged: %+v, want three lines", doc.Damaged)
	}
	message, part := tool(t, doc, "toolu_58")
	change := format.Change{Ledger: rule.NewLedger(rule.Elision{Part: part.ID, Message: message.ID, Field: rule.Output,
		Shown: "[output 58 left out]"})}
	change.Session, _ = fold(doc.Session, message.ID)
	file := writeClaude(t, path, doc, change)
	c.say(t, "And now?", "--resume", id)
	asked := c.conversation(t)
	checkPairs(t, asked)
	checkContains(t, asked, true, "zanzibar", "[output 58 left out]", "output-of-59 ", "The words are counted.",
		"And now?")
	checkContains(t, asked, false, "capybara", "output-of-57 ", "output-of-58 ")
	if grown, err := os.ReadFile(path); err != nil || !bytes.HasPrefix(grown, file) || len(grown) == len(file) {
		t.Errorf("the product did not append to the file: %v", err)
	}
}

func TestClaudeCode_resumesWithoutThoughtsAndTexts(t *testing.T) {
	tries(t, "prune")
	c := newClaude(t)
	c.up = provider(t, func(r llmtest.Request) llmtest.Reply {
		if len(r.ToolNames()) > 0 && r.Results() == 0 {
			return llmtest.Reply{Reasoning: "a wombat of a thought", Text: "I list them.",
				Calls: []llmtest.Call{{ID: "toolu_0", Name: "Bash",
					Arguments: `{"command":"echo listed","description":"list"}`}}}
		}
		return llmtest.Reply{Reasoning: "a second wombat", Text: "The job is done."}
	})
	c.Env = append(c.Env, "ANTHROPIC_BASE_URL="+c.up.URL)
	c.say(t, "List the numbers, please: capybara.")
	checkContains(t, c.conversation(t), true, "wombat", "I list them.", "capybara") // else this would show nothing
	path := c.file(t)
	doc := readClaude(t, path)
	var elisions []rule.Elision
	for _, m := range doc.Session.Messages {
		for _, p := range m.Parts {
			switch {
			case p.Type == session.ReasoningPart, p.Text == "I list them.",
				p.Text == "List the numbers, please: capybara.":
				elisions = append(elisions, rule.Elision{Part: p.ID, Message: m.ID, Field: rule.Whole, Rule: "test"})
			case p.Type == session.ToolPart:
				elisions = append(elisions, rule.Elision{Part: p.ID, Message: m.ID, Field: rule.Whole, Rule: "test",
					Shown: "[listed]"})
			}
		}
	}
	if len(elisions) < 3 {
		t.Fatalf("found only %+v", elisions)
	}
	writeClaude(t, path, doc, format.Change{Session: doc.Session, Ledger: rule.NewLedger(elisions...)})
	c.up.Forget()
	c.say(t, "And now?", "--resume", doc.Session.Info.ID)
	asked := c.conversation(t)
	checkPairs(t, asked)
	checkContains(t, asked, true, "[listed]", "The job is done.", "And now?")
	checkContains(t, asked, false, "capybara", "wombat", "I list them.", "echo listed")
}

func TestClaudeCode_resumesWhatWasNeverItsOwn(t *testing.T) {
	tries(t, "import")
	c := newClaude(t)
	s := session.Session{Info: session.Info{ID: "ses_elsewhere", Directory: c.Project}}
	text := func(id, text string) []session.Part {
		return []session.Part{{ID: id, Type: session.TextPart, Text: text}}
	}
	s.Messages = []session.Message{
		{MessageInfo: session.MessageInfo{ID: "msg_1", Role: session.User,
			Time: session.MessageTime{Created: 1_700_000_000_000}}, Parts: text("prt_1", "Say capybara.")},
		{MessageInfo: session.MessageInfo{ID: "msg_2", Role: session.Assistant, ProviderID: "openai", ModelID: "gpt",
			Finish: "tool-calls"}, Parts: []session.Part{
			{ID: "prt_2", Type: session.ReasoningPart, Text: "unsigned thought"},
			{ID: "prt_3", Type: session.ToolPart, CallID: "call|1", Tool: "bash",
				State: &session.ToolState{Status: session.Completed, Input: jsontext.Value("{\n \"cmd\": \"ls\"}"),
					Output: "one file"}},
			{ID: "prt_4", Type: session.ToolPart, CallID: "call|1", Tool: "bash",
				State: &session.ToolState{Status: session.Failed, Error: "no such file"}},
			{ID: "prt_5", Type: session.ToolPart, CallID: "call_2", Tool: "bash",
				State: &session.ToolState{Status: session.Running}},
		}},
		{MessageInfo: session.MessageInfo{ID: "msg_3", Role: session.Assistant, Finish: "stop"},
			Parts: text("prt_6", "Capybara, said.")},
	}
	_, id := c.place(t, s, rule.Ledger{})
	c.say(t, "And now?", "--resume", id)
	asked := c.conversation(t)
	checkPairs(t, asked)
	checkContains(t, asked, true, "Say capybara.", "one file", "no such file", "Capybara, said.", "And now?")
}

// The product keeps what it has read of each file, and refuses edits of files that it did not read.
func TestClaudeCode_elidedReadsCanBeReadAgainAndEdited(t *testing.T) {
	tries(t, "prune")
	c := newClaude(t)
	target := filepath.Join(c.Project, "list.txt")
	if err := os.WriteFile(target, []byte("one\ntwo\nthree\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	calls := []llmtest.Call{{ID: "toolu_0", Name: "Read", Arguments: fmt.Sprintf(`{"file_path":%q}`, target)}}
	c.up = provider(t, func(r llmtest.Request) llmtest.Reply {
		if len(r.ToolNames()) > 0 && r.Results() < len(calls) {
			return llmtest.Reply{Calls: calls[r.Results():][:1]}
		}
		return llmtest.Reply{Text: "The job is done."}
	})
	c.Env = append(c.Env, "ANTHROPIC_BASE_URL="+c.up.URL)
	c.say(t, "Read it.")
	path := c.file(t)
	doc := readClaude(t, path)
	m, p := tool(t, doc, "toolu_0")
	ledger := rule.NewLedger(rule.Elision{Part: p.ID, Message: m.ID, Field: rule.Output, Shown: "[list.txt left out]"})
	writeClaude(t, path, doc, format.Change{Session: doc.Session, Ledger: ledger})

	calls = append(calls,
		llmtest.Call{ID: "toolu_1", Name: "Read", Arguments: fmt.Sprintf(`{"file_path":%q}`, target)},
		llmtest.Call{ID: "toolu_2", Name: "Edit",
			Arguments: fmt.Sprintf(`{"file_path":%q,"old_string":"two","new_string":"2"}`, target)})
	c.say(t, "Again, and change it.", "--resume", doc.Session.Info.ID)
	after := readClaude(t, path)
	if _, p := tool(t, after, "toolu_1"); p.State.Status != session.Completed ||
		!strings.Contains(p.State.Output, "three") {
		t.Errorf("reading again: %s %q", p.State.Status, p.State.Result())
	}
	if _, p := tool(t, after, "toolu_2"); p.State.Status != session.Completed {
		t.Errorf("editing: %s %q", p.State.Status, p.State.Result())
	}
	if text, err := os.ReadFile(target); err != nil || string(text) != "one\n2\nthree\n" {
		t.Errorf("the file is %q, %v", text, err)
	}
}

// The branch that the reader finds is the one that the product sends.
func TestClaudeCode_sendsTheBranchThatWeRead(t *testing.T) {
	tries(t, "branches")
	c := newClaude(t)
	doc := readClaude(t, filepath.Join("..", "..", "format", "claudecode", "testdata", "branches.jsonl"))
	path, _ := c.place(t, doc.Session, rule.Ledger{})
	path = filepath.Join(filepath.Dir(path), doc.Session.Info.ID+".jsonl")
	writeClaude(t, path, doc, format.Change{Session: doc.Session, Ledger: doc.Ledger})
	c.say(t, "And now?", "--resume", doc.Session.Info.ID)
	asked := c.conversation(t)
	checkPairs(t, asked)
	for _, m := range doc.Session.Messages {
		for _, p := range m.Parts {
			if p.Type == session.TextPart {
				checkContains(t, asked, !p.Ignored, p.Text)
			}
			if p.Type == session.ToolPart && p.State.Final() {
				checkContains(t, asked, true, p.CallID, p.State.Result())
			}
		}
	}
	checkContains(t, asked, false, "Never mind, forget that.", "Forgotten.", "count the shelves",
		"a result without a call")
}
