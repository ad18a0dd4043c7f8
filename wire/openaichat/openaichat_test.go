package openaichat

import (
	"flag"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/winnowhq/winnow/internal/wiretest"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/wire"
)

var update = flag.Bool("update", false, "write the golden files anew")

var format = wiretest.Format{
	Form:   Form,
	Decode: Decode, Check: Check,
}

func TestEncode_golden(t *testing.T) {
	wiretest.Golden(t, format, wire.Options{
		Model: "model-a", System: "You help.", MaxTokens: 1000,
		Tools: jsontext.Value(`[{"type":"function","function":{"name":"read"}}]`),
	}, *update)
}

func TestFormat(t *testing.T) { wiretest.Run(t, format) }

func TestEncode_aRecordedSession(t *testing.T) { wiretest.Recorded(t, format) }

func encode(t testing.TB, messages []session.Message, o wire.Options) []byte {
	t.Helper()
	_, body, err := format.Encode(messages, o)
	if err != nil {
		t.Fatal(err)
	}
	return body
}

func TestDecode_joinsResultsAndKeepsTheirPlaces(t *testing.T) {
	body := []byte(`{"model":"m","messages":[
		{"role":"developer","content":"S1"},{"role":"system","content":[{"type":"text","text":"S2"}]},
		{"role":"user","content":[{"type":"text","text":"go"},{"type":"image_url","image_url":{"url":"https://example.com/a.png"}},{"type":"input_audio","input_audio":{"data":"AA"}}]},
		{"role":"assistant","content":null,"reasoning_content":"hm","tool_calls":[{"id":"c1","type":"function","function":{"name":"read","arguments":"{\"a\":1}"}},{"id":"c2","type":"function","function":{"name":"read","arguments":"{cut"}}]},
		{"role":"tool","tool_call_id":"c2","content":[{"type":"text","text":"two"}]},
		{"role":"tool","tool_call_id":"c1","content":"one"},
		{"role":"system","content":"mind the gap"},
		{"role":"assistant","content":"old","function_call":{"name":"f","arguments":""}},
		{"role":"function","name":"f","content":"result of f"},
		{"role":"robot","content":"?"}]}`)
	d := Decode(body)
	if d.System != "S1\n\nS2" || d.ToolCalls != 3 || d.ToolResults != 3 || len(d.Skipped) != 1 ||
		!strings.Contains(string(d.Skipped[0].Of(d.Text)), "robot") {
		t.Fatalf("got %+v", d)
	}
	var said []string
	for i := range d.Messages {
		m := &d.Messages[i]
		for j := range m.Parts {
			p := &m.Parts[j]
			line := m.ID + " " + string(m.Role) + " " + p.ID + " " + string(p.Type) + " " + p.Text
			if p.State != nil {
				line += string(p.State.Input) + " → " + p.State.Result() + " " +
					string(d.Places[p.ID].Result.Of(d.Text))
			}
			said = append(said, line)
		}
	}
	want := []string{
		"m0001 user m0001:0 text go",
		"m0001 user m0001:1 file ",
		"m0001 user m0001:2 openai/chat.input_audio ",
		"m0002 assistant m0002:0 reasoning hm",
		`m0002 assistant c1 tool {"a":1} → one "one"`,
		`m0002 assistant c2 tool "{cut" → two [{"type":"text","text":"two"}]`,
		"m0003 user m0003:0 text mind the gap",
		"m0004 assistant m0004:0 text old",
		`m0004 assistant function_assistant_m0004 tool {} → result of f "result of f"`,
	}
	if diff := cmp.Diff(want, said); diff != "" {
		t.Error(diff)
	}
	again := string(encode(t, d.Messages, wire.Options{Model: "m"}))
	if err := Check([]byte(again)); err != nil {
		t.Errorf("%v\n%s", err, again)
	}
	for _, want := range []string{`"reasoning_content":"hm"`, `"input_audio"`,
		`{"role":"system","content":"mind the gap"}`, `https://example.com/a.png`} {
		if !strings.Contains(again, want) {
			t.Errorf("%s is missing in %s", want, again)
		}
	}
	if other := string(encode(t, d.Messages, wire.Options{Model: "another"})); strings.Contains(other, "hm") {
		t.Errorf("another model was sent reasoning that it did not write: %s", other)
	}
}

func TestCheck_findsWhatTheProviderRefuses(t *testing.T) {
	const call = `{"role":"user","content":"a"},{"role":"assistant","content":null,"tool_calls":[{"id":"c",` +
		`"type":"function","function":{"name":"n","arguments":"{}"}}]}`
	for name, c := range map[string]struct{ messages, want string }{
		"a call at the end":     {call, "no results"},
		"a call without result": {call + `,{"role":"user","content":"b"}`, "no result yet"},
		"a result without call": {`{"role":"tool","tool_call_id":"c","content":"r"}`, "no call before"},
		"two results": {call + `,{"role":"tool","tool_call_id":"c","content":"r"},{"role":"tool",` +
			`"tool_call_id":"c","content":"r"}`, "no call before"},
		"empty":      {`{"role":"user","content":""}`, "no content"},
		"no content": {`{"role":"assistant","content":null}`, "no content"},
		"arguments not an object": {`{"role":"assistant","tool_calls":[{"id":"c","function":{"name":"n",` +
			`"arguments":"[]"}}]},{"role":"tool","tool_call_id":"c","content":""}`, "arguments"},
		"unknown role": {`{"role":"robot","content":"a"}`, "role"},
	} {
		t.Run(name, func(t *testing.T) {
			err := Check([]byte(`{"messages":[` + c.messages + `]}`))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want something with %q", err, c.want)
			}
		})
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"messages":[{"role":"user","content":"go"},{"role":"assistant","content":null,` +
		`"tool_calls":[{"id":"c","type":"function","function":{"name":"n","arguments":"{}"}}]},{"role":"tool",` +
		`"tool_call_id":"c","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,AA=="}}]}]}`))
	f.Add([]byte(`[{"role":"function","content":4},{"role":"assistant","function_call":{}},{"role":"assistant",` +
		`"tool_calls":[1,{}]}]`))
	f.Add([]byte(`{"messages":[{"role":"user","content":"cut \u00`))
	f.Fuzz(func(t *testing.T, body []byte) {
		d := Decode(body)
		again := encode(t, d.Messages, wire.Options{Model: d.Model})
		if err := Check(again); err != nil {
			t.Errorf("what was read cannot be sent: %v\n%s", err, again)
		}
	})
}

func BenchmarkEncode(b *testing.B) {
	messages := wiretest.Long(2000)
	b.SetBytes(int64(len(encode(b, messages, wire.Options{Model: wiretest.Model}))))
	for b.Loop() {
		encode(b, messages, wire.Options{Model: wiretest.Model})
	}
}

func BenchmarkDecode(b *testing.B) {
	body := encode(b, wiretest.Long(2000), wire.Options{Model: wiretest.Model})
	b.SetBytes(int64(len(body)))
	for b.Loop() {
		Decode(body)
	}
}
