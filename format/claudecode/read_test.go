package claudecode

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/winnowhq/winnow/internal/outside"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/session"
)

var update = flag.Bool("update", false, "write the golden files anew")

func read(t testing.TB, src []byte) *format.Document {
	t.Helper()
	doc, err := Format{}.Read(src)
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

// Qwen Code writes the same envelope with other contents. A message that says nothing is listed.
func TestRead_messagesThatSayNothingAreListed(t *testing.T) {
	const user = `{"uuid":"u","parentUuid":null,"sessionId":"s","type":"user",`
	const answer = `{"uuid":"a","parentUuid":"u","sessionId":"s","type":"assistant","message":{"role":"assistant",`
	for _, c := range []struct {
		name, src, reason string
		line              int
	}{
		{"contents of the Gemini API", user + `"message":{"role":"user","parts":[{"text":"Hi."}]}}`, "a message without content", 1},
		{"one without content", user + `"message":{"role":"user","content":"Hi."}}` + "\n" + answer + `"id":"m"}}`, "a message without content", 2},
		{"blocks of an unknown kind", user + `"message":{"role":"user","content":[{"said":"Hi."}]}}` + "\n" + answer + `"content":[{"said":"Hi."}]}}`,
			"nothing in this message, nor in any other, is understood", 1},
	} {
		doc, err := Format{}.Read([]byte(c.src + "\n"))
		if err != nil {
			if !strings.Contains(err.Error(), c.reason) {
				t.Errorf("%s: %v", c.name, err)
			}
		} else if len(doc.Damaged) != 1 || doc.Damaged[0].Line != c.line || doc.Damaged[0].Reason != c.reason {
			t.Errorf("%s: damage %+v", c.name, doc.Damaged)
		}
	}
	const qwen = `{"uuid":"t","parentUuid":null,"sessionId":"s","type":"system","subtype":"custom_title","systemPayload":{}}`
	for _, head := range []string{qwen, user + `"message":{"role":"user","parts":[{"text":"Hi."}]}}`,
		user + `"message":{"role":"user","parts":[{"text":"it is cu`} {
		if (Format{}).Detect([]byte(head)) {
			t.Errorf("%s is taken for one of Claude Code's", head)
		}
	}
}

func readFile(t testing.TB, name string) *format.Document {
	t.Helper()
	src, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return read(t, src)
}

func TestRead_golden(t *testing.T) {
	for _, name := range []string{"branches", "compacted", "damaged"} {
		t.Run(name, func(t *testing.T) {
			doc := readFile(t, name+".jsonl")
			got, err := json.Marshal(struct {
				Session session.Session `json:"session"`
				Ledger  []rule.Elision  `json:"ledger"`
				Counts  format.Counts   `json:"counts"`
				Damaged []format.Damage `json:"damaged"`
			}{doc.Session, doc.Ledger.All(), doc.Counts, doc.Damaged}, session.ReadOptions(), jsontext.WithIndent("  "))
			if err != nil {
				t.Fatal(err)
			}
			golden := filepath.Join("testdata", name+".golden.json")
			if *update {
				if err := os.WriteFile(golden, append(got, '\n'), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(bytes.TrimSpace(want)), string(got)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", golden, diff)
			}
		})
	}
}

// text is an entry by hand: a user's or an assistant's.
func text(uuid, parent, kind, id, words string) string {
	p := "null"
	if parent != "" {
		p = strconv.Quote(parent)
	}
	return fmt.Sprintf(`{"parentUuid":%s,"isSidechain":false,"type":%q,"message":{"role":%q,"id":%q,"content":[{"type":"text","text":%q}]},"uuid":%q,"timestamp":"2026-01-01T00:00:00.000Z","sessionId":"s"}`,
		p, kind, kind, id, words, uuid) + "\n"
}

func words(doc *format.Document) []string {
	var found []string
	for i := range doc.Session.Messages {
		for j := range doc.Session.Messages[i].Parts {
			found = append(found, doc.Session.Messages[i].Parts[j].Text)
		}
	}
	return found
}

func TestRead_branch(t *testing.T) {
	fork := text("a", "", "user", "", "root") + text("b", "a", "assistant", "m1", "left") + text("c", "a", "assistant", "m2", "right")
	for name, c := range map[string]struct {
		file string
		want []string
	}{
		"the last entry is the leaf":             {fork, []string{"root", "right"}},
		"last-prompt names another branch":       {fork + `{"type":"last-prompt","leafUuid":"b","sessionId":"s"}`, []string{"root", "left"}},
		"the last entry goes on from it":         {fork + `{"type":"last-prompt","leafUuid":"a","sessionId":"s"}`, []string{"root", "right"}},
		"the user went back to it":               {fork + `{"type":"last-prompt","leafUuid":"a","explicit":true,"sessionId":"s"}`, []string{"root"}},
		"what last-prompt names is not there":    {fork + `{"type":"last-prompt","leafUuid":"z","sessionId":"s"}`, []string{"root", "right"}},
		"a missing parent loses nothing":         {text("a", "", "user", "", "one") + text("b", "lost", "assistant", "m1", "two") + text("c", "lost too", "user", "", "three"), []string{"one", "two", "three"}},
		"a circle ends":                          {text("a", "b", "user", "", "one") + text("b", "a", "assistant", "m1", "two"), []string{"one", "two"}},
		"one API message is never split":         {text("a", "", "user", "", "root") + text("b", "a", "assistant", "m1", "one") + text("c", "a", "assistant", "m1", "two"), []string{"root", "one", "two"}},
		"a repeated entry counts once, the last": {text("a", "", "user", "", "old") + text("b", "a", "assistant", "m1", "two") + text("a", "", "user", "", "new") + text("c", "b", "user", "", "three"), []string{"new", "two", "three"}},
		"side chains alone are the session":      {strings.ReplaceAll(text("a", "", "user", "", "helper"), `"isSidechain":false`, `"isSidechain":true`), []string{"helper"}},
		"a record of progress at the beginning":  {text("x", "", "user", "", "left") + `{"type":"progress","uuid":"p","parentUuid":null}` + "\n" + text("b", "p", "user", "", "two"), []string{"two"}},
		"records of progress are passed through": {text("a", "", "user", "", "one") + `{"type":"progress","uuid":"p","parentUuid":"a"}` + "\n" + text("x", "a", "user", "", "left") + text("b", "p", "user", "", "two"), []string{"one", "two"}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, words(read(t, []byte(c.file)))); diff != "" {
				t.Errorf("texts (-want +got):\n%s", diff)
			}
		})
	}
}

