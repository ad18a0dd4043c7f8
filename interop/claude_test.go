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
	"github.com/winnowhq/winnow/format/claudecode"
	"github.com/winnowhq/winnow/interop/upstream"
	"github.com/winnowhq/winnow/rule"
	"github.com/winnowhq/winnow/session"
)

// claude is Claude Code with an upstream that works through a script of shell commands, then says that it is done.
type claude struct {
	*client
	up     *upstream.Upstream
	script []string
}

func newClaude(t *testing.T, script ...string) *claude {
	t.Helper()
	c := &claude{script: script}
	c.up = upstream.Start(t, func(r upstream.Request) upstream.Reply {
		if n := r.Results; len(r.Tools) > 0 && n < len(c.script) {
			arguments, err := json.Marshal(map[string]string{"command": c.script[n], "description": "step " + fmt.Sprint(n)}, json.Deterministic(true))
			if err != nil {
				t.Error(err)
			}
			return upstream.Reply{Text: fmt.Sprintf("Step %d.", n), Call: &upstream.Call{
				ID: fmt.Sprintf("toolu_%04d", n), Name: "Bash", Arguments: string(arguments)}}
		}
		return upstream.Reply{Text: "The job is done."}
	})
	c.client = newClient(t, "claude",
		"ANTHROPIC_BASE_URL="+c.up.URL, "ANTHROPIC_API_KEY=test", "IS_SANDBOX=1",
		"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "DISABLE_TELEMETRY=1", "DISABLE_AUTOUPDATER=1", "DISABLE_ERROR_REPORTING=1")
	return c
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
func (c *claude) conversation(t *testing.T) upstream.Request {
	t.Helper()
	for _, r := range slices.Backward(c.up.Requests()) {
		if len(r.Tools) > 0 {
			return r
		}
	}
	t.Fatal("the product asked nothing")
	return upstream.Request{}
}

// checkPairs checks what the provider would refuse: roles that do not take turns, calls without results and results without calls.
func checkPairs(t *testing.T, r upstream.Request) {
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
		if len(blocks) == 0 {
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

func checkContains(t *testing.T, r upstream.Request, want bool, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if r.Contains(text) != want {
			t.Errorf("the request contains %q: %v, want %v", text, !want, want)
		}
	}
}

// outputs of the script, which the command itself does not spell.
func lines(word string, n int) string {
	return fmt.Sprintf("for i in $(seq 1 %d); do echo %s''-line-$i; done", n, word)
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
			{ID: "prt_carry", Type: session.TextPart, Text: "## Carried over\nquokka", Metadata: session.Note{Carry: true}.Metadata()},
		},
	}
	goOn := session.Message{
		MessageInfo: session.MessageInfo{ID: "msg_continue", SessionID: s.Info.ID, Role: session.User},
		Parts: []session.Part{{ID: "prt_continue", Type: session.TextPart, Text: "Continue if you have next steps", Synthetic: true,
			Metadata: session.Note{Pivot: marker.ID}.Metadata()}},
	}
	s.Messages = append(slices.Clone(s.Messages), marker, summary, goOn)
	return s, marker.ID
}

func TestClaudeCode_resumesFromWhatWeFolded(t *testing.T) {
	c := newClaude(t, lines("EARLY", 40), lines("MIDDLE", 60), lines("LATE", 20))
	c.say(t, "List the numbers, please: capybara.")
	c.script = nil // from here on it only talks
	path := c.file(t)
	doc := readClaude(t, path)

	message, middle := tool(t, doc, "toolu_0001")
	shown := "[Bash: output left out; id toolu_0001]"
	change := format.Change{Ledger: rule.NewLedger(rule.Elision{
		Part: middle.ID, Message: message.ID, Field: rule.Output, Rule: "test", Because: "it is old", Shown: shown, Saves: 100, Time: 1,
	})}
	var marker string
	change.Session, marker = fold(doc.Session, message.ID)
	file := writeClaude(t, path, doc, change)

	c.up.Forget()
	id := doc.Session.Info.ID
	c.say(t, "And now?", "--resume", id)
	asked := c.conversation(t)
	checkPairs(t, asked)
	checkContains(t, asked, true, "zanzibar", "quokka", shown, "LATE-line-20", "Continue if you have next steps", "And now?", "The job is done.")
	checkContains(t, asked, false, "EARLY-line-1", "MIDDLE-line-1", "capybara")

	grown, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.HasPrefix(grown, file) || len(grown) == len(file) {
		t.Errorf("the product did not append to the file: %d bytes, before %d", len(grown), len(file))
	}
	after := readClaude(t, path)
	if n := session.Index(after.Session.Messages, marker); n < 0 || after.Session.Messages[n].Marker().TailStartID != message.ID {
		t.Errorf("the marker is not in what the product went on from")
	}
	if _, p := tool(t, after, "toolu_0001"); !strings.Contains(p.State.Output, "MIDDLE-line-60") || !after.Ledger.Has(rule.Key{Part: p.ID, Field: rule.Output}) {
		t.Errorf("the elided output came back as %.60q", p.State.Output)
	}

	t.Run("and from before, once it is undone", func(t *testing.T) {
		change := format.Change{Session: after.Session, Undone: map[string]bool{marker: true}}
		writeClaude(t, path, after, change)
		c.up.Forget()
		c.say(t, "Once more?", "--resume", id)
		asked := c.conversation(t)
		checkPairs(t, asked)
		checkContains(t, asked, true, "capybara", "EARLY-line-1", "MIDDLE-line-1", "LATE-line-20", "And now?", "Once more?")
		checkContains(t, asked, false, "zanzibar", "quokka", shown, "Continue if you have next steps")
	})
}

func TestClaudeCode_compactionOfItsOwnSurvivesUs(t *testing.T) {
	c := newClaude(t, lines("EARLY", 40), lines("LATE", 20))
	c.say(t, "List the numbers, please: capybara.")
	path := c.file(t)
	id := readClaude(t, path).Session.Info.ID
	c.script = nil // from here on it only talks
	c.say(t, "/compact", "--resume", id)
	doc := readClaude(t, path)

	markers, summaries := 0, 0
	for i := range doc.Session.Messages {
		m := &doc.Session.Messages[i]
		if m.Marker() != nil {
			markers++
			if m.Marker().TailStartID == "" {
				t.Error("the product kept a tail, the marker names none")
			}
		}
		if m.Completes() {
			summaries++
		}
	}
	if markers != 1 || summaries != 1 {
		t.Fatalf("%d markers, %d summaries, want one each", markers, summaries)
	}
	source := writeClaude(t, path, doc, format.Change{Session: doc.Session, Ledger: doc.Ledger})
	if !bytes.Equal(source, doc.Source) {
		t.Fatal("writing without a change changed the file")
	}
	c.up.Forget()
	c.say(t, "And now?", "--resume", id)
	asked := c.conversation(t)
	checkPairs(t, asked)
	checkContains(t, asked, true, "And now?")
	checkContains(t, asked, false, "EARLY-line-1")
}

func TestClaudeCode_resumesWhatWasNeverItsOwn(t *testing.T) {
	c := newClaude(t)
	s := session.Session{Info: session.Info{ID: "ses_elsewhere", Directory: c.Project}}
	text := func(id, text string) []session.Part {
		return []session.Part{{ID: id, Type: session.TextPart, Text: text}}
	}
	s.Messages = []session.Message{
		{MessageInfo: session.MessageInfo{ID: "msg_1", Role: session.User, Time: session.MessageTime{Created: 1_700_000_000_000}}, Parts: text("prt_1", "Say capybara.")},
		{MessageInfo: session.MessageInfo{ID: "msg_2", Role: session.Assistant, ProviderID: "openai", ModelID: "gpt", Finish: "tool-calls"}, Parts: []session.Part{
			{ID: "prt_2", Type: session.ReasoningPart, Text: "unsigned thought"},
			{ID: "prt_3", Type: session.ToolPart, CallID: "call|1", Tool: "bash", State: &session.ToolState{Status: session.Completed, Input: jsontext.Value("{\n \"cmd\": \"ls\"}"), Output: "one file"}},
			{ID: "prt_4", Type: session.ToolPart, CallID: "call|1", Tool: "bash", State: &session.ToolState{Status: session.Failed, Error: "no such file"}},
			{ID: "prt_5", Type: session.ToolPart, CallID: "call_2", Tool: "bash", State: &session.ToolState{Status: session.Running}},
		}},
		{MessageInfo: session.MessageInfo{ID: "msg_3", Role: session.Assistant, Finish: "stop"}, Parts: text("prt_6", "Capybara, said.")},
	}
	folder := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, c.Project)
	var file bytes.Buffer
	if err := (claudecode.Format{}).Write(&file, nil, format.Change{Session: s}); err != nil {
		t.Fatal(err)
	}
	doc, err := claudecode.Format{}.Read(file.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	id := doc.Session.Info.ID
	writeClaude(t, filepath.Join(c.Home, ".claude", "projects", folder, id+".jsonl"), nil, format.Change{Session: s})
	c.say(t, "And now?", "--resume", id)
	asked := c.conversation(t)
	checkPairs(t, asked)
	checkContains(t, asked, true, "Say capybara.", "one file", "no such file", "Capybara, said.", "And now?")
}
