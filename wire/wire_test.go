package wire

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/winnowhq/winnow/session"
)

func TestComplete(t *testing.T) {
	for body, want := range map[string]string{
		`{"a":[1,"b"]}`:      `{"a":[1,"b"]}`,
		`{"a":[1,"b`:         `{"a":[1,"b"]}`,
		`{"a":[1,"b\`:        `{"a":[1,"b"]}`,
		`{"a":[1,"b\u00`:     `{"a":[1,"b"]}`,
		"{\"a\":[1,\"b\xc3":  `{"a":[1,"b"]}`,
		`{"a":[1,`:           `{"a":[1]}`,
		`{"a":[tr`:           `{"a":[]}`,
		`{"a":`:              `{"a":null}`,
		`{"a"`:               `{"a":null}`,
		`{"a":1,"b`:          `{"a":1}`,
		`{"a":{"b":"c"},`:    `{"a":{"b":"c"}}`,
		`{"a":1} trailing`:   `{"a":1}`,
		`{"a":[1,2}`:         `{"a":[1,2]}`,
		`{"a":"x" "b":"y"}`:  `{"a":"x"}`,
		``:                   ``,
		`nonsense`:           ``,
		`"just a long strin`: ``,
	} {
		got, skipped := Complete([]byte(body))
		if string(got) != want {
			t.Errorf("%s: got %s, want %s", body, got, want)
		}
		if sound := body == want && body != ""; sound != (len(skipped) == 0) {
			t.Errorf("%s: skipped %v", body, skipped)
		}
	}
}

func TestValue_readsWhatTheDecoderReads(t *testing.T) {
	root := ValueOf([]byte(` { "a" : [ 1 , "x,]}\"" , {"b":{}} ] , "\u0061b":-2.5e3,"c":{} , "d":"" , "e":true } `))
	got := map[string]string{}
	for name, value := range root.Members() {
		got[name] = string(value.Bytes())
	}
	want := map[string]string{"a": `[ 1 , "x,]}\"" , {"b":{}} ]`, "ab": "-2.5e3", "c": "{}", "d": `""`, "e": "true"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	var values []string
	for value := range root.Get("a").Values() {
		values = append(values, string(value.Bytes()))
	}
	if diff := cmp.Diff([]string{"1", `"x,]}\""`, `{"b":{}}`}, values); diff != "" {
		t.Error(diff)
	}
}

func TestEntries_onlyTheModelThatWroteReasoningGetsItBack(t *testing.T) {
	thinks := func(model string) session.Message {
		return session.Message{MessageInfo: session.MessageInfo{Role: session.Assistant, ModelID: model,
			ProviderID: "p"}, Parts: []session.Part{
			{Type: session.ReasoningPart, Text: "hm"}, {Type: session.TextPart, Text: "so"},
			{Type: session.ReasoningPart, Text: "nothing follows"},
		}}
	}
	for name, c := range map[string]struct {
		o    Options
		want int
	}{
		"the same model":             {Options{Model: "m"}, 2},
		"the same with its provider": {Options{Model: "m", Provider: "p"}, 2},
		"another provider":           {Options{Model: "m", Provider: "q"}, 1},
		"another model":              {Options{Model: "n"}, 1},
		"no model":                   {Options{}, 1},
	} {
		entries := Entries([]session.Message{thinks("m")}, c.o, "")
		if len(entries) != 1 || len(entries[0].Pieces) != c.want {
			t.Errorf("%s: got %+v", name, entries)
		}
	}
}

func TestEntries_failedMessagesWithoutContentAreLeftOut(t *testing.T) {
	failed := func(parts ...session.Part) session.Message {
		return session.Message{MessageInfo: session.MessageInfo{Role: session.Assistant, ModelID: "m",
			Error: jsontext.Value(`{"name":"E"}`)}, Parts: parts}
	}
	for name, c := range map[string]struct {
		message session.Message
		want    int
	}{
		"nothing":        {failed(), 0},
		"reasoning only": {failed(session.Part{Type: session.ReasoningPart, Text: "hm"}), 0},
		"text":           {failed(session.Part{Type: session.TextPart, Text: "half a sen"}), 1},
		"a call":         {failed(session.Part{Type: session.ToolPart, CallID: "c", Tool: "t"}), 1},
	} {
		if got := Entries([]session.Message{c.message}, Options{Model: "m"}, ""); len(got) != c.want {
			t.Errorf("%s: got %+v", name, got)
		}
	}
}

func TestEntries_resultOfACall(t *testing.T) {
	for name, c := range map[string]struct {
		state  *session.ToolState
		result string
		failed bool
		input  string
	}{
		"completed": {&session.ToolState{Status: session.Completed, Output: "o",
			Input: jsontext.Value(`{"a": 1}`)}, "o", false, `{"a":1}`},
		"failed":                {&session.ToolState{Status: session.Failed, Error: "e"}, "e", true, `{}`},
		"failed without a word": {&session.ToolState{Status: session.Failed}, Wordless, true, `{}`},
		"running": {&session.ToolState{Status: session.Running, Output: "half"}, Interrupted, false,
			`{}`},
		"pending": {&session.ToolState{Status: session.Pending, Input: jsontext.Value(`{"cut`)},
			Interrupted, false, `{"input":"{\"cut"}`},
		"without state": {nil, Interrupted, false, `{}`},
		"stopped with what it said": {&session.ToolState{Status: session.Failed, Error: "e",
			Metadata: jsontext.Value(`{"interrupted":true,"output":"half"}`)}, "half", false, `{}`},
		"arguments that are a list": {&session.ToolState{Status: session.Completed, Input: jsontext.Value(`[1]`)}, "",
			false, `{"input":[1]}`},
	} {
		m := session.Message{MessageInfo: session.MessageInfo{Role: session.Assistant},
			Parts: []session.Part{{Type: session.ToolPart, CallID: "c", State: c.state}}}
		call := Entries([]session.Message{m}, Options{}, "")[0].Pieces[0].Call
		if call.Result != c.result || call.Failed != c.failed || string(call.Input) != c.input {
			t.Errorf("%s: got %q, failed %v, input %s", name, call.Result, call.Failed, call.Input)
		}
	}
}

func TestSafeName(t *testing.T) {
	long := strings.Repeat("a", 70)
	for name, want := range map[string]string{"": "unknown", "a-b_C9": "a-b_C9", "mcp:x.y": "mcp_x_y",
		"fc|1é": "fc_1_"} {
		if got := SafeName(name, 64); got != want {
			t.Errorf("%q: got %q, want %q", name, got, want)
		}
	}
	if one, two := SafeName(long+"1", 64), SafeName(long+"2", 64); one == two || len(one) != 64 {
		t.Errorf("long names: %q and %q", one, two)
	}
}

func TestInjected(t *testing.T) {
	for text, want := range map[string]bool{
		"<environment-info>\nx\n</environment-info>\n": true, "<a_b></a_b>": true, "<b>bold</b>": false,
		"<a-b>open":        false,
		"text <a-b></a-b>": false, "<a-b c=d></a-b>": false, "": false,
	} {
		if got := Injected(text); got != want {
			t.Errorf("%q: got %v", text, got)
		}
	}
}
