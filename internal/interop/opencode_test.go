//go:build interop

package interop

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/format/opencode"
	"github.com/winnowhq/winnow/internal/llmtest"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/session"
)

// newOpenCode is an OpenCode whose only model is the upstream's.
func newOpenCode(t *testing.T, u *llmtest.Server) *client { return openCodeClient(t, "opencode", u) }

// openCodeClient is OpenCode, or a product that has its commands and settings.
func openCodeClient(t *testing.T, name string, u *llmtest.Server) *client {
	t.Helper()
	prefix := strings.ToUpper(name)
	c := newClient(t, name, prefix+"_DISABLE_AUTOUPDATE=1", prefix+"_DISABLE_MODELS_FETCH=1")
	config := fmt.Sprintf(`{"autoupdate":false,"permission":"allow","model":"local/m1","small_model":"local/m1","compaction":{"auto":false,"prune":false},
"provider":{"local":{"npm":"@ai-sdk/openai-compatible","name":"local","options":{"baseURL":"%s/v1","apiKey":"k"},
"models":{"m1":{"name":"m1","limit":{"context":200000,"output":8000},"tool_call":true}}}}}`, u.URL)
	if err := os.WriteFile(filepath.Join(c.Project, name+".json"), []byte(config), 0o644); err != nil {
		t.Fatal(err)
	}
	return c
}

// importInto writes a file and imports it into a fresh installation.
func importInto(t *testing.T, u *llmtest.Server, text []byte) *client {
	t.Helper()
	c := newOpenCode(t, u)
	file := filepath.Join(c.Home, "import.json")
	if err := os.WriteFile(file, text, 0o644); err != nil {
		t.Fatal(err)
	}
	if out := c.run(t, "import", file); !strings.Contains(out, "Imported session") {
		t.Fatalf("opencode import said: %s", out)
	}
	return c
}

func readExport(t *testing.T, text []byte) *format.Document {
	t.Helper()
	doc, err := opencode.Format{}.Read(text)
	if err != nil {
		t.Fatal(err)
	}
	if len(doc.Damaged) > 0 {
		t.Fatalf("damaged: %v", doc.Damaged)
	}
	return doc
}

// asSaid is what an export says, without what the product decides itself at import: where the
// session is.
func asSaid(t *testing.T, text []byte) string {
	t.Helper()
	var export map[string]any
	if err := json.Unmarshal(text, &export); err != nil {
		t.Fatal(err)
	}
	info := export["info"].(map[string]any)
	for _, name := range []string{"projectID", "directory", "path"} {
		delete(info, name)
	}
	plain, err := json.Marshal(export)
	if err != nil {
		t.Fatal(err)
	}
	v := jsontext.Value(plain)
	if err := v.Indent(); err != nil {
		t.Fatal(err)
	}
	return string(v)
}

// lastChat is the conversation of the newest request that offers tools: those of the agent, not of
// the title.
func lastChat(t *testing.T, u *llmtest.Server) string {
	t.Helper()
	requests := requestsTo(u)
	for i := len(requests) - 1; i >= 0; i-- {
		if len(requests[i].ToolNames()) == 0 {
			continue
		}
		var asked struct {
			Messages []struct {
				Role    string         `json:"role"`
				Content jsontext.Value `json:"content"`
				Calls   jsontext.Value `json:"tool_calls"`
			} `json:"messages"`
		}
		if err := json.Unmarshal(requests[i].Body, &asked); err != nil {
			t.Fatal(err)
		}
		sent := ""
		for _, m := range asked.Messages {
			if m.Role != "system" {
				sent += fmt.Sprintf("%s: %s %s\n", m.Role, m.Content, m.Calls)
			}
		}
		return sent
	}
	t.Fatalf("no request of the agent among %d", len(requests))
	return ""
}

// openCodeAgent is OpenCode. Its sessions are what it exports and imports.
func openCodeAgent(t *testing.T) *agent { return openCodeNamed(t, "opencode") }

// openCodeOver is OpenCode with an upstream that speaks the protocol of one of its libraries.
func openCodeOver(t *testing.T, library string) *agent {
	a := openCodeAgent(t)
	file := filepath.Join(a.Project, "opencode.json")
	putFile(t, file, strings.Replace(string(readFile(t, file)), "@ai-sdk/openai-compatible", library, 1))
	return a
}

