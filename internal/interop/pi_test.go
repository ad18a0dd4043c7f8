//go:build interop

package interop

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/format/pi"
	"github.com/winnowhq/winnow/internal/llmtest"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/session"
)

// newPi prepares the product with a provider of its own that speaks this protocol to the upstream.
func newPi(t *testing.T, up *llmtest.Server, api string) *client {
	t.Helper()
	c := newClient(t, "pi", "PI_OFFLINE=1", "PI_SKIP_VERSION_CHECK=1")
	url := up.URL
	if api != "anthropic-messages" {
		url += "/v1"
	}
	config := fmt.Sprintf(`{"providers":{"loopback":{"baseUrl":%q,"api":%q,"apiKey":"none",`+
		`"models":[{"id":"scripted","contextWindow":200000,"maxTokens":8000}]}}}`, url, api)
	dir := filepath.Join(c.Home, ".pi", "agent")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	putFile(t, filepath.Join(dir, "models.json"), config)
	putFile(t, filepath.Join(dir, "settings.json"), `{"compaction":{"keepRecentTokens":2000}}`)
	return c
}

func askPi(t *testing.T, c *client, file, prompt string) string {
	t.Helper()
	return c.run(t, "--provider", "loopback", "--model", "scripted", "--session", file, "-p", prompt)
}

func readPi(t *testing.T, path string) *format.Document {
	t.Helper()
	src, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := pi.Format{}.Read(src)
	if err != nil {
		t.Fatal(err)
	}
	if len(doc.Damaged) > 0 {
		t.Fatalf("damage in %s: %v", path, doc.Damaged)
	}
	return doc
}

func writePi(t *testing.T, path string, from *format.Document, change format.Change) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := (pi.Format{}).Write(&out, from, change); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, out.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// piPivot is a marker with its summary, and the word to go on.
func piPivot(s session.Session, tail string) []session.Message {
	now := s.Info.Time.Updated + 1000
	return []session.Message{
		{MessageInfo: session.MessageInfo{ID: "msg_marker", SessionID: s.Info.ID, Role: session.User,
			Time: session.MessageTime{Created: now}},
			Parts: []session.Part{{ID: "prt_marker", MessageID: "msg_marker", Type: session.CompactionPart,
				TailStartID: tail}}},
		{MessageInfo: session.MessageInfo{ID: "msg_summary", SessionID: s.Info.ID, Role: session.Assistant,
			ParentID: "msg_marker", Finish: "stop",
			Summary: jsontext.Value("true"), Time: session.MessageTime{Created: now, Completed: now}},
			Parts: []session.Part{{ID: "prt_summary", MessageID: "msg_summary", Type: session.TextPart,
				Text: "## Goal\nThe xylograph is to be found."}}},
	}
}

func piOutput(t *testing.T, log []session.Message, text string) (session.Message, session.Part) {
	t.Helper()
	for _, m := range log {
		for _, p := range m.Parts {
			if p.Type == session.ToolPart && p.State.Status == session.Completed &&
				strings.Contains(p.State.Output, text) {
				return m, p
			}
		}
	}
	t.Fatalf("no output with %q", text)
	return session.Message{}, session.Part{}
}

// piAgent is pi. It compacts by itself, when the last request was large.
func piAgent(t *testing.T) *agent { return piOver(t, "openai-completions") }

// piOver is pi with an upstream that speaks this protocol.
func piOver(t *testing.T, api string) *agent {
	a := &agent{}
	a.up = provider(t, a.answer)
	a.client = newPi(t, a.up, api)
	file := filepath.Join(a.Home, "session.jsonl")
	a.shell = func(command string) llmtest.Call {
		return llmtest.Call{Name: "bash", Arguments: fmt.Sprintf(`{"command":%q}`, command)}
	}
	a.say = func(t *testing.T, prompt string) { askPi(t, a.client, file, prompt) }
	a.compact = func(t *testing.T) {
		a.usage = &session.Usage{Input: 199_000, Output: 20}
		a.say(t, "Go on, slowly.")
	}
	a.save = func(t *testing.T) []byte { return readFile(t, file) }
	a.load = func(t *testing.T, text []byte) { putFile(t, file, string(text)) }
	return a
}

func TestPi_otherProtocols(t *testing.T) {
	for _, api := range []string{"anthropic-messages", "openai-responses"} {
		t.Run(api, func(t *testing.T) {
			tries(t, "compact")
			start := func(t *testing.T) *agent { return piOver(t, api) }
			w := newWorkshop(t, start)
			w.resume(t, w.change(t, start(t).job(t), "compact"))
		})
	}
}

