package miniswe

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/session"
)

func load(t testing.TB, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func outline(log []session.Message) (lines []string) {
	for i := range log {
		m := &log[i]
		line := m.ID + " " + string(m.Role)
		if m.Written() {
			line += " written"
		}
		for j := range m.Parts {
			p := &m.Parts[j]
			if line += " | " + p.ID; p.State == nil {
				line += fmt.Sprintf(" %q", p.Text)
				continue
			}
			line += fmt.Sprintf(" %s %s %s %q %s", p.Tool, p.State.Input, p.State.Status, p.State.Output, p.State.Metadata)
		}
		lines = append(lines, line)
	}
	return lines
}

func TestRead(t *testing.T) {
	for name, c := range map[string]struct {
		log    []string
		counts format.Counts
		tokens session.Usage // of the first answer
		cost   float64
		model  string
	}{
		"text.traj.json": {[]string{
			`mini_000002 user written | mini_000002:0 "The kiln never cools. Mend it."`,
			`mini_000003 assistant | mini_000003:0 "THOUGHT: I look around." | mini_000003:bash bash {"command":"ls -R"} completed ` +
				`"<returncode>2</returncode>\n<output>\nkiln.py\n</output>" {"exit":2}`,
			`mini_000005 assistant | mini_000005:0 "I forgot the command."`,
			`mini_000006 user | mini_000006:0 "Give EXACTLY ONE action, found 0."`,
			`mini_000007 assistant | mini_000007:0 "THOUGHT: Done." | mini_000007:bash bash {"command":"echo COMPLETE && git diff"} completed ` +
				`"diff --git a/kiln.py b/kiln.py\n" {} | mini_000007:2 "That is all."`,
		}, format.Counts{Entries: 8, Messages: 8, ToolCalls: 2, ToolResults: 2},
			session.Usage{Total: 1050, Input: 600, Output: 30, Reasoning: 20, Cache: session.CacheUsage{Read: 400}},
			0.0026, "google/gemini-3-pro-preview"},
		"calls.traj.json": {[]string{
			`mini_000002 user written | mini_000002:0 "The loom tears the thread."`,
			`mini_000003 assistant | mini_000003:0 "I look." | call_1 bash {"command": "ls"} completed ` +
				`"<returncode>0</returncode>\n<output>\nloom.c\n</output>" {"exit":0} | call_2 bash {"command": "cat loom.c"} completed ` +
				`"<returncode>0</returncode>\n<output>\nint main;\n</output>" {"exit":0}`,
		}, format.Counts{Entries: 6, Messages: 6, ToolCalls: 2, ToolResults: 2},
			session.Usage{Total: 2060, Input: 300, Output: 60, Cache: session.CacheUsage{Read: 1200, Write: 500}},
			0.01, "anthropic/claude-sonnet-4-5"},
	} {
		t.Run(name, func(t *testing.T) {
			src := load(t, name)
			if !(Format{}).Detect(src) || !(Format{}).Detect(src[:len(src)*3/4]) && strings.Contains(name, "text") {
				t.Error("not detected")
			}
			doc, err := Format{}.Read(src)
			if err != nil {
				t.Fatal(err)
			}
			log := doc.Session.Messages
			if diff := cmp.Diff(c.log, outline(log)); diff != "" {
				t.Errorf("log (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.counts, doc.Counts); diff != "" {
				t.Errorf("counts (-want +got):\n%s", diff)
			}
			first := &log[1]
			if diff := cmp.Diff(&c.tokens, first.Tokens); diff != "" || first.Cost == nil || *first.Cost != c.cost || first.Time.Created == 0 {
				t.Errorf("%v at %v; tokens (-want +got):\n%s", first.Cost, first.Time, diff)
			}
			if got := doc.Session.Info.Model.String(); got != c.model {
				t.Errorf("model %s", got)
			}
			if !strings.Contains(string(doc.Session.Info.Unknown), `"system":["You mend programs`) {
				t.Errorf("the session's own member: %s", doc.Session.Info.Unknown)
			}
			if problems := session.Check(log); len(problems) > 0 || len(doc.Damaged) > 0 {
				t.Errorf("problems %v, damage %v", problems, doc.Damaged)
			}
			for n := range src {
				var syntax *format.SyntaxError
				if _, err := (Format{}).Read(src[:n]); err != nil && !errors.As(err, &syntax) {
					t.Fatalf("cut at %d: %v", n, err)
				}
			}
		})
	}
}

func TestDetect_othersAreNot(t *testing.T) {
	for _, head := range []string{"", "{}", `{"info":{"id":"ses_1"},"messages":[]}`, `{"trajectory":[{"action":"ls","observation":""}]}`,
		`{"info":{"exit_status":"submitted"},"history":[{"role":"user"}]}`,
		`{"messages":[{"role":"user","content":"hi"}]}`, `{"trajectory_format":"other"}`} {
		if (Format{}).Detect([]byte(head)) {
			t.Errorf("%s is taken for one", head)
		}
	}
}

func TestDetect_aLongPatch(t *testing.T) {
	head := `{"info": {"exit_status": "Submitted", "submission": "diff --git` + strings.Repeat(" a line", 10_000)
	if !(Format{}).Detect([]byte(head)) {
		t.Error("not detected")
	}
}

func TestWrite_isRefused(t *testing.T) {
	if err := (Format{}).Write(io.Discard, nil, format.Change{}); !errors.Is(err, format.ErrReadOnly) {
		t.Errorf("got %v", err)
	}
}

func FuzzRead(f *testing.F) {
	f.Add(load(f, "text.traj.json"))
	f.Add(load(f, "calls.traj.json"))
	f.Fuzz(func(t *testing.T, src []byte) {
		Format{}.Detect(src)
		doc, err := Format{}.Read(bytes.Clone(src))
		if err != nil {
			return
		}
		if doc.Counts.Messages == 0 {
			t.Fatal("read without an error, and without a message")
		}
		if _, err := doc.Session.Clone(); err != nil {
			t.Fatalf("the session cannot be written as JSON: %v", err)
		}
	})
}
