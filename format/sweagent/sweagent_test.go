package sweagent

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/winnowhq/winnow/internal/outside"

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

func read(t testing.TB, src []byte) *format.Document {
	t.Helper()
	doc, err := Format{}.Read(src)
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

func outline(log []session.Message) []string {
	var lines []string
	for i := range log {
		m := &log[i]
		line := m.ID + " " + string(m.Role)
		if m.Written() {
			line += " written"
		}
		for j := range m.Parts {
			p := &m.Parts[j]
			line += fmt.Sprintf(" | %s %s", p.ID, p.Type)
			if p.State != nil {
				line += fmt.Sprintf(" %s %s %s %q +%d", p.Tool, p.State.Input, p.State.Status, p.State.Output, len(p.State.Attachments))
			} else {
				line += fmt.Sprintf(" %q", p.Text)
			}
		}
		lines = append(lines, line)
	}
	return lines
}

func TestRead_callsAreJoinedWithTheirResults(t *testing.T) {
	doc := read(t, load(t, "calls.traj"))
	want := []string{
		`swe_000002 user | swe_000002:0 text "A worked example."`,
		`swe_000003 user written | swe_000003:0 text "The kiln never cools. Mend it."`,
		`swe_000004 assistant | swe_000004:0 reasoning "Where is the code?" | swe_000004:1 text "I look around." | call_a tool bash {"command":"ls"} completed "kiln.py\n" +1`,
		`swe_000006 assistant | swe_000006:0 text "" | call_a#2 tool submit {"arguments":"no JSON"} running "" +0`,
	}
	if diff := cmp.Diff(want, outline(doc.Session.Messages)); diff != "" {
		t.Errorf("log (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(format.Counts{Entries: 6, Messages: 6, ToolCalls: 2, ToolResults: 2}, doc.Counts); diff != "" {
		t.Errorf("counts (-want +got):\n%s", diff)
	}
	info := doc.Session.Info
	if info.Model.String() != "anthropic/claude-sonnet-4" || doc.Session.Messages[2].ModelID != "claude-sonnet-4" {
		t.Errorf("model: got %v", info.Model)
	}
	for _, want := range []string{`"system":["You mend programs."]`, `"exitStatus":"submitted"`, `"instance_cost":0.25`} {
		if !strings.Contains(string(info.Unknown), want) {
			t.Errorf("the session's own member lacks %s: %s", want, info.Unknown)
		}
	}
}

func TestRead_commandsInTextsStayTextsAndTheirOutputsStartNoTurn(t *testing.T) {
	doc := read(t, load(t, "text.traj"))
	want := []string{
		`swe_000002 user written | swe_000002:0 text "The loom tears the thread."`,
		"swe_000003 assistant | swe_000003:0 text \"Look.\\n```\\nls\\n```\"",
		`swe_000004 user | swe_000004:0 text "loom.c\n(Open file: n/a)"`,
		"swe_000005 assistant | swe_000005:0 text \"Done.\\n```\\nsubmit\\n```\"",
	}
	if diff := cmp.Diff(want, outline(doc.Session.Messages)); diff != "" {
		t.Errorf("log (-want +got):\n%s", diff)
	}
	if turns := session.Turns(doc.Session.Messages); len(turns) != 1 {
		t.Errorf("got %d turns, want 1", len(turns))
	}
}

func TestRead_aCutFileIsReadAsFarAsItGoes(t *testing.T) {
	src := load(t, "text.traj")
	cut := bytes.Index(src, []byte("(Open file"))
	doc := read(t, src[:cut])
	if len(doc.Session.Messages) != 2 || len(doc.Damaged) != 1 {
		t.Fatalf("got %v, damage %v", outline(doc.Session.Messages), doc.Damaged)
	}
	d := doc.Damaged[0]
	if d.Reason != "the file is cut short" || int(d.Offset)+d.Bytes != cut || !bytes.Contains(src[d.Offset:cut], []byte("loom.c")) {
		t.Errorf("damage: got %+v", d)
	}
	// Before the history, the steps of the trajectory are all that there is.
	doc = read(t, src[:bytes.Index(src, []byte(`"history"`))])
	if got := outline(doc.Session.Messages); len(got) != 2 || !strings.Contains(got[1], "loom.c") {
		t.Errorf("from the trajectory: got %v", got)
	}
	// No prefix panics, and each that is refused says where.
	for n := range src {
		if _, err := (Format{}).Read(src[:n]); err != nil {
			var syntax *format.SyntaxError
			if !errors.As(err, &syntax) {
				t.Fatalf("cut at %d: %v", n, err)
			}
		}
	}
}

func TestWrite_isRefused(t *testing.T) {
	if err := (Format{}).Write(io.Discard, nil, format.Change{}); !errors.Is(err, format.ErrReadOnly) {
		t.Errorf("got %v", err)
	}
}

func TestDetect(t *testing.T) {
	calls, text := string(load(t, "calls.traj")), string(load(t, "text.traj"))
	for name, c := range map[string]struct {
		head string
		want bool
	}{
		"calls":                   {calls, true},
		"text":                    {text, true},
		"cut in the first step":   {text[:150], true},
		"the history comes first": {"{" + text[strings.Index(text, `"history"`):], true},
		"an export":               {`{"info":{"id":"ses_1"},"messages":[]}`, false},
		"a request body":          {`{"model":"m","messages":[{"role":"user","content":"hi"}]}`, false},
		"another history":         {`{"history":[{"role":"user","content":"hi"}]}`, false},
		"lines":                   {`{"type":"session","id":"x"}` + "\n{}", false},
		"nothing":                 {"", false},
	} {
		if got := (Format{}).Detect([]byte(c.head)); got != c.want {
			t.Errorf("%s: got %v, want %v", name, got, c.want)
		}
	}
}

func TestRead_recordedRuns(t *testing.T) {
	dir := outside.Path(t, "corpus")
	index := outside.Read(t, filepath.Join(dir, "INDEX.tsv"))
	for line := range strings.Lines(string(index)) {
		columns := strings.Split(line, "\t")
		if !strings.HasPrefix(line, "swe-agent/") {
			continue
		}
		t.Run(columns[0], func(t *testing.T) {
			src := outside.Read(t, filepath.Join(dir, columns[0]))
			if !(Format{}).Detect(src[:min(len(src), 64<<10)]) {
				t.Error("not detected")
			}
			doc := read(t, src)
			got := strconv.Itoa(doc.Counts.Messages) + "\t" + strconv.Itoa(doc.Counts.ToolResults)
			if want := columns[2] + "\t" + columns[3]; got != want || len(doc.Damaged) > 0 {
				t.Errorf("messages and tool results: got %s, want %s; damage %v", got, want, doc.Damaged)
			}
			if turns := session.Turns(doc.Session.Messages); len(turns) != 1 {
				t.Errorf("got %d turns, want 1", len(turns))
			}
			if problems := session.Check(doc.Session.Messages); len(problems) > 0 {
				t.Errorf("problems: %v", problems)
			}
		})
	}
}

func FuzzRead(f *testing.F) {
	f.Add(load(f, "calls.traj"))
	f.Add(load(f, "text.traj"))
	f.Fuzz(func(t *testing.T, src []byte) {
		Format{}.Detect(src)
		doc, err := Format{}.Read(src)
		if err == nil && doc.Counts.Messages == 0 {
			t.Fatal("read without an error, and without a message")
		}
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

func BenchmarkRead(b *testing.B) {
	line := `{"role":"assistant","content":"` + strings.Repeat(`The loom\n\ttears – again. `, 200) + `","agent":"primary"},`
	src := []byte(`{"history":[` + strings.Repeat(line, 1000) + `{"role":"user","content":"stop"}]}`)
	b.SetBytes(int64(len(src)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := (Format{}).Read(src); err != nil {
			b.Fatal(err)
		}
	}
}
