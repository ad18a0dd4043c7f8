package gemini

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/text/span"
)

func TestParts(t *testing.T) {
	for _, c := range []struct{ content, want string }{
		{`"Hello."`, `0 text Hello.`},
		{`{"text":"Hello."}`, `0 text Hello.`},
		{`[{"text":"A"},7,"B",[{"text":"C"}],{"thought":true,"text":"D"},{"text":5}]`,
			`0 text A; 2 text B; -1 text C; 4 ; 5 `},
		{`[{"functionCall":{"id":"c","name":"ls","args":{"a":1}}},{"functionResponse":{"id":"c","response":{"error":"no"}}}]`,
			`0 call c ls; 1 result c no`},
		{`[{"inlineData":{"mimeType":"image/png","data":"aGk="}},{"fileData":{"fileUri":"gs://a"}}]`,
			`0 file aGk=; 1 file gs://a`},
		{`null`, ``}, {``, ``}, {`[{"text":"cut`, ``},
	} {
		var got []string
		for _, p := range Parts([]byte(c.content)) {
			got = append(got, fmt.Sprintf("%d %s", p.At, strings.TrimPrefix(p.Says(), "\x00")))
		}
		if diff := cmp.Diff(c.want, strings.Join(got, "; ")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.content, diff)
		}
	}
}

func TestOutput(t *testing.T) {
	for response, want := range map[string]string{
		`{"output":"yes"}`: "yes false", `{"error":"no"}`: "no true", `"plain"`: "plain false",
		`{"rows":[1]}`: `{"rows":[1]} false`, `{"output":5,"error":"no"}`: "no true", ``: " false",
	} {
		text, failed := Output([]byte(response))
		if got := fmt.Sprint(text, " ", failed); got != want {
			t.Errorf("%s: %s, want %s", response, got, want)
		}
	}
}

// What is shown of each kind of part under each kind of elision.
func TestShown(t *testing.T) {
	const (
		call   = `{"functionCall":{"id":"c","name":"ls","args":{"path":"a"}}}`
		result = `{"functionResponse":{"id":"c","name":"ls","response":{"output":"all","more":1},"parts":[{"inlineData":{"mimeType":"image/png","data":"aGk="}}]}}`
		failed = `{"functionResponse":{"id":"c","name":"ls","response":{"error":"no"}}}`
		plain  = `{"functionResponse":{"id":"c","name":"ls","response":{"rows":[1]}}}`
	)
	own, answer := Slot{Part: "p"}, Slot{Part: "p", Result: true}
	for _, c := range []struct {
		name, part string
		slot       Slot
		field      rule.Field
		shown      string
		want       string // "" if nothing of it is shown
		none       bool   // the elision shows elsewhere
	}{
		{"an output", result, answer, rule.Output, "[out]", `{"functionResponse":{"id":"c","name":"ls","response":{"output":"[out]","more":1}}}`, false},
		{"an error", failed, answer, rule.Error, "[out]", `{"functionResponse":{"id":"c","name":"ls","response":{"error":"[out]"}}}`, false},
		{"an answer without an output", plain, answer, rule.Output, "[out]", `{"functionResponse":{"id":"c","name":"ls","response":{"output":"[out]"}}}`, false},
		{"an output of which nothing is shown", failed, answer, rule.Whole, "", `{"functionResponse":{"id":"c","name":"ls","response":{"error":"` + rule.Cleared + `"}}}`, false},
		{"its pictures", result, answer, rule.Attachments, "[picture]", `{"functionResponse":{"id":"c","name":"ls","response":{"output":"all\n[picture]","more":1}}}`, false},
		{"a picture beside it", `{"inlineData":{"mimeType":"image/png","data":"aGk="}}`, Slot{Part: "p", Result: true, Beside: true}, rule.Output, "[out]", "", false},
		{"arguments", call, own, rule.Input, "{\n\"path\": \"…\"\n}", `{"functionCall":{"id":"c","name":"ls","args":{"path":"…"}}}`, false},
		{"a call as a whole", call, own, rule.Whole, "[out]", `{"functionCall":{"id":"c","name":"ls","args":{}}}`, false},
		{"an output is not in the call", call, own, rule.Output, "[out]", call, true},
		{"arguments are not in the result", result, answer, rule.Input, "{}", result, true},
		{"a text", `{"text":"long"}`, own, rule.Text, "[out]", `{"text":"[out]"}`, false},
		{"a text of which nothing is shown", `{"text":"long"}`, own, rule.Text, "", "", false},
		{"a thought goes as a whole", `{"text":"hm","thought":true}`, own, rule.Text, "[out]", "", false},
		{"a picture of the user's", `{"inlineData":{"mimeType":"image/png","data":"aGk="}}`, own, rule.Attachments, "[picture]", `{"text":"[picture]"}`, false},
		{"what is not in the log", `{"executableCode":{}}`, Slot{}, rule.Whole, "[out]", `{"executableCode":{}}`, true},
	} {
		list := []byte(`[{"text":"before"},` + c.part + `]`)
		elision := rule.Elision{Part: "p", Field: c.field, Shown: c.shown}
		got, found := Shown(list, []Slot{{}, c.slot}, rule.NewLedger(elision))
		want := `[{"text":"before"}]`
		if c.want != "" {
			want = `[{"text":"before"},` + c.want + `]`
		}
		if string(got) != want || (len(found) == 0) != c.none {
			t.Errorf("%s: %d elisions show in\n%s, want\n%s", c.name, len(found), got, want)
		}
	}
}

// A content keeps a part.
func TestShown_nothing(t *testing.T) {
	ledger := rule.NewLedger(rule.Elision{Part: "p", Field: rule.Text})
	if got, _ := Shown([]byte(`[{"text":"a"}]`), []Slot{{Part: "p"}}, ledger); string(got) != `[{"text":""}]` {
		t.Errorf("got %s", got)
	}
}

func TestAnswered(t *testing.T) {
	m := &session.Message{MessageInfo: session.MessageInfo{ID: "m", Role: session.Assistant}, Parts: []session.Part{
		{ID: "p1", Type: session.ReasoningPart, Text: "Hm."}, {ID: "p2", Type: session.StepStartPart},
		{ID: "p3", Type: session.TextPart, Text: "I look."}, {ID: "p4", Type: session.TextPart, Text: "aside", Ignored: true},
		{ID: "p5", Type: session.ToolPart, Tool: "ls", CallID: "c", State: &session.ToolState{
			Status: session.Failed, Input: []byte("{\n\"path\": \"a\"}"), Error: "no"}},
		{ID: "p6", Type: session.ToolPart, Tool: "ls", CallID: "c", State: &session.ToolState{Status: session.Running}},
		{ID: "p7", Type: session.FilePart, Mime: "application/zip", Filename: "all.zip", URL: "file:///all.zip"},
	}}
	name, called := Caller(m, map[string]bool{})
	said, results := Answered(m, name)
	want := `[{"text":"Hm.","thought":true},{"text":"I look."},{"functionCall":{"id":"c","name":"ls","args":{"path":"a"}}},` +
		`{"functionCall":{"id":"` + called["p6"] + `","name":"ls","args":{}}},{"text":"[File: all.zip application/zip]"}]`
	if got := string(span.Array(Raws(said))); got != want {
		t.Errorf("said\n%s, want\n%s", got, want)
	}
	if got := string(span.Array(Raws(results))); got != `[{"functionResponse":{"id":"c","name":"ls","response":{"error":"no"}}}]` {
		t.Errorf("results %s", got)
	}
	if called["p5"] != "c" || called["p6"] == "c" {
		t.Errorf("ids of calls: %v", called)
	}
}