func TestRead_repeatedCallIDsStayApart(t *testing.T) {
	call := func(uuid, parent, id string) string {
		return fmt.Sprintf(`{"parentUuid":%q,"type":"assistant","message":{"role":"assistant","id":%q,"content":[{"type":"tool_use","id":"t1","name":"Bash","input":{}}]},"uuid":%q,"sessionId":"s"}`, parent, id, uuid) + "\n"
	}
	result := func(uuid, parent, text string) string {
		return fmt.Sprintf(`{"parentUuid":%q,"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":%q}]},"uuid":%q,"sessionId":"s"}`, parent, text, uuid) + "\n"
	}
	doc := read(t, []byte(text("a", "", "user", "", "go")+call("b", "a", "m1")+result("c", "b", "one")+text("d", "c", "user", "", "again")+call("e", "d", "m1")+result("f", "e", "two")))
	var got []string
	for _, m := range doc.Session.Messages {
		for _, p := range m.Parts {
			if p.Type == session.ToolPart {
				got = append(got, p.ID+" "+p.CallID+" "+p.State.Output)
			}
		}
	}
	if diff := cmp.Diff([]string{"t1 t1 one", "t1#2 t1 two"}, got); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
}

func TestRead_nothingReadable(t *testing.T) {
	for _, src := range []string{"", "\n\n", "no JSON", "[1,2]\n", strings.Repeat("[", 20000), "\x00\x00\x00"} {
		doc, err := Format{}.Read([]byte(src))
		if err == nil {
			t.Errorf("Read(%.20q) = %+v, want an error", src, doc)
		}
	}
}

func TestRead_hugeAndDeepLines(t *testing.T) {
	if testing.Short() {
		t.Skip("reads 50 MB")
	}
	big := strings.Replace(text("b", "a", "assistant", "m1", "BIG"), "BIG", strings.Repeat("x", 50<<20), 1)
	deep := `{"parentUuid":"b","type":"user","uuid":"c","toolUseResult":` + strings.Repeat(`{"a":`, 9990) + `1` + strings.Repeat(`}`, 9990) + `,"message":{"role":"user","content":"deep"},"sessionId":"s"}` + "\n"
	deeper := `{"parentUuid":"c","type":"user","uuid":"d","toolUseResult":` + strings.Repeat(`[`, 100000) + strings.Repeat(`]`, 100000) + `}` + "\n"
	doc := read(t, []byte(text("a", "", "user", "", "root")+big+deep+deeper))
	if n := len(doc.Session.Messages); n != 3 || len(doc.Session.Messages[1].Parts[0].Text) != 50<<20 {
		t.Errorf("%d messages, want 3 with the big one whole", n)
	}
	if len(doc.Damaged) != 1 || doc.Damaged[0].Line != 4 {
		t.Errorf("damaged: %+v, want line 4", doc.Damaged)
	}
}

