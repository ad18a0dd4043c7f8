package geminicli

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/format/internal/jsonl"
	"github.com/winnowhq/winnow/internal/filetest"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/text/span"
)

func TestWrite_everythingComesBackAndEverythingCanBeUndone(t *testing.T) {
	for _, name := range []string{"chat.jsonl", "resumed.jsonl"} {
		t.Run(name, func(t *testing.T) { filetest.RoundTrips(t, Format{}, load(t, name), 60) })
	}
}

// The product lists all that the model is sent whenever it goes on, and gives what a compression
// leaves new ids. It is one session, with what was compressed.
func TestRead_resumedAndCompressed(t *testing.T) {
	doc := read(t, load(t, "resumed.jsonl"))
	want := `c0 user  | text "<session_context>\nThis is the Gemini CLI.\n</session_context>"
u1 user  | text "Why does the kiln overheat?"
g1 assistant tool-calls | reasoning "Limit\nRead it." | text "I look." | tool "" read_file {"path":"control.c"} completed "int limit = 1300;\n" | tool "" run_shell_command {"command":"make check"} error "no rule to make target"
g2 assistant stop | text "The limit is too high."
u2 user  | text "Lower it, as drawn." | file ""
g3 assistant tool-calls | tool "" replace {"path":"control.c"} completed "replaced"
g4 assistant stop | text "It is 1250 now."
k1 user  | compaction ""
k1:summary assistant stop | text "<state_snapshot>The kiln overheated.</state_snapshot>" | text "Got it. Thanks for the additional context!"
u5 user  | text "Thanks. And the flue?"
g5 assistant stop | text "It draws."
`
	if diff := cmp.Diff(want, outline(doc.Session.Messages)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if m := &doc.Session.Messages[0]; m.Written() {
		t.Error("what the product says of the session counts as the user's words")
	}
	marker := doc.Session.Messages[7].Marker()
	if marker == nil || marker.TailStartID != "u2" || !doc.Theirs["k1"] {
		t.Errorf("the compression is %+v", doc.Session.Messages[7])
	}
	if diff := cmp.Diff(format.Counts{Entries: 18, Messages: 11, ToolCalls: 3, ToolResults: 3}, doc.Counts); diff != "" {
		t.Errorf("counts (-want +got):\n%s", diff)
	}
}

func TestWrite_damagedFiles(t *testing.T) {
	for _, name := range []string{"chat.jsonl", "resumed.jsonl"} {
		doc := read(t, load(t, name))
		folded := filetest.Write(t, Format{}, doc, format.Change{Session: filetest.Fold(doc.Session, "old", "u2"), Ledger: doc.Ledger.With(
			filetest.Some(doc.Session.Messages, rand.New(rand.NewPCG(1, 1)))...)})
		filetest.Damaged(t, Format{}, load(t, name), 150)
		filetest.Damaged(t, Format{}, folded, 150)
	}
}

// gulls are a question, a call, its result, an answer, and another question.
const gulls = `{"sessionId":"s","projectHash":"h","lastUpdated":"2026-03-01T10:00:00.000Z"}
{"id":"u","timestamp":"2026-03-01T10:00:01.000Z","type":"user","content":[{"text":"How many?"}]}
{"id":"a","timestamp":"2026-03-01T10:00:02.000Z","type":"gemini","content":"I look.","toolCalls":[{"id":"c","name":"ls","args":{},"result":[{"functionResponse":{"id":"c","name":"ls","response":{"output":"all the gulls"}}}],"status":"success"}]}
{"id":"r","timestamp":"2026-03-01T10:00:03.000Z","type":"user","content":[{"functionResponse":{"id":"c","name":"ls","response":{"output":"all the gulls"}}}]}
{"id":"b","timestamp":"2026-03-01T10:00:04.000Z","type":"gemini","content":"Nine."}
{"id":"v","timestamp":"2026-03-01T10:00:05.000Z","type":"user","content":[{"text":"Sure?"}]}
`

// leftOut is what the result is left out with.
var leftOut = rule.Elision{Part: "c", Message: "a", Field: rule.Output, Rule: "test", Because: "because", Shown: "[left out]"}

// sent are the contents of the last list of a file, each with its id.
func sent(t *testing.T, file []byte) string {
	t.Helper()
	var list []byte
	for l := range span.Lines(file) {
		line := l.Text.Of(file)
		if messages := span.Get(line, "$set", "messages"); messages != nil {
			list = messages
		}
	}
	var all []string
	for v := range span.Values(list, span.All(list)) {
		m := v.Of(list)
		all = append(all, span.String(span.Get(m, "id"))+" "+span.String(span.Get(m, "type"))+" "+string(span.Get(m, "content")))
	}
	return strings.Join(all, "\n")
}

func TestWrite_aPruningIsAListOfWhatIsSent(t *testing.T) {
	doc := read(t, []byte(gulls))
	file := filetest.Write(t, Format{}, doc, format.Change{Session: doc.Session, Ledger: rule.NewLedger(leftOut)})
	if rest, ok := bytes.CutPrefix(file, []byte(gulls)); !ok || bytes.Count(rest, []byte("\n")) != 1 {
		t.Fatalf("not one line behind the others:\n%s", file)
	}
	want := `u user [{"text":"How many?"}]
a gemini [{"text":"I look."},{"functionCall":{"id":"c","name":"ls","args":{}}}]
a_response user [{"functionResponse":{"id":"c","name":"ls","response":{"output":"[left out]"}}}]
b gemini [{"text":"Nine."}]
v user [{"text":"Sure?"}]`
	if diff := cmp.Diff(want, sent(t, file)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	// Another change is in the place of it.
	pruned := read(t, file)
	again := filetest.Write(t, Format{}, pruned, format.Change{Session: filetest.Fold(doc.Session, "one", "b"), Ledger: pruned.Ledger})
	if n := bytes.Count(again, []byte(`{"$set"`)); n != 1 {
		t.Errorf("%d lists, want one:\n%s", n, again)
	}
}

func TestWrite_aPivotIsAListThatBeginsWithASummary(t *testing.T) {
	acknowledged := jsonl.UUIDOf("msg_ones/acknowledged") + ` gemini [{"text":"Got it. Thanks for the additional context!"}]`
	summary := jsonl.UUIDOf("msg_ones") + ` user [{"text":"## Summary one\n\n## Carried one"}]` + "\n"
	for _, c := range []struct{ tail, want string }{
		{"", summary + acknowledged},
		{"v", summary + acknowledged + "\n" + `v user [{"text":"Sure?"}]`},
		{"b", summary + "b gemini [{\"text\":\"Nine.\"}]\n" + `v user [{"text":"Sure?"}]`},
	} {
		doc := read(t, []byte(gulls))
		file := filetest.Write(t, Format{}, doc, format.Change{Session: filetest.Fold(doc.Session, "one", c.tail)})
		if diff := cmp.Diff(c.want, sent(t, file)); diff != "" {
			t.Errorf("tail %q (-want +got):\n%s", c.tail, diff)
		}
	}
}

// The product takes what begins with a slash for a command, and sends it no more.
func TestWrite_aSummaryThatLooksLikeACommandIsSent(t *testing.T) {
	doc := read(t, []byte(gulls))
	change := format.Change{Session: filetest.Fold(doc.Session, "one", "")}
	change.Session.Messages[len(change.Session.Messages)-2].Parts[0].Text = "/src has gulls."
	if got := sent(t, filetest.Write(t, Format{}, doc, change)); !strings.Contains(got, `"Summary:\n\n/src has gulls.`) {
		t.Errorf("it is sent\n%s", got)
	}
}

// The product lists what it goes on with: what was pruned is known for what it was, and is sent
// whole once that is undone.
func TestWrite_undoneAfterMoreTurns(t *testing.T) {
	doc := read(t, []byte(gulls))
	change := format.Change{Session: filetest.Fold(doc.Session, "one", "a"), Ledger: rule.NewLedger(leftOut)}
	file := filetest.Write(t, Format{}, doc, change)
	var list []byte
	for l := range span.Lines(file) {
		if messages := span.Get(l.Text.Of(file), "$set", "messages"); messages != nil {
			list = messages
		}
	}
	theirs := string(file) + `{"$set":{"messages":` + string(list) + `}}` + "\n" +
		`{"id":"w","timestamp":"2026-03-01T11:00:00.000Z","type":"gemini","content":"Quite."}` + "\n"
	after := read(t, []byte(theirs))
	if n := len(after.Session.Messages); n != len(change.Session.Messages) || after.Ledger.Len() != 1 || len(after.Theirs) != 0 {
		t.Fatalf("%d elisions, and\n%s", after.Ledger.Len(), outline(after.Session.Messages))
	}
	back := filetest.Write(t, Format{}, after, format.Change{Session: after.Session, Undone: map[string]bool{"msg_one": true}})
	if !strings.HasPrefix(string(back), theirs) {
		t.Error("what was there is not there any more")
	}
	want := `u user [{"text":"How many?"}]
a gemini [{"text":"I look."},{"functionCall":{"id":"c","name":"ls","args":{}}}]
a_response user [{"functionResponse":{"id":"c","name":"ls","response":{"output":"all the gulls"}}}]
b gemini [{"text":"Nine."}]
v user [{"text":"Sure?"}]
w gemini [{"text":"Quite."}]`
	if diff := cmp.Diff(want, sent(t, back)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	log := read(t, back).Session.Messages
	if session.Index(log, "msg_one") >= 0 || session.Index(log, "w") < 0 {
		t.Errorf("read again it is\n%s", outline(log))
	}
}

// A product that was at work meanwhile lists what it remembers.
func TestBypassed(t *testing.T) {
	doc := read(t, []byte(gulls))
	folded := string(filetest.Write(t, Format{}, doc, format.Change{Session: filetest.Fold(doc.Session, "one", "")}))
	more := `{"id":"w","type":"gemini","content":"Quite."}` + "\n"
	list := func(messages string) string { return `{"$set":{"messages":[` + messages + "]}}\n" }
	const context, ask = `{"id":"c0","type":"user","content":"<session_context>"}`, `{"id":"u","type":"user","content":[{"text":"How many?"}]}`
	summary := `{"id":"` + jsonl.UUIDOf("msg_ones") + `","type":"user","content":[{"text":"## Summary one"}]}`
	undone := filetest.Write(t, Format{}, read(t, []byte(folded+more)),
		format.Change{Session: doc.Session, Undone: map[string]bool{"msg_one": true}})
	for _, c := range []struct {
		name, src string
		want      format.Bypass
		bypassed  bool
	}{
		{"nothing more", folded, format.Bypass{}, false},
		{"it goes on behind it", folded + list(context+","+summary) + more, format.Bypass{}, false},
		{"it begins anew, and goes on behind it", folded + list(context) + list(context+","+summary) + more, format.Bypass{}, false},
		{"it goes on from what it remembers", folded + list(context+","+ask) + more, format.Bypass{Line: 7, First: 9, Entries: 2}, true},
		{"it was undone", string(undone), format.Bypass{}, false},
		{"the product compressed it again", folded + list(context+`,{"id":"k","type":"user","content":"In short."}`), format.Bypass{}, false},
	} {
		got, bypassed := Format{}.Bypassed(read(t, []byte(c.src)))
		if got != c.want || bypassed != c.bypassed {
			t.Errorf("%s: %+v, %t; want %+v, %t", c.name, got, bypassed, c.want, c.bypassed)
		}
	}
}

func TestWrite_theProductsCompressionUndone(t *testing.T) {
	doc := read(t, load(t, "resumed.jsonl"))
	file := filetest.Write(t, Format{}, doc, format.Change{Session: doc.Session, Undone: map[string]bool{"k1": true}})
	if !bytes.HasPrefix(file, doc.Source) {
		t.Error("what was there is not there any more")
	}
	if got := sent(t, file); strings.Contains(got, "state_snapshot") || !strings.Contains(got, "Why does the kiln overheat?") {
		t.Errorf("it is sent\n%s", got)
	}
	if log := read(t, file).Session.Messages; session.Index(log, "k1") >= 0 {
		t.Errorf("read again it is\n%s", outline(log))
	}
}

func TestWrite_onlyRecordingsOfOneRecordALine(t *testing.T) {
	for _, name := range []string{"chat.json", "checkpoint.json"} {
		doc := read(t, load(t, name))
		if err := (Format{}).Write(io.Discard, doc, format.Change{Session: doc.Session}); !errors.Is(err, format.ErrReadOnly) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