func openCodeNamed(t *testing.T, name string) *agent {
	a := &agent{cleared: rule.Cleared}
	a.up = provider(t, a.answer)
	a.client = openCodeClient(t, name, a.up)
	id := ""
	a.shell = func(command string) llmtest.Call {
		return llmtest.Call{Name: "bash", Arguments: fmt.Sprintf(`{"command":%q,"description":"run it"}`, command)}
	}
	a.say = func(t *testing.T, prompt string) {
		if id == "" {
			a.run(t, "run", prompt)
			id = regexp.MustCompile(`ses_[A-Za-z0-9]+`).FindString(a.run(t, "session", "list"))
			return
		}
		a.run(t, "run", "--model", "local/m1", "-s", id, prompt) // that of a session from elsewhere may not be set up
	}
	a.compact = func(t *testing.T) {
		s := serve(t, a.client)
		s.call(t, "/session/"+id+"/summarize", map[string]any{"providerID": "local", "modelID": "m1"})
		s.stop()
	}
	a.save = func(t *testing.T) []byte { return []byte(a.run(t, "export", id)) }
	a.load = func(t *testing.T, text []byte) {
		id = opencode.SessionID(&readAny(t, text).Session.Info)
		file := filepath.Join(a.Home, "import.json")
		putFile(t, file, string(text))
		if out := a.run(t, "import", file); !strings.Contains(out, "Imported session") {
			t.Fatalf("opencode import said: %s", out)
		}
	}
	return a
}

// TestOpenCode_resumesWhatWasCompacted makes a session with the product, folds and marks it here,
// and resumes it there.
func TestOpenCode_resumesWhatWasCompacted(t *testing.T) {
	tries(t, "compact", "prune")
	script := []llmtest.Call{
		{Name: "bash", Arguments: `{"command":"echo early-$((40+2))-output","description":"say something"}`},
		{Name: "bash", Arguments: `{"command":"echo middle-$((50+1))-output; seq 1 50","description":"say more"}`},
		{Name: "bash", Arguments: `{"command":"echo late-$((60+3))-output","description":"say the rest"}`},
	}
	u := provider(t, func(r llmtest.Request) llmtest.Reply {
		if len(r.ToolNames()) == 0 || r.Results() >= len(script) {
			return llmtest.Reply{Text: "All done."}
		}
		return llmtest.Reply{Text: "Next.", Calls: script[r.Results():][:1]}
	})
	c := newOpenCode(t, u)
	c.run(t, "run", "Say three things.")
	id := regexp.MustCompile(`ses_[A-Za-z0-9]+`).FindString(c.run(t, "session", "list"))
	source := []byte(c.run(t, "export", id))
	doc := readExport(t, source)
	if doc.Counts.ToolCalls != 3 {
		t.Fatalf("the product made %d tool calls, want 3: %s", doc.Counts.ToolCalls, source)
	}

	text, change := foldOpenCode(t, doc)
	resumed := importInto(t, u, text)
	exported := []byte(resumed.run(t, "export", id))
	if diff := cmp.Diff(asSaid(t, text), asSaid(t, exported)); diff != "" {
		t.Errorf("the product's export differs from what it imported (-written +exported):\n%s", diff)
	}
	again := readExport(t, exported)
	if diff := cmp.Diff(change.Ledger.All(), again.Ledger.All()); diff != "" {
		t.Errorf("the ledger did not survive the product (-written +read):\n%s", diff)
	}

	// Where the session is already, the product adds the messages that it does not have and leaves
	// the others as they are: the pivot arrives, the marks do not.
	file := filepath.Join(c.Home, "again.json")
	if err := os.WriteFile(file, text, 0o644); err != nil {
		t.Fatal(err)
	}
	c.run(t, "import", file)
	beside := readExport(t, []byte(c.run(t, "export", id)))
	if got, want := len(beside.Session.Messages), len(change.Session.Messages); got != want ||
		beside.Ledger.Len() != 0 {
		t.Errorf("imported where it came from, the session has %d messages and %d marks, want %d and none", got,
			beside.Ledger.Len(), want)
	}

	u.Forget()
	resumed.run(t, "run", "-s", id, "Where are we?")
	sent := lastChat(t, u)
	// The product has its own words for a marked output.
	for _, want := range []string{"zanzibar-summary", "carried-over-word", rule.Cleared, "late-63-output",
		"Where are we?"} {
		if !strings.Contains(sent, want) {
			t.Errorf("the request after the import lacks %q:\n%s", want, sent)
		}
	}
	for _, gone := range []string{"early-42-output", "middle-51-output"} {
		if strings.Contains(sent, gone) {
			t.Errorf("the request after the import still has %q:\n%s", gone, sent)
		}
	}

	undone := change
	undone.Ledger, undone.Undone = rule.Ledger{}, map[string]bool{}
	for i := range again.Session.Messages {
		if m := &again.Session.Messages[i]; m.Marker() != nil {
			undone.Undone[m.ID] = true
		}
	}
	undone.Session = again.Session
	var back bytes.Buffer
	if err := (opencode.Format{}).Write(&back, again, undone); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(asSaid(t, source), asSaid(t, back.Bytes())); diff != "" {
		t.Errorf("with the pivot undone and the marks restored it is another session (-made +undone):\n%s", diff)
	}
}

