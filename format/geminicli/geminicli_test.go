package geminicli

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/internal/filetest"
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
		for j := range m.Parts {
			p := &m.Parts[j]
			fmt.Fprintf(&b, " | %s %q", p.Type, p.Text)
			if p.State != nil {
				fmt.Fprintf(&b, " %s %s %s %q", p.Tool, p.State.Input, p.State.Status, p.State.Result())
				for _, file := range p.State.Attachments {
					fmt.Fprintf(&b, " with %s", file.URL)
				}
			}
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func TestRead_linesWithUpdatesRewindsAndDamage(t *testing.T) {
	doc := read(t, load(t, "chat.jsonl"))
	want := `u1 user  | text "Why does the kiln overheat?"
g1 assistant tool-calls | reasoning "Controller\nRead it first." | text "I look at the controller." | tool "" read_file {"absolute_path":"/home/dev/kiln/control.c"} completed "int limit = 1300;\n" | tool "" run_shell_command {"command":"make check"} error "no rule to make target"
u3 user  | text "Lower the limit to 1250."
`
	if diff := cmp.Diff(want, outline(doc.Session.Messages)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(format.Counts{Entries: 10, Messages: 4, ToolCalls: 2, ToolResults: 2, Aside: 1}, doc.Counts); diff != "" {
		t.Errorf("counts (-want +got):\n%s", diff)
	}
	if len(doc.Damaged) != 1 || doc.Damaged[0].Line != 6 {
		t.Errorf("damaged: %+v", doc.Damaged)
	}
	u := doc.Session.Messages[1].Tokens
	if u == nil || u.Input != 200 || u.Cache.Read != 1000 || u.Output != 40 || u.Reasoning != 15 || u.Total != 1255 {
		t.Errorf("usage: %+v", u)
	}
	i := doc.Session.Info
	if i.Title != "Kiln limit" || i.Directory != "/home/dev/kiln" || i.Model.String() != "google/gemini-2.5-pro" || i.Time.Created == 0 || !strings.Contains(string(i.Unknown), `"projectHash":"ab12"`) {
		t.Errorf("info: %+v", i)
	}
	if kept := string(doc.Session.Messages[0].Unknown); !strings.Contains(kept, "displayContent") {
		t.Errorf("unknown members are lost: %q", kept)
	}
}

func TestRead_oneObject(t *testing.T) {
	doc := read(t, load(t, "chat.json"))
	if diff := cmp.Diff("a user  | text \"Draw the flue.\"\nb assistant stop | text \"Done.\"\n", outline(doc.Session.Messages)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if doc.Session.Messages[1].ParentID != "a" || doc.Session.Info.ID != "5d1c7a10-0000-4000-8000-000000000002" {
		t.Errorf("got %+v", doc.Session.Info)
	}
}

func TestRead_checkpointPairsCallsWithResults(t *testing.T) {
	for _, src := range []string{string(load(t, "checkpoint.json")), `{"authType":"x","history":` + string(load(t, "checkpoint.json")) + `}`} {
		doc := read(t, []byte(src))
		want := `gemini_000001 user  | text "List the shelves."
gemini_000002 assistant tool-calls | reasoning "Thinking of it" | tool "" list_directory {"path":"/shelves"} completed "upper\nlower"
gemini_000004 assistant stop | text "Upper and lower."
`
		if diff := cmp.Diff(want, outline(doc.Session.Messages)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}

func TestRead_aListThatBeginsWithASummaryIsACompression(t *testing.T) {
	src := `{"sessionId":"s","projectHash":"h"}
{"id":"u1","type":"user","content":"old"}
{"$set":{"messages":[{"id":"s1","type":"user","content":[{"text":"A summary"}]}]}}
{"id":"g2","type":"gemini","content":"new"}
`
	doc := read(t, []byte(src))
	want := `u1 user  | text "old"
s1 user  | compaction ""
s1:summary assistant stop | text "A summary"
g2 assistant stop | text "new"
`
	if diff := cmp.Diff(want, outline(doc.Session.Messages)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if doc.Counts.Aside != 0 || !doc.Theirs["s1"] {
		t.Errorf("aside: %d, the product's: %v", doc.Counts.Aside, doc.Theirs)
	}
}

func TestRead_aCutFileGivesWhatCameBefore(t *testing.T) {
	src := load(t, "chat.json")
	doc := read(t, src[:len(src)-60])
	if len(doc.Session.Messages) != 1 || len(doc.Damaged) != 1 || doc.Damaged[0].Reason != "the file is cut short" {
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
	for _, name := range []string{"chat.json", "chat.jsonl", "resumed.jsonl", "checkpoint.json"} {
		if !(Format{}).Detect(load(t, name)) {
			t.Errorf("%s is not recognised", name)
		}
	}
	for _, other := range []string{"", "[", `{"sessionId":"x"}`, `[{"role":"user","content":"x"}]`, `{"contents":[{"role":"user","parts":[]}]}`, `{"history":[{"role":"user","agent":"main"}]}`} {
		if (Format{}).Detect([]byte(other)) {
			t.Errorf("%s is taken for a chat", other)
		}
	}
}

func FuzzRead(f *testing.F) {
	for _, name := range []string{"chat.json", "chat.jsonl", "resumed.jsonl", "checkpoint.json"} {
		f.Add(load(f, name))
	}
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
		change := format.Change{Session: filetest.Fold(doc.Session, "one", ""), Ledger: doc.Ledger.With(
			filetest.Some(doc.Session.Messages, rand.New(rand.NewPCG(1, 1)))...)}
		if (Format{}).Write(io.Discard, doc, change) == format.ErrReadOnly {
			return
		}
		filetest.Unchanged(t, Format{}, doc)
		after := filetest.Read(t, Format{}, filetest.Write(t, Format{}, doc, change))
		filetest.Unchanged(t, Format{}, after)
		if !slices.ContainsFunc(after.Session.Messages, func(m session.Message) bool { return m.ID == "msg_one" }) {
			t.Fatalf("folded and read again there is no pivot:\n%s", outline(after.Session.Messages))
		}
	})
}

func TestRead_resultsReachTheirCallsWhateverGoesAlong(t *testing.T) {
	for _, c := range []struct{ name, src, want string }{
		{"a picture and a note beside a result", `[{"role":"user","parts":[{"text":"Look."}]},
{"role":"model","parts":[{"functionCall":{"id":"c1","name":"read_file","args":{"path":"a.png"}}}]},
{"role":"user","parts":[{"functionResponse":{"id":"c1","name":"read_file","response":{"output":"a picture"}}},{"inlineData":{"mimeType":"image/png","data":"aGk="}},{"text":"note of a hook"}]},
{"role":"model","parts":[{"text":"A gull."}]}]`,
			`gemini_000001 user  | text "Look."
gemini_000002 assistant tool-calls | tool "" read_file {"path":"a.png"} completed "a picture" with data:image/png;base64,aGk=
gemini_000003 user  | text "note of a hook"
gemini_000004 assistant stop | text "A gull."
`},
		{"calls that the model did not name", `[{"role":"user","parts":[{"text":"Look."}]},
{"role":"model","parts":[{"functionCall":{"name":"ls","args":{"path":"a"}}},{"functionCall":{"name":"cat","args":{"path":"b"}}},{"functionCall":{"name":"ls","args":{"path":"c"}}}]},
{"role":"user","parts":[{"functionResponse":{"id":"ls-1","name":"ls","response":{"output":"in a"}}},{"functionResponse":{"id":"cat-2","name":"cat","response":{"error":"no b"}}},{"functionResponse":{"id":"ls-3","name":"ls","response":{"output":"in c"}}}]}]`,
			`gemini_000001 user  | text "Look."
gemini_000002 assistant tool-calls | tool "" ls {"path":"a"} completed "in a" | tool "" cat {"path":"b"} error "no b" | tool "" ls {"path":"c"} completed "in c"
`},
		{"a result of no call", `[{"role":"user","parts":[{"functionResponse":{"id":"gone","name":"ls","response":{"output":"in a"}}}]},{"role":"model","parts":[{"text":"So."}]}]`,
			`gemini_000001 user  | text "in a"
gemini_000002 assistant stop | text "So."
`},
		{"a recording whose calls bear all results of their turn", `{"sessionId":"s","projectHash":"h"}
{"id":"u","type":"user","content":"Look."}
{"id":"g","type":"gemini","content":"","toolCalls":[{"id":"c1","name":"ls","args":{},"status":"success","result":[{"functionResponse":{"id":"c1","name":"ls","response":{"output":"one"}}},{"inlineData":{"mimeType":"image/png","data":"aGk="}},{"functionResponse":{"id":"c2","name":"ls","response":{"output":"two"}}}]},{"id":"c2","name":"ls","args":{},"status":"success","result":[{"functionResponse":{"id":"c1","name":"ls","response":{"output":"one"}}},{"inlineData":{"mimeType":"image/png","data":"aGk="}},{"functionResponse":{"id":"c2","name":"ls","response":{"output":"two"}}}]}]}
{"id":"r","type":"user","content":[{"functionResponse":{"id":"c1","name":"ls","response":{"output":"one"}}},{"inlineData":{"mimeType":"image/png","data":"aGk="}},{"functionResponse":{"id":"c2","name":"ls","response":{"output":"two"}}}]}
`,
			`u user  | text "Look."
g assistant tool-calls | tool "" ls {} completed "one" with data:image/png;base64,aGk= | tool "" ls {} completed "two"
`},
	} {
		doc := read(t, []byte(c.src))
		if diff := cmp.Diff(c.want, outline(doc.Session.Messages)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
		turns := 0
		for i := range doc.Session.Messages {
			if doc.Session.Messages[i].Written() {
				turns++
			}
		}
		if want := strings.Count(c.want, `"Look."`); turns != want {
			t.Errorf("%s: %d messages are the user's, want %d", c.name, turns, want)
		}
	}
}
