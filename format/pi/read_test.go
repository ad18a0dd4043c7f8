package pi

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
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

// outline tells a log in a line a message.
func outline(log []session.Message) []string {
	var lines []string
	for i := range log {
		m := &log[i]
		line := fmt.Sprintf("%s %s", m.ID, m.Role)
		if m.IsSummary() {
			line += " summary"
		}
		if m.Failed() {
			line += " failed"
		}
		for j := range m.Parts {
			p := &m.Parts[j]
			line += fmt.Sprintf(" | %s %s", p.ID, p.Type)
			switch {
			case p.State != nil:
				line += fmt.Sprintf(" %s %s %s %q", p.Tool, p.State.Input, p.State.Status, p.State.Result())
				if n := len(p.State.Attachments); n > 0 {
					line += fmt.Sprintf(" +%d", n)
				}
			case p.Type == session.CompactionPart:
				line += " from " + p.TailStartID
			case p.URL != "":
				line += " " + p.URL
			default:
				line += fmt.Sprintf(" %q", p.Text)
			}
			if p.Synthetic {
				line += " synthetic"
			}
			if p.Ignored {
				line += " ignored"
			}
		}
		lines = append(lines, line)
	}
	return lines
}

func TestRead_theLogIsTheActiveBranchOfATree(t *testing.T) {
	doc := read(t, load(t, "tree.jsonl"))
	want := []string{
		`a0000003 user | a0000003:0 text "Why does the kiln log lose its last line?"`,
		`a0000004 assistant | a0000004:0 reasoning "The writer may not flush." | a0000004:1 text "I look at the writer."` +
			` | call_1 tool read {"path":"log/writer.go"} completed "package log\n\nfunc (w *Writer) Close() error { return w.file.Close() }\n" +1` +
			` | call_2 tool bash {"command":"go test ./log"} error "--- FAIL: TestClose"`,
		`a0000007 user | a0000007:0 text "Summary of a branch of this conversation that was left:\n\nA rewrite was begun and given up." synthetic`,
		"a0000008 user | a0000008:0 text \"Ran `git log -1`\\n```\\ncommit 1f2e\\n```\\n\\nCommand exited with code 1\\n\\n[Output truncated. Full output: /var/tmp/out]\" synthetic",
		"a0000009 user | a0000009:0 text \"Ran `date`\\n(no output)\" synthetic ignored",
		`a0000010 user | a0000010:0 text "Flush it in Close. This is how it should look:" | a0000010:1 file data:image/jpeg;base64,d29ybGQ=`,
		`a0000011 assistant | call_1#2 tool edit {"path":"log/writer.go","oldText":"return w.file.Close()","newText":"return errors.Join(w.buffer.Flush(), w.file.Close())"} completed "Edited log/writer.go."`,
		`a0000013 user | a0000013:0 compaction from a0000009`,
		`a0000013:summary assistant summary | a0000013:summary:0 text "## Goal\nThe kiln log keeps its last line."`,
		`a0000014 user | a0000014:0 text "Ten minutes are over." synthetic`,
		`a0000018 user | a0000018:0 text "Run the tests – all of them."`,
		`a0000019 assistant | call_9 tool bash {"command":"go test ./..."} running ""`,
	}
	if diff := cmp.Diff(want, outline(doc.Session.Messages)); diff != "" {
		t.Errorf("log (-want +got):\n%s", diff)
	}
	counts := format.Counts{Entries: 22, Messages: 13, ToolCalls: 4, ToolResults: 5, Aside: 2}
	if diff := cmp.Diff(counts, doc.Counts); diff != "" {
		t.Errorf("counts (-want +got):\n%s", diff)
	}
}

