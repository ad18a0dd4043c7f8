package qwen

import (
	"bytes"
	"fmt"
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
	filetest.RoundTrips(t, Format{}, load(t), 60)
}

func TestWrite_damagedFiles(t *testing.T) {
	doc := read(t, string(load(t)))
	folded := filetest.Write(t, Format{}, doc, format.Change{Session: filetest.Fold(doc.Session, "old", "u2"), Ledger: doc.Ledger.With(
		filetest.Some(doc.Session.Messages, rand.New(rand.NewPCG(1, 1)))...)})
	filetest.Damaged(t, Format{}, load(t), 250)
	filetest.Damaged(t, Format{}, folded, 250)
}

const (
	called = `"message":{"role":"model","parts":[{"text":"I look."},{"functionCall":{"id":"c","name":"ls","args":{}}}]}`
	listed = `"message":{"role":"user","parts":[{"functionResponse":{"id":"c","name":"ls","response":{"output":"all the gulls"}}}]}`
)

// gulls are a question, a call, its result, an answer, and another question.
func gulls() string {
	return line("u", "", "user", text("How many?")) + line("a", "u", "assistant", called) + line("r", "a", "tool_result", listed) +
		line("b", "r", "assistant", text("Nine.")) + line("v", "b", "user", text("Sure?"))
}

// leftOut is what the result is left out with.
var leftOut = rule.Elision{Part: "c", Message: "a", Field: rule.Output, Rule: "test", Because: "because", Shown: "[left out]"}

// added are the lines that a file has more.
func added(t *testing.T, file []byte, than string) []string {
	t.Helper()
	rest, ok := strings.CutPrefix(string(file), than)
	if !ok {
		t.Fatalf("what was there is not there any more:\n%s", file)
	}
	return strings.Split(strings.TrimSpace(rest), "\n")
}

func TestWrite_aPivotIsTheProductsCompression(t *testing.T) {
	for _, c := range []struct{ tail, want string }{
		{"v", `[user "## Summary one\n\n## Carried one"] [model "Got it. Thanks for the additional context!"] [user "Sure?"]`},
		{"b", `[user "## Summary one\n\n## Carried one"] [model "Nine."] [user "Sure?"]`},
		{"a", `[user "## Summary one\n\n## Carried one"] [model "I look." call c] [user result c "all the gulls"] [model "Nine."] [user "Sure?"]`},
		{"", `[user "## Summary one\n\n## Carried one"] [model "Got it. Thanks for the additional context!"]`},
	} {
		doc := read(t, gulls())
		file := filetest.Write(t, Format{}, doc, format.Change{Session: filetest.Fold(doc.Session, "one", c.tail)})
		lines := added(t, file, gulls())
		if len(lines) != 2 {
			t.Fatalf("tail %q: %d lines were added, want the compression and the continuation", c.tail, len(lines))
		}
		for name, want := range map[string]string{"parentUuid": `"v"`, "sessionId": `"s"`, "subtype": `"chat_compression"`} {
			if got := string(span.Get([]byte(lines[0]), name)); got != want {
				t.Errorf("tail %q: %s is %s, want %s", c.tail, name, got, want)
			}
		}
		if got := history(lines[0]); got != c.want {
			t.Errorf("tail %q: the compressed history is\n%s, want\n%s", c.tail, got, c.want)
		}
	}
}

// history is what the model is sent from a compression on.
func history(line string) string {
	var all []string
	list := span.Get([]byte(line), "systemPayload", "compressedHistory")
	for v := range span.Values(list, span.All(list)) {
		said := span.String(span.Get(v.Of(list), "role"))
		parts := span.Get(v.Of(list), "parts")
		for p := range span.Values(parts, span.All(parts)) {
			part := p.Of(parts)
			if text := span.Get(part, "text"); text != nil {
				said += fmt.Sprintf(" %s", text)
			}
			if call := span.Get(part, "functionCall", "id"); call != nil {
				said += " call " + span.String(call)
			}
			if result := span.Get(part, "functionResponse", "id"); result != nil {
				said += fmt.Sprintf(" result %s %s", span.String(result), span.Get(part, "functionResponse", "response", "output"))
			}
		}
		all = append(all, "["+said+"]")
	}
	return strings.Join(all, " ")
}

// A result does not stay without its call.
func TestWrite_aTailHasNoResultOfACallThatWasFolded(t *testing.T) {
	src := line("u", "", "user", text("How many?")) + line("a", "u", "assistant", called) +
		line("r", "a", "tool_result", strings.Replace(listed, `[{`, `[{"text":"A note."},{`, 1))
	doc := read(t, src)
	change := format.Change{Session: filetest.Fold(doc.Session, "one", "r"), Ledger: rule.NewLedger(
		rule.Elision{Part: "r:0", Message: "r", Field: rule.Text, Shown: "[note]"})}
	want := `[user "## Summary one\n\n## Carried one"] [model "Got it. Thanks for the additional context!"] [user "[note]"]`
	lines := strings.Split(string(filetest.Write(t, Format{}, doc, change)), "\n")
	if got := history(lines[3]); got != want {
		t.Errorf("the compressed history is\n%s, want\n%s", got, want)
	}
}

