package selfprune_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/agent/selfprune"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store/edit"
	"github.com/winnowhq/winnow/token/bpe"
)

// What a loop pays at every step for offering the tools.
func TestTools_takeAtMost500Tokens(t *testing.T) {
	for _, name := range []string{"bpe:o200k_base", "linear"} {
		counter, err := bpe.Named(name)
		if err != nil {
			t.Fatal(err)
		}
		total := 0
		for _, tool := range selfprune.Tools() {
			total += counter.Count(tool.Name) + counter.Count(tool.Description) + counter.Count(string(tool.Schema))
		}
		t.Logf("%s: %d tokens", name, total)
		if total > 500 {
			t.Errorf("%s: the definitions take %d tokens", name, total)
		}
	}
}

func TestTools_areStrictAndNeutral(t *testing.T) {
	names := map[string]bool{}
	for _, tool := range selfprune.Tools() {
		names[tool.Name] = true
		var schema struct {
			Type       string                    `json:"type"`
			Properties map[string]jsontext.Value `json:"properties"`
			Required   []string                  `json:"required"`
			Additional *bool                     `json:"additionalProperties"`
		}
		if err := json.Unmarshal(tool.Schema, &schema, json.RejectUnknownMembers(true)); err != nil {
			t.Errorf("%s: %v", tool.Name, err)
			continue
		}
		if schema.Type != "object" || schema.Properties == nil || schema.Required == nil || schema.Additional == nil || *schema.Additional {
			t.Errorf("%s: the schema is not strict: %s", tool.Name, tool.Schema)
		}
		for _, name := range schema.Required {
			if schema.Properties[name] == nil {
				t.Errorf("%s requires %s and does not describe it", tool.Name, name)
			}
		}
		if len(schema.Required) != len(schema.Properties) {
			t.Errorf("%s: strict schemas require every property: %s", tool.Name, tool.Schema)
		}
		for _, loud := range []string{"MUST", "IMPORTANT", "!", "urgent", "immediately", "always", "critical"} {
			if strings.Contains(tool.Description, loud) {
				t.Errorf("%s says %q", tool.Name, loud)
			}
		}
		if !rule.SelfPrunes(tool.Name) {
			t.Errorf("the rules do not know %s", tool.Name)
		}
	}
	if len(names) != 4 {
		t.Errorf("%d tools, want 4", len(names))
	}
}