func TestRead_whatIsKnownOfMessagesAndSession(t *testing.T) {
	doc := read(t, load(t, "tree.jsonl"))
	info := doc.Session.Info
	if got, want := info.Title+"|"+info.Directory+"|"+info.ID+"|"+info.ParentID,
		"The lost line|/home/ada/kiln|0199aaaa-0000-7000-8000-000000000001|0199aaaa-0000-7000-8000-000000000000"; got != want {
		t.Errorf("session: got %s, want %s", got, want)
	}
	if info.Time.Created != 1768035600000 || info.Time.Updated != 1768035742000 {
		t.Errorf("session time: got %+v", info.Time)
	}
	log := doc.Session.Messages
	if got := log[0].Model; got.String() != "anthropic/claude-sonnet-4-5" || got.Variant != "high" {
		t.Errorf("model of the first message: got %v %q", got, got.Variant)
	}
	answer := log[1]
	if answer.ParentID != "a0000003" || answer.Finish != "tool-calls" || *answer.Cost != 0.00147 || answer.Tokens.Total != 1090 ||
		answer.Tokens.Cache.Read != 900 || answer.Tokens.Cache.Write != 40 || answer.Time.Created != 1768035604000 {
		t.Errorf("answer: got %+v, tokens %+v", answer.MessageInfo, answer.Tokens)
	}
	if got := string(answer.Parts[0].Metadata); got != `{"signature":"c2ln"}` {
		t.Errorf("metadata of the reasoning: got %s", got)
	}
	if got := string(answer.Parts[2].State.Metadata); got != `{"lines":3}` {
		t.Errorf("metadata of a result: got %s", got)
	}
	if got := string(log[6].Parts[0].State.Metadata); got != `{"details":"one hunk"}` {
		t.Errorf("metadata of a result whose details are a text: got %s", got)
	}
	if problems := session.Check(log); len(problems) != 1 || !strings.Contains(problems[0].Reason, `"call_1" occurs twice`) {
		t.Errorf("problems: got %v, want the repeated call alone", problems)
	}
}

func TestRead_oldFilesAreInTheOrderOfTheirLines(t *testing.T) {
	doc := read(t, load(t, "linear.jsonl"))
	want := []string{
		`pi_000002 user | pi_000002:0 text "Count the threads."`,
		`pi_000003 assistant | toolu_a tool bash {"command":"wc -l threads.txt"} completed "412 threads.txt"`,
		`pi_000006 assistant | pi_000006:0 text "There are 412."`,
		`pi_000007 user | pi_000007:0 compaction from pi_000006`,
		`pi_000007:summary assistant summary | pi_000007:summary:0 text "412 threads were counted."`,
		`pi_000009 user | pi_000009:0 text "And the knots?"`,
		`pi_000010 assistant | pi_000010:0 text "None."`,
	}
	if diff := cmp.Diff(want, outline(doc.Session.Messages)); diff != "" {
		t.Errorf("log (-want +got):\n%s", diff)
	}
	if got := doc.Session.Messages[5].Model.Variant; got != "medium" {
		t.Errorf("the thinking level after its change: got %q, want medium", got)
	}
}

func TestRead_damagedLinesAreSkippedAndTheBranchGoesOn(t *testing.T) {
	lines := strings.SplitAfter(string(load(t, "tree.jsonl")), "\n")
	whole := read(t, []byte(strings.Join(lines, "")))
	cut := len(lines[12]) / 2
	lines[12] = lines[12][:cut] + "\n" // the user's message with the picture
	lines[2] = "null\n"
	src := []byte(strings.Join(lines, ""))
	doc := read(t, src)
	want := []format.Damage{
		{Line: 3, Offset: int64(len(lines[0] + lines[1])), Bytes: 5, Reason: "not a JSON object"},
		{Line: 13, Offset: int64(strings.Index(string(src), lines[12])), Bytes: cut + 1, Reason: doc.Damaged[1].Reason},
	}
	if diff := cmp.Diff(want, doc.Damaged); diff != "" {
		t.Errorf("damage (-want +got):\n%s", diff)
	}
	if got, want := len(doc.Session.Messages), len(whole.Session.Messages)-1; got != want {
		t.Errorf("messages: got %d, want %d:\n%s", got, want, strings.Join(outline(doc.Session.Messages), "\n"))
	}
	var out bytes.Buffer
	if err := (Format{}).Write(&out, doc, format.Change{Session: doc.Session, Ledger: doc.Ledger}); err != nil || !bytes.Equal(out.Bytes(), src) {
		t.Errorf("unchanged, the file was not written byte for byte: %v", err)
	}
}

