//go:build interop

package interop

import (
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/winnowhq/winnow/format/opencodedb"
	"github.com/winnowhq/winnow/internal/llmtest"
	"github.com/winnowhq/winnow/session"
)

// TestOpenCode_everyKindOfSessionEqualsItsExport has reasoning, a picture, an answer that the
// provider refused, a turn that was reverted, a fork, and a session of another project, all in one
// database that is read while the product serves.
func TestOpenCode_everyKindOfSessionEqualsItsExport(t *testing.T) {
	tries(t, "read its store")
	u := provider(t, func(r llmtest.Request) llmtest.Reply {
		switch {
		case len(r.ToolNames()) == 0:
			return llmtest.Reply{Text: "The gull"}
		case r.Contains("Be refused."):
			return llmtest.Reply{Fault: llmtest.BadRequest}
		case r.Contains("Write it down.") && r.Results() == 0:
			return llmtest.Reply{Reasoning: "A file will do.", Text: "So be it.",
				Calls: []llmtest.Call{{Name: "write", Arguments: `{"filePath":"gull.txt","content":"white\n"}`}}}
		}
		return llmtest.Reply{Reasoning: "It has wings.", Text: "A gull."}
	})
	c := newOpenCode(t, u)
	file := filepath.Join(c.Project, "opencode.json")
	config, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	thinking := fmt.Sprintf(`"provider":{"deep":{"npm":"@ai-sdk/anthropic","name":"deep",`+
		`"options":{"baseURL":"%s/v1","apiKey":"k"},"models":{"m1":{"name":"m1","limit":{"context":200000,`+
		`"output":8000},`+
		`"tool_call":true,"reasoning":true,"attachment":true,"modalities":{"input":["text","image"],`+
		`"output":["text"]},"cost":{"input":3,"output":15}}}},`, u.URL)
	text := []byte(strings.Replace(string(config), `"provider":{`, thinking, 1))
	elsewhere := filepath.Join(filepath.Dir(c.Project), "elsewhere")
	if err := os.Mkdir(elsewhere, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, folder := range []string{c.Project, elsewhere} {
		if err := os.WriteFile(filepath.Join(folder, "opencode.json"), text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	s := serve(t, c)

	seen := s.begin(t, "The picture")
	look := prompt("deep", "What is this?")
	look["parts"] = append(look["parts"].([]any), map[string]any{"type": "file", "mime": "image/png",
		"filename": "gull.png",
		"url": "data:image/png;base64," +
			"iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="})
	s.call(t, "/session/"+seen+"/message", look)
	s.call(t, "/session/"+seen+"/message", prompt("deep", "Write it down."))
	refused := s.begin(t, "The refusal")
	if _, err := s.post("/session/"+refused+"/message", prompt("deep", "Be refused.")); err != nil {
		t.Logf("the refused prompt: %v", err)
	}
	reverted := s.begin(t, "The way back")
	s.call(t, "/session/"+reverted+"/message", prompt("deep", "What flies?"))
	var answer struct {
		Info struct {
			ParentID string `json:"parentID"`
		} `json:"info"`
	}
	if err := json.Unmarshal(s.call(t, "/session/"+reverted+"/message", prompt("deep", "And what swims?")),
		&answer); err != nil || answer.Info.ParentID == "" {
		t.Fatalf("an answer without its question: %v", err)
	}
	s.call(t, "/session/"+reverted+"/revert", map[string]any{"messageID": answer.Info.ParentID})
	var forked, far struct {
		ID string `json:"id"`
	}
	if err := json.Unmarshal(s.call(t, "/session/"+seen+"/fork", map[string]any{}), &forked); err != nil ||
		forked.ID == "" {
		t.Fatalf("no fork: %v", err)
	}
	there := "?directory=" + url.QueryEscape(elsewhere)
	if err := json.Unmarshal(s.call(t, "/session"+there, map[string]any{"title": "Elsewhere"}), &far); err != nil ||
		far.ID == "" {
		t.Fatalf("no session elsewhere: %v", err)
	}
	s.call(t, "/session/"+far.ID+"/message"+there, prompt("deep", "What flies here?"))

	stores, err := opencodedb.Stores(filepath.Join(c.Home, ".local", "share", "opencode"))
	if err != nil || len(stores) != 1 {
		t.Fatalf("stores: %v %v", stores, err)
	}
	store, err := opencodedb.Open(stores[0])
	if err != nil {
		t.Fatal(err)
	}
	list, err := store.List(t.Context())
	if err != nil || len(list) != 5 {
		t.Fatalf("%d sessions are listed, want 5; %v", len(list), err)
	}
	for _, l := range list {
		want := c.Project
		if l.ID == far.ID {
			want = elsewhere
		}
		if l.Directory != want {
			t.Errorf("%s %q is listed in %s, want %s", l.ID, l.Title, l.Directory, want)
		}
	}

	// Nothing of the database is written: names, contents and times of change are as before. The
	// product still writes by itself now and then.
	for attempt := 1; ; attempt++ {
		before := digest(t, stores[0]) + changed(t, stores[0])
		for _, l := range list {
			if _, err := store.Read(t.Context(), l.ID); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := store.Sizes(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := store.Traces(t.Context()); err != nil {
			t.Fatal(err)
		}
		after := digest(t, stores[0]) + changed(t, stores[0])
		if after == before {
			t.Logf("not written to: %s", after)
			break
		}
		if attempt == 30 {
			t.Fatalf("the database or its log changes whenever it is read: %s, then %s", before, after)
		}
		time.Sleep(time.Second)
	}

	found := map[session.PartType]int{}
	for _, l := range list {
		at := *c
		at.Project = l.Directory
		same(t, store, &at, l.ID, "while it serves")
		doc, err := store.Read(t.Context(), l.ID)
		if err != nil {
			t.Fatal(err)
		}
		cost := 0.0
		for i := range doc.Session.Messages {
			m := &doc.Session.Messages[i]
			if m.Cost != nil {
				cost += *m.Cost
			}
			for _, p := range m.Parts {
				found[p.Type]++
			}
		}
		if diff := cost - l.Cost; l.ID != forked.ID && l.ID != reverted && (diff > 1e-9 || diff < -1e-9) {
			t.Errorf("%s %q: the product says $%v, its messages $%v", l.ID, l.Title, l.Cost, cost)
		}
	}
	t.Logf("parts: %v", found)
	for _, kind := range []session.PartType{session.TextPart, session.ReasoningPart, session.FilePart,
		session.ToolPart} {
		if found[kind] == 0 {
			t.Errorf("none of the sessions has a part %q: the product did not get to it", kind)
		}
	}
	doc, err := store.Read(t.Context(), refused)
	if err != nil {
		t.Fatal(err)
	}
	if last := doc.Session.Messages[len(doc.Session.Messages)-1]; !last.Failed() {
		t.Errorf("the refused answer did not fail: %+v", last.MessageInfo)
	}
	doc, err = store.Read(t.Context(), reverted)
	if err != nil {
		t.Fatal(err)
	}
	if len(doc.Session.Messages) != 2 || doc.Counts.Aside == 0 {
		t.Errorf("of the reverted session %d messages count and %d are aside, want 2 and the rest",
			len(doc.Session.Messages), doc.Counts.Aside)
	}
}

// changed is when the database and its log were changed, and which files there are. The index of
// the log is shared memory, whose time is not kept.
func changed(t *testing.T, path string) string {
	t.Helper()
	names, err := filepath.Glob(path + "*")
	if err != nil {
		t.Fatal(err)
	}
	text := ""
	for _, name := range names {
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		text += filepath.Base(name)
		if !strings.HasSuffix(name, "-shm") {
			text += info.ModTime().Format(" 15:04:05.000000000")
		}
		text += " "
	}
	return text
}