// What the product repeats of what it was sent is what was pruned: it is known for what it was, and
// comes back where it stands.
func TestWrite_whatTheProductRepeatsOfWhatWasPruned(t *testing.T) {
	doc := read(t, gulls())
	pruned := string(filetest.Write(t, Format{}, doc, format.Change{Session: doc.Session, Ledger: rule.NewLedger(leftOut)}))
	if strings.Count(pruned, `"output":"[left out]"`) != 1 || strings.Count(pruned, "all the gulls") != 1 {
		t.Fatalf("pruned it is\n%s", pruned)
	}
	src := pruned + line("k", "v", "system", `"subtype":"chat_compression","systemPayload":{"info":{"triggerReason":"manual"},"compressedHistory":[`+
		`{"role":"user","parts":[{"text":"In short."}]},{"role":"model","parts":[{"text":"I look."},{"functionCall":{"id":"c","name":"ls","args":{}}}]},`+
		`{"role":"user","parts":[{"functionResponse":{"id":"c","name":"ls","response":{"output":"[left out]"}}}]},`+
		`{"role":"model","parts":[{"text":"Nine."}]},{"role":"user","parts":[{"text":"Sure?"}]}]}`)
	after := read(t, src)
	filetest.Unchanged(t, Format{}, after)
	marker := after.Session.Messages[4].Marker()
	if marker == nil || marker.TailStartID != "a" || !after.Theirs["k"] || after.Ledger.Len() != 1 {
		t.Fatalf("read as\n%s and %v", outline(after.Session.Messages), after.Ledger.All())
	}
	back := filetest.Write(t, Format{}, after, format.Change{Session: after.Session})
	if want := strings.ReplaceAll(strings.Replace(src, pruned, gulls(), 1), "[left out]", "all the gulls"); string(back) != want {
		t.Errorf("restored (-want +got):\n%s", cmp.Diff(want, string(back)))
	}
	filetest.Unchanged(t, Format{}, read(t, string(back)))
}

func TestWrite_undoneAfterMoreTurns(t *testing.T) {
	doc := read(t, gulls())
	folded := filetest.Write(t, Format{}, doc, format.Change{Session: filetest.Fold(doc.Session, "one", "b"), Ledger: rule.NewLedger(leftOut)})
	on := line("w", jsonl.UUIDOf("msg_onec"), "assistant", text("Quite."))
	after := read(t, string(folded)+on)
	got := filetest.Write(t, Format{}, after, format.Change{Session: after.Session, Undone: map[string]bool{"msg_one": true}})
	if want := gulls() + strings.Replace(on, jsonl.UUIDOf("msg_onec"), "v", 1); string(got) != want {
		t.Errorf("(-want +got):\n%s", cmp.Diff(want, string(got)))
	}
}

func TestWrite_theProductsCompressionUndone(t *testing.T) {
	doc := read(t, string(load(t)))
	file := filetest.Write(t, Format{}, doc, format.Change{Session: doc.Session, Undone: map[string]bool{"k1": true}})
	if bytes.Contains(file, []byte("chat_compression")) {
		t.Error("the compression is still in the file")
	}
	log := read(t, string(file)).Session.Messages
	if at := session.Index(log, "g1"); at < 1 || log[at-1].ID != "a2" {
		t.Errorf("what came after does not follow what came before:\n%s", outline(log))
	}
}

func TestWrite_aMarkerWithoutASummaryIsNotWritten(t *testing.T) {
	doc := read(t, gulls())
	change := format.Change{Session: filetest.Fold(doc.Session, "one", "")}
	change.Session.Messages = change.Session.Messages[:5]
	if got := filetest.Write(t, Format{}, doc, change); string(got) != gulls() {
		t.Errorf("it became\n%s", got)
	}
}

func TestBypassed(t *testing.T) {
	doc := read(t, gulls())
	folded := string(filetest.Write(t, Format{}, doc, format.Change{Session: filetest.Fold(doc.Session, "one", "")}))
	for _, c := range []struct {
		name, more string
		want       format.Bypass
		bypassed   bool
	}{
		{"nothing more", "", format.Bypass{}, false},
		{"the product goes on behind it", line("w", jsonl.UUIDOf("msg_onec"), "assistant", text("Quite.")), format.Bypass{}, false},
		{"the product goes on from before it", line("w", "v", "assistant", text("Quite.")) + line("x", "w", "user", text("Good.")),
			format.Bypass{Line: 6, First: 8, Entries: 2}, true},
		{"the user went back", line("w", "a", "system", `"subtype":"rewind","systemPayload":{}`) + line("x", "w", "user", text("Good.")),
			format.Bypass{}, false},
	} {
		got, bypassed := Format{}.Bypassed(read(t, folded+c.more))
		if got != c.want || bypassed != c.bypassed {
			t.Errorf("%s: %+v, %t; want %+v, %t", c.name, got, bypassed, c.want, c.bypassed)
		}
	}
}