// fold appends a pivot whose tail is the step with the second call and what follows it, and elides
// that call's output.
func foldOpenCode(t *testing.T, doc *format.Document) ([]byte, format.Change) {
	t.Helper()
	s := doc.Session
	var second *session.Part
	tail, calls := "", 0
	for i := range s.Messages {
		for j := range s.Messages[i].Parts {
			if p := &s.Messages[i].Parts[j]; p.Type == session.ToolPart {
				if calls++; calls == 2 {
					second, tail = p, s.Messages[i].ID
				}
			}
		}
	}
	last := s.Messages[len(s.Messages)-1]
	at := last.Time.Completed + 1000
	marker := session.Message{
		MessageInfo: session.MessageInfo{
			ID: "msg_aaaaaaaaaaaamarker00000001", SessionID: s.Info.ID, Role: session.User, Agent: "build",
			Time: session.MessageTime{Created: at}, Model: &session.ModelRef{ProviderID: "local", ModelID: "m1"},
		},
		Parts: []session.Part{{ID: "prt_aaaaaaaaaaaamarker00000001", Type: session.CompactionPart, TailStartID: tail}},
	}
	summary := session.Message{
		MessageInfo: session.MessageInfo{
			ID: "msg_aaaaaaaaaaaasummary0000001", SessionID: s.Info.ID, Role: session.Assistant, ParentID: marker.ID,
			Agent: "compaction",
			Mode:  "compaction", ProviderID: "local", ModelID: "m1", Time: session.MessageTime{Created: at + 1,
				Completed: at + 2},
			Summary: jsontext.Value(`true`), Finish: "stop",
		},
		Parts: []session.Part{
			{ID: "prt_aaaaaaaaaaaasummary0000001", Type: session.TextPart,
				Text: "## Goal\n\nThe zanzibar-summary of it all."},
			{ID: "prt_aaaaaaaaaaaasummary0000002", Type: session.TextPart, Text: "The carried-over-word.",
				Metadata: session.Note{Carry: true}.Metadata()},
		},
	}
	change := format.Change{Session: s, Ledger: doc.Ledger.With(rule.Elision{
		Part: second.ID, Message: second.MessageID, Field: rule.Output, Rule: "coverage", Because: "it was said again",
		Shown: "[middle call left out]", Saves: 40, Time: at,
	})}
	change.Session.Messages = append(append([]session.Message{}, s.Messages...), marker, summary)
	var out bytes.Buffer
	if err := (opencode.Format{}).Write(&out, doc, change); err != nil {
		t.Fatal(err)
	}
	return out.Bytes(), change
}