func TestPi_resumesFromAnOldFileThatWasFolded(t *testing.T) {
	tries(t, "compact", "prune")
	up := provider(t, llmtest.Text("Yes, says the upstream."))
	c := newPi(t, up, "openai-completions")
	file := filepath.Join(c.Home, "session.jsonl")
	old := fmt.Sprintf(`{"type":"session","id":"7d1c2b3a-1111-4222-8333-444455556666","timestamp":"2025-11-02T10:00:00.000Z","cwd":%q,"provider":"loopback","modelId":"scripted","thinkingLevel":"off"}
{"type":"message","timestamp":"2025-11-02T10:00:01.000Z","message":{"role":"user","content":[{"type":"text","text":"Where is the walrus?"}],"timestamp":1762077601000}}
{"type":"message","timestamp":"2025-11-02T10:00:03.000Z","message":{"role":"assistant","content":[{"type":"text","text":"On the floe."}],"api":"openai-completions","provider":"loopback","model":"scripted","usage":{"input":3,"output":12,"cacheRead":0,"cacheWrite":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"stop","timestamp":1762077603000}}
{"type":"message","timestamp":"2025-11-02T10:00:04.000Z","message":{"role":"user","content":[{"type":"text","text":"And the narwhal?"}],"timestamp":1762077604000}}
{"type":"message","timestamp":"2025-11-02T10:00:05.000Z","message":{"role":"assistant","content":[{"type":"toolCall","id":"call_1","name":"bash","arguments":{"command":"find sea"}}],"api":"openai-completions","provider":"loopback","model":"scripted","usage":{"input":3,"output":12,"cacheRead":0,"cacheWrite":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"toolUse","timestamp":1762077605000}}
{"type":"message","timestamp":"2025-11-02T10:00:06.000Z","message":{"role":"toolResult","toolCallId":"call_1","toolName":"bash","content":[{"type":"text","text":"sea/bongo"}],"isError":false,"timestamp":1762077606000}}
`, c.Project)
	doc, err := pi.Format{}.Read([]byte(old))
	if err != nil {
		t.Fatal(err)
	}
	change := format.Change{Session: doc.Session}
	change.Session.Messages = append(change.Session.Messages[:len(doc.Session.Messages):len(doc.Session.Messages)],
		piPivot(doc.Session, doc.Session.Messages[2].ID)...)
	m, p := piOutput(t, doc.Session.Messages, "sea/bongo")
	change.Ledger = rule.NewLedger(rule.Elision{Part: p.ID, Message: m.ID, Field: rule.Output, Rule: "test",
		Because: "it is tried", Shown: "[the lemur was left out]"})
	writePi(t, file, doc, change)

	askPi(t, c, file, "And the capybara?")
	request := requestsTo(up)[0]
	for word, want := range map[string]bool{"xylograph": true, "narwhal": true, "lemur": true, "capybara": true,
		"walrus": false, "sea/bongo": false} {
		if got := request.Contains(word); got != want {
			t.Errorf("%q in the request: got %v, want %v", word, got, want)
		}
	}
	// The product rewrote the file; what we noted is still in it.
	again := readPi(t, file)
	log := again.Session.Messages
	if again.Ledger.Len() != 1 || again.Ledger.All()[0].Part != "call_1" || len(log) != len(change.Session.Messages)+2 {
		t.Fatalf("read again: %d messages and the elisions %v", len(log), again.Ledger.All())
	}
	marker := log[len(doc.Session.Messages)]
	if marker.ID != "msg_marker" || marker.Marker() == nil || marker.Marker().TailStartID != log[2].ID {
		t.Errorf("the marker after the product's rewriting: %+v", marker)
	}
	if _, p := piOutput(t, log, "sea/bongo"); p.ID != "call_1" {
		t.Errorf("the elided output came back in part %s", p.ID)
	}
}

func TestPi_resumesFromASessionFromElsewhere(t *testing.T) {
	tries(t, "import")
	up := provider(t, llmtest.Text("Yes, says the upstream."))
	c := newPi(t, up, "anthropic-messages")
	file := filepath.Join(c.Home, "session.jsonl")
	s := session.Session{Info: session.Info{ID: "ses_elsewhere", Directory: c.Project, Title: "Elsewhere",
		Time: session.Lifetime{Created: 1762077600000, Updated: 1762077606000}}}
	s.Messages = []session.Message{
		{MessageInfo: session.MessageInfo{ID: "msg_1", Role: session.User,
			Time: session.MessageTime{Created: 1762077601000}},
			Parts: []session.Part{{ID: "prt_1", Type: session.TextPart, Text: "Where is the walrus?"}}},
		{MessageInfo: session.MessageInfo{ID: "msg_2", Role: session.Assistant, ParentID: "msg_1",
			ProviderID: "loopback", ModelID: "scripted", Finish: "stop",
			Time: session.MessageTime{Created: 1762077602000, Completed: 1762077604000}},
			Parts: []session.Part{
				{ID: "prt_2", Type: session.StepStartPart},
				{ID: "prt_3", Type: session.ToolPart, CallID: "toolu_1", Tool: "bash",
					State: &session.ToolState{Status: session.Completed,
						Input: jsontext.Value(`{"command":"find sea"}`), Output: "sea/bongo",
						Time: &session.Span{Start: 1762077602000, End: 1762077603000}}},
				{ID: "prt_4", Type: session.StepFinishPart, Reason: "tool-calls"},
				{ID: "prt_5", Type: session.StepStartPart},
				{ID: "prt_6", Type: session.TextPart, Text: "On the floe with the narwhal."},
				{ID: "prt_7", Type: session.StepFinishPart, Reason: "stop"},
			}},
	}
	text := writePi(t, file, nil, format.Change{Session: s})
	askPi(t, c, file, "And the capybara?")
	for _, word := range []string{"walrus", "find sea", "sea/bongo", "narwhal", "capybara"} {
		if !requestsTo(up)[0].Contains(word) {
			t.Errorf("%q is not in the request", word)
		}
	}
	after, err := os.ReadFile(file)
	if err != nil || !bytes.HasPrefix(after, text) {
		t.Errorf("the product did not append to the file: %v", err)
	}
	log := readPi(t, file).Session.Messages
	got, err := json.Marshal(log[:2], session.ReadOptions())
	if err != nil {
		t.Fatal(err)
	}
	want, err := json.Marshal(s.Messages, session.ReadOptions())
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) || len(log) != 4 {
		t.Errorf("read again: %d messages\n got %s\nwant %s", len(log), got, want)
	}
}