// bench is an engine with a session of three large reads.
func bench(t *testing.T) (*winnow.Engine, string, []edit.Named) {
	t.Helper()
	e, err := winnow.Open(winnow.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	id, err := e.Create(t.Context(), session.Info{})
	if err != nil {
		t.Fatal(err)
	}
	user := session.Message{MessageInfo: session.MessageInfo{Role: session.User}, Parts: []session.Part{{Type: session.TextPart, Text: "Look at the harbour."}}}
	log := []session.Message{user}
	for i := range 3 {
		log = append(log, session.Message{MessageInfo: session.MessageInfo{Role: session.Assistant, Finish: "tool-calls"}, Parts: []session.Part{{
			Type: session.ToolPart, Tool: "read", CallID: fmt.Sprint("call_", i), State: &session.ToolState{
				Status: session.Completed, Input: []byte(fmt.Sprintf(`{"filePath":"harbour%d.go"}`, i)), Output: strings.Repeat("a line of text\n", 200),
			}}}})
	}
	log = append(log, session.Message{MessageInfo: session.MessageInfo{Role: session.Assistant, Finish: "stop"}, Parts: []session.Part{{Type: session.TextPart, Text: "Hm."}}})
	if err := e.Append(t.Context(), id, log...); err != nil {
		t.Fatal(err)
	}
	named, err := winnow.Look(t.Context(), e, id, edit.Handles)
	if err != nil || len(named) != 3 {
		t.Fatalf("%d parts are worth pruning, want 3 (%v)", len(named), err)
	}
	return e, id, named
}

func call(t *testing.T, e *winnow.Engine, id, tool, arguments string) string {
	t.Helper()
	text, err := selfprune.Call(t.Context(), e, id, tool, []byte(arguments))
	if err != nil {
		t.Fatalf("%s %s: %v", tool, arguments, err)
	}
	return text
}

func TestCall_doesWhatItSays(t *testing.T) {
	e, id, named := bench(t)
	a, b, c := named[0].Handle, named[1].Handle, named[2].Handle
	list := call(t, e, id, "context_list", `{}`)
	for _, want := range []string{a + "  ", "read harbour0.go", "Oldest first"} {
		if !strings.Contains(list, want) {
			t.Errorf("the list has no %q:\n%s", want, list)
		}
	}
	text := call(t, e, id, "context_discard", `{"handles":["`+a+`","nosuch"]}`)
	if lines := strings.Split(text, "\n"); len(lines) != 2 || !strings.HasPrefix(lines[0], a+": left out, ") || !strings.HasPrefix(lines[1], "nosuch: not done, ") {
		t.Errorf("discard says %q", text)
	}
	text = call(t, e, id, "context_distill", `{"handles":["`+b+`","`+c+`"],"summary":"Two files of the harbour."}`)
	if !strings.Contains(text, b+": distilled, ") || !strings.Contains(text, "Together: ") {
		t.Errorf("distill says %q", text)
	}
	v, err := e.View(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	if got := v.Messages[2].Parts[0].State.Output; !strings.HasSuffix(got, "200 lines distilled] Two files of the harbour.") {
		t.Errorf("the view shows %q", got)
	}
	if list := call(t, e, id, "mcp__winnow__context_list", ``); strings.Count(list, "(left out: ") != 3 {
		t.Errorf("not all three are listed as left out:\n%s", list)
	}
	if text := call(t, e, id, "context_restore", `{"handles":["`+a+`"]}`); !strings.Contains(text, a+": shown whole, ") || !strings.Contains(text, " tokens more") {
		t.Errorf("restore says %q", text)
	}
	if text := call(t, e, id, "context_restore", `{"handles":["`+a+`"]}`); !strings.Contains(text, "nothing to do") {
		t.Errorf("restored once more it says %q", text)
	}
}

// However a model writes the arguments, as long as they can be understood.
func TestCall_takesArgumentsAsModelsWriteThem(t *testing.T) {
	for _, form := range []string{
		`{"handles":["A","B"]}`, `{"handles":"A"}`, `{"handles":"A, B"}`, `{"handles":"A B"}`, `{"handles":["[handle A]"]}`, `{"handle":"A"}`, `{"targets":["A"]}`,
		`["A","B"]`, `"A"`, `{"handles":[{"handle":"A"}]}`, `"{\"handles\":[\"A\"]}"`, `{"handles":"[\"A\",\"B\"]"}`, `{"handles":["A"],"reason":"done with it"}`, `{"handles":["A\nB"]}`,
		`{"handles":["[winnow A: read harbour0.go, 200 lines left out]"]}`,
	} {
		e, id, named := bench(t)
		arguments := strings.NewReplacer("A", named[0].Handle, "B", named[1].Handle).Replace(form)
		if text := call(t, e, id, "context_discard", arguments); !strings.Contains(text, named[0].Handle+": left out") {
			t.Errorf("%s says %q", form, text)
		}
	}
}

func TestCall_whatAModelWritesIsNoError(t *testing.T) {
	e, id, named := bench(t)
	before, err := e.View(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	for _, tool := range []string{"context_discard", "context_distill", "context_restore", "context_forget", ""} {
		for _, arguments := range []string{"", "null", "{}", "[]", `""`, "7", "true", "{broken", "\xff", `{"handles":[]}`, `{"handles":{}}`, `{"handles":null}`, `{"handles":[null,[],7]}`,
			`{"handles":["` + strings.Repeat("x", 5000) + `"]}`, `{"summary":"x"}`, `{"handles":["zzzzzz"],"summary":""}`, `{"handles":["zzzzzz"],"summary":["x"]}`,
			`{"handles":["` + named[0].Handle + `x"],"summary":7}`} {
			text := call(t, e, id, tool, arguments)
			if text == "" || len(text) > 2000 {
				t.Errorf("%s %.60s: %d characters are said", tool, arguments, len(text))
			}
		}
	}
	if text := call(t, e, id, "context_discard", `{"handles":["`+named[0].Handle+`x"]}`); !strings.Contains(text, named[0].Handle) {
		t.Errorf("a handle that is almost one is told as %q", text)
	}
	after, err := e.View(t.Context(), id)
	if err != nil || after.Tokens != before.Tokens {
		t.Errorf("the view has %d tokens, had %d (%v)", after.Tokens, before.Tokens, err)
	}
}

func TestCall_aSessionThatIsNotThereIsAnError(t *testing.T) {
	e, _, _ := bench(t)
	for _, tool := range selfprune.Tools() {
		_, err := selfprune.Call(context.Background(), e, "nosuch", tool.Name, []byte(`{"handles":["a"],"summary":"x"}`))
		var failed *winnow.Error
		if !errors.As(err, &failed) || failed.Code != winnow.NotFound {
			t.Errorf("%s: %v, want %s", tool.Name, err, winnow.NotFound)
		}
	}
}

func FuzzCall(f *testing.F) {
	for _, s := range []string{`{"handles":["a"]}`, `"a"`, `["a"]`, `{"handles":"[\"a\"]","summary":"x"}`, `{`} {
		f.Add("context_distill", []byte(s))
	}
	f.Fuzz(func(t *testing.T, tool string, arguments []byte) {
		e, id, _ := bench(t)
		if text, err := selfprune.Call(t.Context(), e, id, tool, arguments); err != nil || text == "" {
			t.Errorf("%q %q: %q, %v", tool, arguments, text, err)
		}
	})
}
