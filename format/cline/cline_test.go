package cline

import (
	"bytes"
	"errors"
	"fmt"
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
	src, err := os.ReadFile("testdata/session.messages.json")
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
			fmt.Fprintf(&b, " | %s %q", p.Type, p.Text+p.URL)
			if p.Synthetic {
				b.WriteString(" synthetic")
			}
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

func TestRead_aSession(t *testing.T) {
	doc := read(t, load(t))
	want := `u1 user  | text "Why does the kiln overheat?" | file "data:text/plain;base64,aG90IGF0IG5vb24="
a1 assistant tool-calls | reasoning "The controller first." | text "I look at the controller." | tool "" read_files {"files": [{"path": "/kiln/control.c"}]} completed "1 | int limit = 1300;\n" | tool "" run_commands {"commands": ["make check"]} error "no rule to make target" | tool "" look {"at": "gauge"} completed "a gauge" with data:image/png;base64,aGk=
n1 user  | text "You have not finished." synthetic
a2 assistant stop | text "The limit is too high."
u2 user  | text "The user switched." synthetic | text "Lower the limit to 1250."
a3 assistant stop | reasoning "" | text "Done."
`
	if diff := cmp.Diff(want, outline(doc.Session.Messages)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(format.Counts{Entries: 8, Messages: 7, ToolCalls: 3, ToolResults: 3}, doc.Counts); diff != "" {
		t.Errorf("counts (-want +got):\n%s", diff)
	}
	if len(doc.Damaged) != 0 {
		t.Errorf("damaged: %+v", doc.Damaged)
	}
	m := doc.Session.Messages
	if title := m[1].Parts[2].State.Title; title != "/kiln/control.c" {
		t.Errorf("a call is titled %q", title)
	}
	usage := session.Usage{Input: 200, Output: 40, Cache: session.CacheUsage{Read: 1000, Write: 100}}
	if diff := cmp.Diff(&usage, m[1].Tokens); diff != "" || m[1].Cost == nil || *m[1].Cost != 0.002 {
		t.Errorf("usage, cost %v (-want +got):\n%s", m[1].Cost, diff)
	}
	if m[5].Tokens != nil || m[3].Tokens.Input != 1500 {
		t.Errorf("usage: %+v, of what reports nothing %+v", m[3].Tokens, m[5].Tokens)
	}
	if m[3].ParentID != "u1" || m[5].ParentID != "u2" || m[5].ModelID != "m2" || m[1].Time.Created != 1775120401000 {
		t.Errorf("got %+v, %+v", m[3].MessageInfo, m[5].MessageInfo)
	}
	i := doc.Session.Info
	if i.Version != "3.0.65" || i.ParentID != "" {
		t.Errorf("origin: %+v", i)
	}
	if i.ID != "1775120400000_quail" || i.Model.String() != "openai-compatible/m2" || i.Time.Created != 1775120400100 ||
		i.Time.Updated == 0 || !strings.Contains(string(i.Unknown), `"agent":"lead"`) || strings.Contains(string(i.Unknown), "kilns") {
		t.Errorf("info: %+v", i)
	}
}

func TestRead_whatToolsAnswer(t *testing.T) {
	for name, c := range map[string]struct{ content, want string }{
		"a text":               {`"one"`, `completed "one"`},
		"an error":             {`"one","is_error":true`, `error "one"`},
		"a query":              {`[{"query":"q","result":"one","success":true}]`, `completed "one"`},
		"a query as a text":    {`"{\"query\":\"q\",\"result\":\"one\",\"success\":true}"`, `completed "one"`},
		"two queries":          {`[{"query":"q","result":"one","success":true},{"query":"r","result":"","error":"two","success":false}]`, `completed "q\none\n\nr\ntwo"`},
		"queries that failed":  {`[{"query":"q","result":"one","error":"x","success":false}]`, `error "one"`},
		"a query with more":    {`[{"query":"q","result":{"a": 1},"success":true}]`, `completed "[{\"query\":\"q\",\"result\":{\"a\":1},\"success\":true}]"`},
		"an object":            {`{"a": 1}`, `completed "{\"a\":1}"`},
		"an object as a text":  {`"{\"a\": 1}"`, `completed "{\"a\": 1}"`},
		"nothing":              {`[]`, `completed ""`},
		"text and a file":      {`[{"type":"text","text":"one"},{"type":"file","path":"f","content":"two"}]`, `completed "one\ntwo"`},
		"a block of a new one": {`[{"type":"text","text":"one"},{"type":"hologram"}]`, `completed "[{\"type\":\"text\",\"text\":\"one\"},{\"type\":\"hologram\"}]"`},
	} {
		doc := read(t, []byte(list(`{"id":"a","role":"assistant","content":[{"type":"tool_use","id":"c","name":"look","input":{}}]},`+
			`{"id":"r","role":"user","content":[{"type":"tool_result","tool_use_id":"c","content":`+c.content+`}]}`)))
		if diff := cmp.Diff(`a assistant tool-calls | tool "" look {} `+c.want+"\n", outline(doc.Session.Messages)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// list is a file with these messages.
func list(messages string) string {
	return `{"version":1,"updated_at":"2026-04-02T09:10:00.000Z","sessionId":"s","messages":[` + messages + `]}`
}

func TestRead_whoseWords(t *testing.T) {
	for name, c := range map[string]struct{ message, want string }{
		"without a tag":         {`"content":"Look."`, `text "Look."`},
		"in a tag":              {`"content":"<user_input mode=\"act\">Look </user_input> twice.</user_input>"`, `text "Look </user_input> twice."`},
		"around the tag":        {`"content":"<note>n</note>\n<user_input mode=\"act\">Look.</user_input>"`, `text "<note>n</note>" synthetic | text "Look."`},
		"another tag":           {`"content":"<user_inputs>Look.</user_inputs>"`, `text "<user_inputs>Look.</user_inputs>"`},
		"a tag that is open":    {`"content":"<user_input mode=\"act\">Look."`, `text "<user_input mode=\"act\">Look."`},
		"the end of it":         {`"content":"Look <user_input"`, `text "Look <user_input"`},
		"a notice":              {`"content":"Stop.","metadata":{"kind":"loop_detection_notice"}`, `text "Stop." synthetic`},
		"a summary":             {`"content":"So far.","metadata":{"kind":"compaction_summary","userRunSpan":3}`, `text "So far." synthetic`},
		"what counts as no run": {`"content":"Go on.","metadata":{"userRunSpan":0}`, `text "Go on." synthetic`},
		"a run":                 {`"content":"Go on.","metadata":{"userRunSpan":1}`, `text "Go on."`},
		"shown as the system's": {`"content":"Go on.","metadata":{"displayRole":"System"}`, `text "Go on." synthetic`},
		"a task that resumes":   {`"content":"[TASK RESUMPTION] It was interrupted."`, `text "[TASK RESUMPTION] It was interrupted." synthetic`},
		"an approval":           {`"content":"<user_input mode=\"act\">` + approval + `</user_input>"`, fmt.Sprintf("text %q synthetic", approval)},
		"a result of no call":   {`"content":[{"type":"tool_result","tool_use_id":"gone","content":"in a"}]`, `text "in a" synthetic`},
		"beside a result":       {`"content":[{"type":"tool_result","tool_use_id":"gone","content":"in a"},{"type":"text","text":"<user_input mode=\"act\">Look.</user_input>"}]`, `text "in a" synthetic | text "Look."`},
	} {
		doc := read(t, []byte(list(`{"id":"u","role":"user",`+c.message+`}`)))
		if diff := cmp.Diff("u user  | "+c.want+"\n", outline(doc.Session.Messages)); diff != "" || len(doc.Damaged) > 0 {
			t.Errorf("%s, damaged %v (-want +got):\n%s", name, doc.Damaged, diff)
		}
		synthetic := strings.Count(c.want, "synthetic") == strings.Count(c.want, "text ")
		if written := doc.Session.Messages[0].Written(); written == synthetic {
			t.Errorf("%s: written is %t", name, written)
		}
	}
}

func TestRead_nothingIsLostInSilence(t *testing.T) {
	good := `{"id":"u","role":"user","content":"Look."}`
	for name, c := range map[string]struct{ src, reason string }{
		"a role":               {list(good + `,{"role":"judge","content":"x"}`), `not a message: its role is "judge"`},
		"no content":           {list(good + `,{"role":"user"}`), "nothing that is known"},
		"blocks of a new type": {list(good + `,{"role":"assistant","content":[{"type":"hologram"}]}`), "nothing that is known"},
		"not an object":        {list(good + `,7`), "not an object"},
		"a cut":                {list(good + `,` + good)[:150], "cut short"},
		"a time that is none":  {list(good + `,{"role":"user","content":"x","ts":"noon"}`), "ts"},
	} {
		doc := read(t, []byte(c.src))
		if len(doc.Session.Messages) != 1 || len(doc.Damaged) != 1 || !strings.Contains(doc.Damaged[0].Reason, c.reason) {
			t.Errorf("%s: %d messages, damaged %+v", name, len(doc.Session.Messages), doc.Damaged)
		}
	}
	if doc := read(t, []byte(list(""))); len(doc.Session.Messages) != 0 || doc.Session.Info.ID != "s" {
		t.Errorf("a session in which nothing was said: %+v", doc.Session)
	}
	var syntax *format.SyntaxError
	for _, bad := range []string{"", "{", "[]", "nonsense", `{"a":1}`, list(`{"role":"judge","content":"x"}`), list(`{"role":`)} {
		if _, err := (Format{}).Read([]byte(bad)); !errors.As(err, &syntax) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func TestDetect_knowsItsOwnOnly(t *testing.T) {
	src := load(t)
	for _, head := range []string{string(src), string(src[:400]), list("")} {
		if !(Format{}).Detect([]byte(head)) {
			t.Errorf("%.40s is not recognised", head)
		}
	}
	for _, other := range []string{
		"", "[", `{"sessionId":"x"}`, `{"messages":[]}`,
		`{"sessionId":"x","projectHash":"h","messages":[]}`, compacted, manifest,
	} {
		if (Format{}).Detect([]byte(other)) {
			t.Errorf("%s is taken for a session", other)
		}
	}
}

// What stands beside the messages.
const (
	compacted = `{"version":1,"updated_at":"2026-04-02T09:10:00.000Z","conversation_id":"c","source_message_count":7,"messages":[{"id":"u","role":"user","content":[{"type":"text","text":"So far."}]}]}`
	manifest  = `{"version":1,"session_id":"s","source":"cli","provider":"p","model":"m","cwd":"/kiln","messages_path":"s.messages.json"}`
)

func TestRead_whatIsSentAfterACompactionIsNotTheSession(t *testing.T) {
	_, err := Format{}.Read([]byte(compacted))
	if err == nil || !strings.Contains(err.Error(), Ending) {
		t.Errorf("got %v", err)
	}
}

func FuzzRead(f *testing.F) {
	doc := read(f, load(f))
	ours := write(f, doc, folded(filetest.Elided(filetest.Change(doc), doc, "c1"), "p1", "u2"))
	for _, src := range []string{string(load(f)), list(""), compacted, manifest, string(ours)} {
		f.Add([]byte(src))
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
		if !bytes.Equal(write(t, doc, filetest.Change(doc)), doc.Source) {
			t.Fatal("written without a change it is another file")
		}
		var out bytes.Buffer
		if err := (Format{}).Write(&out, doc, folded(filetest.Change(doc), "a pivot of the test", "")); err != nil {
			return
		}
		again := read(t, out.Bytes())
		undo := filetest.Change(again)
		undo.Undone = map[string]bool{"a pivot of the test": true}
		if back := write(t, again, undo); !bytes.Equal(back, doc.Source) {
			t.Fatalf("folded and undone it is another file:\n%s", back)
		}
	})
}
