package responses

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
		Tools: jsontext.Value(`[{"type":"function","name":"read"}]`),
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

func TestDecode_joinsOutputsAndKeepsTheirPlaces(t *testing.T) {
	body := []byte(`{"model":"m","instructions":"S1","input":[
		{"type":"message","role":"developer","content":[{"type":"input_text","text":"S2"}]},
		{"role":"user","content":"go"},
		{"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"hm"},{"type":"summary_text","text":"so"}],"encrypted_content":"enc"},
		{"type":"message","role":"assistant","phase":"commentary","content":[{"type":"output_text","text":"I look."}]},
		{"type":"function_call","call_id":"c1","name":"read","arguments":"{\"a\":1}"},
		{"type":"custom_tool_call","call_id":"c2","name":"patch","input":"free\ntext"},
		{"type":"function_call_output","call_id":"c1","output":"one"},
		{"type":"custom_tool_call_output","call_id":"c2","output":[{"type":"input_text","text":"two"},{"type":"input_image","image_url":"data:image/png;base64,AA=="}]},
		{"type":"web_search_call","id":"ws_1","status":"completed"},
		{"type":"message","role":"developer","content":[{"type":"input_text","text":"mind the gap"}]},
		{"type":"message","role":"assistant","content":"done"},
		{"text":"?"}]}`)
	d := Decode(body)
	if d.System != "S1\n\nS2" || d.ToolCalls != 2 || d.ToolResults != 2 || len(d.Skipped) != 1 {
		t.Fatalf("got %+v", d)
	}
	var said []string
	for i := range d.Messages {
		m := &d.Messages[i]
		for j := range m.Parts {
			p := &m.Parts[j]
			line := m.ID + " " + string(m.Role) + " " + p.ID + " " + string(p.Type) + " " + p.Text
			if p.State != nil {
				line += string(p.State.Input) + " → " + p.State.Result()
			}
			said = append(said, line)
		}
	}
	want := []string{
		"m0001 user m0001:0 text go",
		"m0002 assistant m0002:0 reasoning hm",
		"m0002 assistant m0002:1 reasoning so",
		"m0002 assistant m0002:2 text I look.",
		`m0002 assistant c1 tool {"a":1} → one`,
		`m0002 assistant c2 tool {"input":"free\ntext"} → two`,
		"m0003 assistant m0003:0 openai/responses.web_search_call ",
		"m0004 user m0004:0 text mind the gap",
		"m0005 assistant m0005:0 text done",
	}
	if diff := cmp.Diff(want, said); diff != "" {
		t.Error(diff)
	}
	again := string(encode(t, d.Messages, wire.Options{Model: "m"}))
	if err := Check([]byte(again)); err != nil {
		t.Errorf("%v\n%s", err, again)
	}
	for _, want := range []string{
		`{"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"hm"},{"type":"summary_text",` +
			`"text":"so"}],"encrypted_content":"enc"}`,
		`{"type":"message","role":"assistant","phase":"commentary","content":[{"type":"output_text","text":"I look."}]}`,
		`{"type":"custom_tool_call","call_id":"c2","name":"patch","input":"free\ntext"}`,
		`{"type":"custom_tool_call_output","call_id":"c2","output":[{"type":"input_text","text":"two"},` +
			`{"type":"input_image","image_url":"data:image/png;base64,AA=="}]}`,
		`{"type":"web_search_call","id":"ws_1","status":"completed"}`,
		`{"type":"message","role":"developer","content":[{"type":"input_text","text":"mind the gap"}]}`,
	} {
		if !strings.Contains(again, want) {
			t.Errorf("%s is missing in %s", want, again)
		}
	}
	if other := string(encode(t, d.Messages, wire.Options{Model: "another"})); strings.Contains(other, "enc\"") {
		t.Errorf("another model was sent reasoning that it did not write: %s", other)
	}
}

func TestDecode_aTextIsOneUserMessage(t *testing.T) {
	d := Decode([]byte(`{"model":"m","input":"just this"}`))
	if len(d.Messages) != 1 || d.Messages[0].Text() != "just this" {
		t.Errorf("got %+v", d.Messages)
	}
}

func TestCheck_findsWhatTheProviderRefuses(t *testing.T) {
	for name, c := range map[string]struct{ items, want string }{
		"a call without output":  {`{"type":"function_call","call_id":"c","name":"n","arguments":"{}"}`, "no output"},
		"an output without call": {`{"type":"function_call_output","call_id":"c","output":"r"}`, "no call before"},
		"a call id twice": {`{"type":"function_call","call_id":"c","name":"n","arguments":"{}"},` +
			`{"type":"function_call","call_id":"c","name":"n","arguments":"{}"},{"type":"function_call_output",` +
			`"call_id":"c","output":""}`, "call id"},
		"reasoning at the end":    {`{"type":"reasoning","summary":[]}`, "nothing follows"},
		"reasoning before a user": {`{"type":"reasoning","summary":[]},{"role":"user","content":"a"}`, "led to"},
		"arguments not an object": {`{"type":"function_call","call_id":"c","name":"n","arguments":"3"},` +
			`{"type":"function_call_output","call_id":"c","output":""}`, "arguments"},
		"a message without text":   {`{"role":"user","content":[]}`, "no content"},
		"an item without its type": {`{"text":"a"}`, "no type"},
	} {
		t.Run(name, func(t *testing.T) {
			err := Check([]byte(`{"input":[` + c.items + `]}`))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want something with %q", err, c.want)
			}
		})
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"input":[{"role":"user","content":"go"},{"type":"reasoning","encrypted_content":"e"},` +
		`{"type":"function_call","call_id":"c","name":"n","arguments":"{}"},{"type":"function_call_output",` +
		`"call_id":"c","output":[{"type":"input_image","image_url":"data:,x"}]}]}`))
	f.Add([]byte(`[{"type":"custom_tool_call","input":4},{"type":"message","role":"assistant","content":[1,` +
		`{"type":"input_file"}]},{"type":"shell_call_output"}]`))
	f.Add([]byte(`{"input":"cut \u00`))
	f.Fuzz(func(t *testing.T, body []byte) {
		d := Decode(body)
		for i := range d.Messages {
			for j := range d.Messages[i].Parts {
				if strings.HasPrefix(string(d.Messages[i].Parts[j].Type), prefix) {
					return // items that Check cannot judge
				}
			}
		}
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