// TestOpenCode_importsWhatComesFromElsewhere writes a session whose ids, times and parts are none
// of the product's.
func TestOpenCode_importsWhatComesFromElsewhere(t *testing.T) {
	tries(t, "import", "compact")
	u := provider(t, llmtest.Text("I see."))
	s := session.Session{Info: session.Info{ID: "0f3c-elsewhere", Title: "From elsewhere", Directory: "/repo",
		Time: session.Lifetime{Created: 1700000000000.5}}}
	message := func(id string, role session.Role, parts ...session.Part) {
		s.Messages = append(s.Messages, session.Message{
			MessageInfo: session.MessageInfo{ID: id, SessionID: s.Info.ID, Role: role,
				Time: session.MessageTime{Created: 1700000000000.5}}, Parts: parts,
		})
	}
	call := func(id string, state session.ToolState) session.Part {
		return session.Part{ID: id, Type: session.ToolPart, CallID: "call-" + id, Tool: "Read", State: &state}
	}
	message("z-uuid-1", session.User, session.Part{ID: "9", Type: session.TextPart, Text: "folded-away request"})
	message("a-uuid-2", session.Assistant,
		session.Part{ID: "8", Type: session.ReasoningPart, Text: "I think."},
		call("7", session.ToolState{Status: session.Completed, Input: jsontext.Value(`"raw"`),
			Output: "folded-away output"}))
	message("m-uuid-3", session.User, session.Part{ID: "6", Type: session.TextPart, Text: "kept request"},
		session.Part{ID: "5", Type: "custom-kind", Text: "kept for later"},
		session.Part{ID: "55", Type: session.FilePart, Mime: "image/png", URL: "data:image/png;base64,iVBORw0KGgo=",
			Source: jsontext.Value(`{"kind":"paste"}`)})
	message("b-uuid-4", session.Assistant,
		call("4", session.ToolState{Status: session.Failed, Input: jsontext.Value(`{"path":"x"}`),
			Error: "kept error"}),
		call("3", session.ToolState{Status: session.Running}),
		call("2", session.ToolState{Status: session.Pending}))
	message("c-uuid-5", session.Assistant, session.Part{ID: "33", Type: session.TextPart, Text: "half an answer"})
	s.Messages[4].Error = jsontext.Value(`{"type":"overloaded"}`) // the product skips the message for it
	message("y-marker", session.User, session.Part{ID: "1", Type: session.CompactionPart, TailStartID: "m-uuid-3"})
	message("x-summary", session.Assistant, session.Part{ID: "0", Type: session.TextPart, Text: "a tangerine-summary"})
	s.Messages[6].ParentID, s.Messages[6].Finish, s.Messages[6].Summary = "y-marker", "stop", jsontext.Value(`true`)
	change := format.Change{Session: s, Ledger: rule.NewLedger(
		rule.Elision{Part: "4", Message: "b-uuid-4", Field: rule.Error, Rule: "errors", Shown: "kept", Time: 5},
		rule.Elision{Part: "55", Message: "m-uuid-3", Field: rule.Attachments, Rule: "files", Shown: "[File]", Time: 5},
	)}
	var out bytes.Buffer
	if err := (opencode.Format{}).Write(&out, nil, change); err != nil {
		t.Fatal(err)
	}
	c := importInto(t, u, out.Bytes())
	id := regexp.MustCompile(`ses_[A-Za-z0-9]+`).FindString(out.String())
	exported := []byte(c.run(t, "export", id))
	doc := readExport(t, exported)
	var got, want []string
	for _, m := range doc.Session.Messages {
		got = append(got, fmt.Sprint(m.ID, " ", m.ParentID))
		for _, p := range m.Parts {
			got = append(got, fmt.Sprint("  ", p.ID, " ", p.Type, " ", p.TailStartID))
		}
	}
	parents := map[string]string{"a-uuid-2": "z-uuid-1", "b-uuid-4": "m-uuid-3", "c-uuid-5": "m-uuid-3",
		"x-summary": "y-marker"}
	for _, m := range s.Messages {
		want = append(want, fmt.Sprint(m.ID, " ", parents[m.ID]))
		for _, p := range m.Parts {
			want = append(want, fmt.Sprint("  ", p.ID, " ", p.Type, " ", p.TailStartID))
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("read back from the product (-want +got):\n%s\n%s", diff, exported)
	}
	if diff := cmp.Diff(change.Ledger.All(), doc.Ledger.All()); diff != "" {
		t.Errorf("the ledger did not survive (-want +got):\n%s", diff)
	}

	u.Forget()
	c.run(t, "run", "-m", "local/m1", "-s", id, "Go on.")
	sent := lastChat(t, u)
	for _, want := range []string{"tangerine-summary", "kept request", "kept error"} {
		if !strings.Contains(sent, want) {
			t.Errorf("the request after the import lacks %q:\n%s", want, sent)
		}
	}
	if strings.Contains(sent, "folded-away") {
		t.Errorf("the request after the import has what was folded:\n%s", sent)
	}
}
