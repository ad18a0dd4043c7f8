package qwen

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/internal/filetest"
	"github.com/winnowhq/winnow/session"
)

func load(t testing.TB) []byte {
	t.Helper()
	src, err := os.ReadFile("testdata/session.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	return src
}

func read(t testing.TB, src string) *format.Document {
	t.Helper()
	doc, err := Format{}.Read([]byte(src))
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

// outline has a line for each message; what the user did not write himself is in brackets.
func outline(log []session.Message) string {
	var b strings.Builder
	for i := range log {
		m := &log[i]
		fmt.Fprintf(&b, "%s %s %s", m.ID, m.Role, m.Finish)
		if u := m.Tokens; u != nil {
			fmt.Fprintf(&b, " %d+%d>%d+%d", u.Input, u.Cache.Read, u.Output, u.Reasoning)
		}
		for j := range m.Parts {
			p := &m.Parts[j]
			text := fmt.Sprintf("%s %q", p.Type, p.Text+p.TailStartID+p.URL)
			if p.Synthetic || p.Ignored {
				text = "[" + text + "]"
			}
			b.WriteString(" | " + text)
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

func TestRead_session(t *testing.T) {
	doc := read(t, string(load(t)))
	want := `u1 user  | text "Why does @control.c overheat the kiln?" | [text "\n--- Content from referenced files ---"] | [text "\nContent from control.c:\n"] | [text "int limit = 1300;\n"] | [text "\n--- End of content ---"] | [text "<system-reminder>\nIt is March.\n</system-reminder>"]
a1 assistant tool-calls 400+600>15+5 | reasoning "The limit looks high." | text "I look at the tests." | tool "" read_file {"file_path":"/home/dev/kiln/check.c"} completed "assert(limit < 1260);\n" | tool "" run_shell_command {"command":"make check"} error "no rule to make target"
u2 user  | text "Lower the limit to 1250."
a2 assistant stop 200+1000>12+0 | text "It is 1250 now."
k1 user  | compaction "u2"
k1:summary assistant stop | text "The kiln overheated: its limit was 1300." | text "Understood."
g1 user  | [text "A background task is done."]
u3 user  | text "Thanks. Is there a picture?" | file "data:image/png;base64,aGk="
a3 assistant stop 90+0>3+0 | text "There is."
`
	if diff := cmp.Diff(want, outline(doc.Session.Messages)); diff != "" {
		t.Errorf("the log (-want +got):\n%s", diff)
	}
	if want := (format.Counts{Entries: 19, Messages: 11, ToolCalls: 2, ToolResults: 2, Aside: 2}); doc.Counts != want {
		t.Errorf("counts %+v, want %+v", doc.Counts, want)
	}
	if len(doc.Damaged) != 1 || doc.Damaged[0].Line != 14 {
		t.Errorf("damage %+v, want line 14", doc.Damaged)
	}
	if info := doc.Session.Info; info.Title != "The kiln overheats" || info.Directory != "/home/dev/kiln" ||
		info.Version != "0.24.4" || !strings.HasPrefix(info.ID, "0f6d2c1a-") || info.Model.String() != "qwen3-coder-plus" {
		t.Errorf("info %+v", info)
	}
	if !doc.Theirs["k1"] {
		t.Error("the compression is not the product's own")
	}
	beside := ""
	for _, one := range doc.Beside {
		beside += fmt.Sprintf("%s %s %s %d+%d>%d\n", one.ID, one.Kind, one.Model, one.Usage.Input, one.Usage.Cache.Read, one.Usage.Output)
	}
	if diff := cmp.Diff(`w2 left qwen3-coder-plus 100+1000>8
n2 agent qwen3-coder-plus 300+0>10
n4 summary qwen3-coder-plus 100+1200>30
`, beside); diff != "" {
		t.Errorf("what was paid beside (-want +got):\n%s", diff)
	}
}

// line is a record; more are its other members.
func line(uuid, parent, kind, more string) string {
	return fmt.Sprintf(`{"uuid":%q,"parentUuid":%q,"sessionId":"s","type":%q,%s}`+"\n", uuid, parent, kind, more)
}

func text(said string) string { return fmt.Sprintf(`"message":{"parts":[{"text":%q}]}`, said) }

func TestRead_branches(t *testing.T) {
	ask, answer := line("u", "", "user", text("Hello.")), line("a", "u", "assistant", text("Hi."))
	both := "u user  | text \"Hello.\"\na assistant stop | text \"Hi.\"\n"
	for _, c := range []struct{ name, src, want string }{
		{"a straight line", ask + answer, both},
		{"a loop", line("u", "a", "user", text("Hello.")) + answer, both},
		{"a parent that is missing", ask + line("a", "gone", "assistant", text("Hi.")), both},
		{"a branch that was left", ask + line("b", "u", "assistant", text("What?")) + answer, both},
		{"an answer in pieces", ask + answer + line("a", "u", "assistant", text("More.")),
			both + "a#2 assistant stop | text \"More.\"\n"},
		{"records that lead nowhere", ask + answer + line("x", "u", "system", `"subtype":"session_artifact_event"`), both},
		{"a result of no call", ask + answer + line("r", "a", "tool_result",
			`"message":{"parts":[{"functionResponse":{"id":"gone","response":{"output":"in a"}}}]}`),
			both + "r user  | [text \"in a\"]\n"},
		{"what was said aloud, which is not sent", ask + answer + line("l", "a", "user",
			`"subtype":"realtime_message",`+text("Um.")), both + "l user  | [text \"Um.\"]\n"},
		{"a command to the product alone", ask + answer + line("c", "a", "user", text("/stats")) + line("d", "c", "system",
			`"subtype":"slash_command","systemPayload":{"phase":"result","rawCommand":"/stats","outputHistoryItems":[{"type":"assistant"}]}`),
			both + "c user  | [text \"/stats\"]\n"},
		{"a command that the model saw", ask + answer + line("c", "a", "user", text("/plan")) + line("d", "c", "system",
			`"subtype":"slash_command","systemPayload":{"phase":"result","rawCommand":"/plan","sentToModel":true,"outputHistoryItems":[{"type":"assistant"}]}`),
			both + "c user  | text \"/plan\"\n"},
		{"a picture in a result", ask + line("a", "u", "assistant",
			`"message":{"parts":[{"functionCall":{"id":"c","name":"look","args":{}}}]}`) + line("r", "a", "tool_result",
			`"message":{"parts":[{"functionResponse":{"id":"c","response":{"output":"a gull"},"parts":[{"inlineData":{"mimeType":"image/png","data":"aGk="}}]}}]}`),
			"u user  | text \"Hello.\"\na assistant tool-calls | tool \"\" look {} completed \"a gull\" with data:image/png;base64,aGk=\n"},
	} {
		if diff := cmp.Diff(c.want, outline(read(t, c.src).Session.Messages)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

func TestRead_whatIsLostIsListed(t *testing.T) {
	ask := line("u", "", "user", text("Hello."))
	for _, c := range []struct{ name, src, reason string }{
		{"a message without parts", ask + line("a", "u", "assistant", `"message":{"content":"Hi."}`), "a message without parts"},
		{"a message without a uuid", ask + line("", "u", "assistant", text("Hi.")), "a message without a uuid"},
	} {
		doc := read(t, c.src)
		if len(doc.Damaged) != 1 || doc.Damaged[0].Line != 2 || doc.Damaged[0].Reason != c.reason {
			t.Errorf("%s: damage %+v", c.name, doc.Damaged)
		}
	}
	for name, src := range map[string]string{"nothing": "", "no message with parts": `{"uuid":"u","sessionId":"s","type":"user","message":{"content":"Hi."}}`} {
		if doc, err := (Format{}).Read([]byte(src)); err == nil {
			t.Errorf("%s is read: %+v", name, doc.Session)
		}
	}
}

func TestDetect(t *testing.T) {
	long := line("u", "", "user", `"message":{"role":"user","parts":[{"text":"`+strings.Repeat("long ", 100)+`"}]}`)
	for _, c := range []struct {
		name, head string
		want       bool
	}{
		{"a session", string(load(t)), true},
		{"damage first", "{\"uuid\n" + string(load(t)), true},
		{"a line that is cut", long[:300], true},
		{"Claude Code", `{"uuid":"u","parentUuid":null,"sessionId":"s","type":"user","message":{"role":"user","content":"Hi."}}`, false},
		{"a list of contents", `[{"role":"user","parts":[{"text":"Hi."}]}]`, false},
		{"nothing", "", false},
	} {
		if got := (Format{}).Detect([]byte(c.head)); got != c.want {
			t.Errorf("%s: %t", c.name, got)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add(load(f))
	f.Fuzz(func(t *testing.T, src []byte) {
		Format{}.Detect(src)
		doc, err := Format{}.Read(src)
		if err != nil {
			return
		}
		ids := map[string]bool{}
		for i := range doc.Session.Messages {
			m := &doc.Session.Messages[i]
			if ids[m.ID] {
				t.Fatalf("two messages are called %q", m.ID)
			}
			ids[m.ID] = true
			for j := range m.Parts {
				p := &m.Parts[j]
				if p.Type == session.ToolPart && (p.State == nil || p.State.Input.Kind() != '{') {
					t.Fatalf("a call without state or input: %+v", p)
				}
				if p.TailStartID != "" && !ids[p.TailStartID] {
					t.Fatalf("a tail begins at %q, which is not before it", p.TailStartID)
				}
			}
		}
		if _, err := doc.Session.Clone(); err != nil {
			t.Fatalf("the session cannot be written as JSON: %v", err)
		}
		filetest.Unchanged(t, Format{}, doc)
		change := format.Change{Session: filetest.Fold(doc.Session, "one", ""), Ledger: doc.Ledger.With(
			filetest.Some(doc.Session.Messages, rand.New(rand.NewPCG(1, 1)))...)}
		after := filetest.Read(t, Format{}, filetest.Write(t, Format{}, doc, change))
		filetest.Unchanged(t, Format{}, after)
		if got, want := len(after.Session.Messages), len(change.Session.Messages); got != want {
			t.Fatalf("folded and read again there are %d messages, want %d", got, want)
		}
	})
}