func TestRead_saysWhereNothingCouldBeRead(t *testing.T) {
	for name, src := range map[string]string{"nothing": "", "blank": "\n\n", "prose": "once\nupon", "an array": "[1]\n"} {
		_, err := Format{}.Read([]byte(src))
		var syntax *format.SyntaxError
		if !errors.As(err, &syntax) || syntax.Line != 1 {
			t.Errorf("%s: got %v, want a syntax error in line 1", name, err)
		}
	}
}

func TestRead_oddMembersDoNotCostALine(t *testing.T) {
	src := `{"type":"session","id":"s","version":"three","timestamp":12,"cwd":null}
{"type":"message","timestamp":[],"message":{"role":"user","content":[1,{"type":"text","text":["no"]},{"type":"text","text":"yes \ud800"}],"timestamp":"late"}}
{"type":"message","message":{"role":"assistant","content":{"a":1},"usage":7,"stopReason":null}}
{"type":"message","message":"hello"}
{"type":"message","message":{"role":"toolResult","toolCallId":"lost","toolName":"bash","content":[{"type":"text","text":"an answer without a question"}]}}
`
	doc := read(t, []byte(src))
	want := []string{
		`pi_000002 user | pi_000002:0 text "" | pi_000002:1 text "yes ` + "\ufffd" + `"`,
		`pi_000003 assistant`,
		`pi_000005 assistant | lost tool bash {} completed "an answer without a question"`,
	}
	if diff := cmp.Diff(want, outline(doc.Session.Messages)); diff != "" || len(doc.Damaged) > 0 {
		t.Errorf("log (-want +got):\n%s\ndamage: %v", diff, doc.Damaged)
	}
}

func TestRead_parentsThatGoRoundEnd(t *testing.T) {
	src := `{"type":"session","version":3,"id":"s","timestamp":"2026-01-01T00:00:00Z","cwd":"/"}
{"type":"message","id":"1","parentId":"2","timestamp":"","message":{"role":"user","content":"a"}}
{"type":"message","id":"2","parentId":"1","timestamp":"","message":{"role":"user","content":"b"}}
`
	if got := len(read(t, []byte(src)).Session.Messages); got != 2 {
		t.Errorf("got %d messages, want 2", got)
	}
}

func TestDetect(t *testing.T) {
	tree, linear := load(t, "tree.jsonl"), load(t, "linear.jsonl")
	for name, c := range map[string]struct {
		head string
		want bool
	}{
		"a tree":                  {string(tree), true},
		"an old file":             {string(linear), true},
		"the header alone, cut":   {string(tree[:150]), false},
		"a byte order mark":       {"\ufeff" + string(tree), true},
		"a damaged header":        {`{"type":"sess` + "\n" + strings.SplitAfterN(string(tree), "\n", 2)[1], true},
		"another product's line":  {`{"type":"user","uuid":"u","sessionId":"s","timestamp":"2026-01-01T00:00:00Z","message":{"role":"user","content":"hi"}}`, false},
		"a rollout":               {`{"timestamp":"2026-01-01T00:00:00Z","type":"session_meta","payload":{"id":"x","cwd":"/"}}`, false},
		"an export of one object": {`{"info":{"id":"ses_1"},"messages":[]}`, false},
		"nothing":                 {"", false},
	} {
		if got := (Format{}).Detect([]byte(c.head)); got != c.want {
			t.Errorf("%s: got %v, want %v", name, got, c.want)
		}
	}
}

// corpus finds recorded sessions.
func corpus(t testing.TB, folder string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(outside.Path(t, "corpus", folder), "*.gz"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no recorded sessions: %v", err)
	}
	return files
}
