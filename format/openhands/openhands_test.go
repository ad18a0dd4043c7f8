package openhands

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/session"
)

func load(t testing.TB, name string) []byte {
	t.Helper()
	src, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return src
}

func read(t testing.TB, src []byte) *format.Document {
	t.Helper()
	doc, err := Format{}.Read(src)
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

func outline(log []session.Message) string {
	var b strings.Builder
	for i := range log {
		m := &log[i]
		fmt.Fprintf(&b, "%s %s %s", m.ID, m.Role, m.Finish)
		if u := m.Tokens; u != nil {
			fmt.Fprintf(&b, " [%d %d %d %d %d]", u.Input, u.Output, u.Reasoning, u.Cache.Read, u.Cache.Write)
		}
		for j := range m.Parts {
			p := &m.Parts[j]
			fmt.Fprintf(&b, " | %s %q", p.Type, p.Text)
			if p.TailStartID != "" {
				fmt.Fprintf(&b, " tail %s", p.TailStartID)
			}
			if p.State != nil {
				fmt.Fprintf(&b, " %s %s %s %q", p.Tool, p.State.Input, p.State.Status, p.State.Result())
			}
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func TestRead_eventsUpToZero(t *testing.T) {
	want := `oh_000002 user  | text "Why is the tank cloudy?"
oh_000005 assistant tool-calls [300 30 0 600 0] | text "I read the log." | tool "" execute_bash {"command":"cat filter.log"} completed "pump stopped" | tool "" execute_bash {"command":"false"} error "no shell"
oh_000009 user  | compaction ""
oh_000009-summary assistant stop | text "The pump had stopped."
oh_000011 assistant tool-calls | tool "" finish {"final_thought": "The pump is the cause.", "task_completed": "true", "thought": ""} completed "" | text "The pump is the cause."
`
	src := load(t, "old.json")
	for _, src := range [][]byte{src, []byte(`{"instance_id":"tank-1","history":` + string(src) + `,"metrics":{}}`)} {
		doc := read(t, src)
		if diff := cmp.Diff(want, outline(doc.Session.Messages)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(format.Counts{Entries: 11, Messages: 4, ToolCalls: 3, ToolResults: 2, Aside: 3}, doc.Counts); diff != "" {
			t.Errorf("counts (-want +got):\n%s", diff)
		}
		if len(doc.Damaged) != 1 || !strings.Contains(doc.Damaged[0].Reason, "not an object") {
			t.Errorf("damaged: %+v", doc.Damaged)
		}
		if m := doc.Session.Messages[1]; m.Cost == nil || *m.Cost != 0.01 || m.ModelID != "claude-x" || m.ParentID != "oh_000002" {
			t.Errorf("got %+v", m.MessageInfo)
		}
		if !strings.Contains(string(doc.Session.Info.Unknown), "You tend an aquarium.") || doc.Session.Info.Model.String() != "anthropic/claude-x" {
			t.Errorf("info: %+v", doc.Session.Info)
		}
	}
}

func TestRead_eventsOfTheSDK(t *testing.T) {
	doc := read(t, load(t, "sdk.jsonl"))
	want := `oh_000002 user  | text "Count the finches."
oh_000003 assistant tool-calls [200 30 20 500 100] | reasoning "ls will do" | text "I list them." | tool "" terminal {"command":"ls finches"} completed "zebra\ngould" | tool "" terminal {"command":"rm x"} error "keep x"
oh_000007 user  | compaction ""
oh_000007-summary assistant stop | text "Two finches: zebra and gould."
oh_000008 assistant stop | text "There are two."
`
	if diff := cmp.Diff(want, outline(doc.Session.Messages)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if len(doc.Damaged) != 1 || doc.Damaged[0].Line != 8 {
		t.Errorf("damaged: %+v", doc.Damaged)
	}
	if i := doc.Session.Info; i.ID != "7f0c0000-0000-4000-8000-000000000001" || i.Directory != "/srv/aviary" || i.Time.Created == 0 {
		t.Errorf("info: %+v", i)
	}
	if doc.Counts.Aside != 1 || doc.Counts.Entries != 9 {
		t.Errorf("counts: %+v", doc.Counts)
	}
}

func TestRead_whatWasNotForgottenIsTheTail(t *testing.T) {
	src := `[{"id":"a","source":"user","kind":"MessageEvent","llm_message":{"role":"user","content":"one"}},
{"id":"b","source":"agent","kind":"MessageEvent","llm_message":{"role":"assistant","content":"two"}},
{"id":"c","source":"user","kind":"MessageEvent","llm_message":{"role":"user","content":"three"}},
{"id":"d","source":"environment","kind":"Condensation","forgotten_event_ids":["a","b"],"summary":"One and two.","llm_response_id":"x"}]`
	doc := read(t, []byte(src))
	if m := doc.Session.Messages[3].Marker(); m == nil || m.TailStartID != doc.Session.Messages[2].ID {
		t.Errorf("the tail begins at %+v", m)
	}
}

func TestRead_aCutFileGivesWhatCameBefore(t *testing.T) {
	src := load(t, "old.json")
	doc := read(t, src[:len(src)/2])
	if len(doc.Session.Messages) != 2 || len(doc.Damaged) != 1 || doc.Damaged[0].Reason != "the file is cut short" {
		t.Errorf("%d messages, damaged %+v", len(doc.Session.Messages), doc.Damaged)
	}
	var syntax *format.SyntaxError
	for _, bad := range []string{"", "{", "[]", "nonsense", `{"a":1}`} {
		if _, err := (Format{}).Read([]byte(bad)); !errors.As(err, &syntax) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func TestDetect_knowsItsOwnOnly(t *testing.T) {
	old, sdk := string(load(t, "old.json")), string(load(t, "sdk.jsonl"))
	_, events, _ := strings.Cut(sdk, "\n")
	for _, own := range []string{old, sdk, events, "[" + strings.SplitN(events, "\n", 2)[0] + "]", `{"history":` + old + `}`, `{"instance_id":"x","history":[[` + strings.TrimSuffix(strings.Split(old, "\n")[2], ",") + `,{}]]}`} {
		if !(Format{}).Detect([]byte(own)) {
			t.Errorf("not recognised: %.80s", own)
		}
	}
	for _, other := range []string{"", "[", `[{"role":"user","content":"x"}]`, `{"history":[{"role":"user","agent":"main","content":"x"}]}`, `{"trajectory":[{"action":"ls","observation":"a","response":"x","thought":""}],"history":[]}`, `{"type":"user","message":{},"source":"agent"}`} {
		if (Format{}).Detect([]byte(other)) {
			t.Errorf("%s is taken for a trajectory of OpenHands", other)
		}
	}
	if err := (Format{}).Write(io.Discard, nil, format.Change{}); !errors.Is(err, format.ErrReadOnly) {
		t.Errorf("Write: %v", err)
	}
}

func FuzzRead(f *testing.F) {
	f.Add(load(f, "old.json"))
	f.Add(load(f, "sdk.jsonl"))
	f.Fuzz(func(t *testing.T, src []byte) {
		Format{}.Detect(src)
		doc, err := Format{}.Read(src)
		if err != nil {
			return
		}
		for i := range doc.Session.Messages {
			for j := range doc.Session.Messages[i].Parts {
				if p := &doc.Session.Messages[i].Parts[j]; p.Type == session.ToolPart && (p.State == nil || p.State.Input.Kind() != '{') {
					t.Fatalf("a call without state or input: %+v", p)
				}
			}
		}
		if _, err := doc.Session.Clone(); err != nil {
			t.Fatalf("the session cannot be written as JSON: %v", err)
		}
	})
}