func TestDetect(t *testing.T) {
	branches, err := os.ReadFile(filepath.Join("testdata", "branches.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	long := text("a", "", "user", "", strings.Repeat("long ", 20000))
	for name, c := range map[string]struct {
		head string
		want bool
	}{
		"a session":               {string(branches), true},
		"cut anywhere":            {string(branches[:len(branches)/3]), true},
		"one line, cut":           {long[:64<<10], true},
		"after a damaged line":    {"{\"type\":\"us\n" + long[:64<<10], true},
		"a summary":               {`{"type":"summary","summary":"A title","leafUuid":"x"}` + "\n", true},
		"an OpenCode export":      {`{"info":{"id":"ses_1"},"messages":[]}`, false},
		"a Codex rollout":         {`{"timestamp":"2026-01-01T00:00:00Z","type":"session_meta","payload":{"id":"x"}}` + "\n" + `{"timestamp":"x","type":"response_item","payload":{}}` + "\n", false},
		"a pi session":            {`{"type":"session","version":3,"id":"x","timestamp":"x","cwd":"/"}` + "\n" + `{"type":"message","id":"a","parentId":null,"message":{"role":"user"}}` + "\n", false},
		"a request body":          {`{"model":"m","messages":[{"role":"user","content":"hi"}]}`, false},
		"text":                    {"hello\nworld\n", false},
		"nothing":                 {"", false},
		"an indented JSON object": {"{\n  \"sessionId\": \"x\"\n}\n", false},
	} {
		if got := (Format{}).Detect([]byte(c.head)); got != c.want {
			t.Errorf("%s: Detect = %v, want %v", name, got, c.want)
		}
	}
}

func TestRead_countsOfRecordedSessions(t *testing.T) {
	root := outside.Path(t, "corpus")
	list, err := os.ReadFile(filepath.Join(root, "INDEX.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	files := 0
	for row := range strings.Lines(string(list)) {
		column := strings.Split(row, "\t")
		if !strings.HasPrefix(column[0], "claude-code") {
			continue
		}
		files++
		src := outside.Read(t, filepath.Join(root, column[0]))
		doc := read(t, src)
		if got := fmt.Sprint(doc.Counts.Messages); got != column[2] {
			t.Errorf("%s: %s messages, want %s", column[0], got, column[2])
		}
		if got := fmt.Sprint(doc.Counts.ToolResults); got != column[3] {
			t.Errorf("%s: %s tool results, want %s", column[0], got, column[3])
		}
		if !(Format{}).Detect(src[:min(len(src), 64<<10)]) {
			t.Errorf("%s is not detected", column[0])
		}
		// Nothing of the conversation is aside but what somebody left: most of it is in the log.
		if doc.Counts.Aside*10 > doc.Counts.Messages {
			t.Errorf("%s: %d of %d messages are aside", column[0], doc.Counts.Aside, doc.Counts.Messages)
		}
		unchanged(t, doc)
	}
	if files == 0 {
		t.Error("the index names no session of this format")
	}
}

func TestRead_recordedCompaction(t *testing.T) {
	doc := read(t, outside.Read(t, outside.Path(t, filepath.Join("fixtures", "claude-code-compacted.jsonl.gz"))))
	markers := 0
	for i := range doc.Session.Messages {
		if m := doc.Session.Messages[i].Marker(); m != nil {
			markers++
			summary := &doc.Session.Messages[i+1]
			if m.Auto || m.TailStartID != doc.Session.Messages[i-1].ID || !summary.Completes() || summary.ParentID != doc.Session.Messages[i].ID {
				t.Errorf("marker %+v, summary %+v", m, summary.MessageInfo)
			}
		}
	}
	if markers != 1 || doc.Counts.Aside != 0 {
		t.Errorf("%d markers, %d aside, want 1 and 0", markers, doc.Counts.Aside)
	}
	for _, problem := range session.Check(doc.Session.Messages) {
		if !strings.HasSuffix(problem.Reason, "occurs twice") || problem.Part == "" { // the recording repeats its call ids
			t.Error(problem)
		}
	}
	unchanged(t, doc)
}

// unchanged checks that writing without a change gives the file itself.
func unchanged(t *testing.T, doc *format.Document) {
	t.Helper()
	var file bytes.Buffer
	if err := (Format{}).Write(&file, doc, format.Change{Session: doc.Session, Ledger: doc.Ledger}); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(file.Bytes(), doc.Source) {
		t.Errorf("writing without a change gave %d bytes, the file has %d", file.Len(), len(doc.Source))
	}
}

func FuzzRead(f *testing.F) {
	for _, name := range []string{"branches", "compacted", "damaged"} {
		src, err := os.ReadFile(filepath.Join("testdata", name+".jsonl"))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(src)
	}
	f.Add([]byte(`{"type":"user","winnow":{"elisions":[{"part":"x"}],"content":"\"a\"","message":{"info":{"id":"m","role":"user"},"parts":[]}},"message":{"content":"b"}}`))
	f.Fuzz(func(t *testing.T, src []byte) {
		doc, err := Format{}.Read(src)
		if err != nil {
			return
		}
		unchanged(t, doc)
		everything := format.Change{Session: doc.Session, Undone: map[string]bool{}}
		for i := range doc.Session.Messages {
			m := &doc.Session.Messages[i]
			everything.Undone[m.ID] = true
			for j := range m.Parts {
				for _, field := range []rule.Field{rule.Output, rule.Whole, rule.Input} {
					everything.Ledger = everything.Ledger.With(rule.Elision{Part: m.Parts[j].ID, Message: m.ID, Field: field, Shown: "…"})
				}
			}
		}
		var file bytes.Buffer
		if err := (Format{}).Write(&file, doc, everything); err != nil {
			t.Fatal(err)
		}
		if _, err := (Format{}).Read(file.Bytes()); err != nil && file.Len() > 0 && len(doc.Damaged) == 0 {
			t.Fatalf("what was written is not read: %v", err)
		}
	})
}
