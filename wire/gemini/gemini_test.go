package gemini

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
	Decode: Decode, Check: Check, Errors: true, Merges: true, Tail: "]}",
}

func TestEncode_golden(t *testing.T) {
	wiretest.Golden(t, format, wire.Options{
		Model: "model-a", System: "You help.", MaxTokens: 1000,
		Tools: jsontext.Value(`[{"functionDeclarations":[{"name":"read"}]}]`),
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

func TestDecode_joinsResponsesAndKeepsTheirPlaces(t *testing.T) {
	body := []byte(`{"systemInstruction":{"parts":[{"text":"S"}]},"generationConfig":{"maxOutputTokens":9},"contents":[
		{"parts":[{"text":"go"},{"inlineData":{"mimeType":"image/png","data":"AA=="}}]},
		{"role":"model","parts":[{"text":"hm","thought":true},{"functionCall":{"name":"read","args":{"a":1}},"thoughtSignature":"sig"},{"functionCall":{"name":"read","args":{"a":2}}},
			{"functionCall":{"id":"x","name":"ls","args":{}}}]},
		{"role":"user","parts":[{"functionResponse":{"id":"x","name":"ls","response":{"files":["a"]}}},{"functionResponse":{"name":"read","response":{"output":"one"}}},
			{"functionResponse":{"name":"read","response":{"error":"two"}}}]},
		{"role":"model","parts":[{"executableCode":{"language":"PYTHON","code":"1"}},{"text":"done"}]},
		{"role":"robot","parts":[]}]}`)
	d := Decode(body)
	if d.System != "S" || d.MaxTokens != 9 || d.ToolCalls != 3 || d.ToolResults != 3 || len(d.Skipped) != 1 {
		t.Fatalf("got %+v", d)
	}
	var said []string
	for i := range d.Messages {
		m := &d.Messages[i]
		m.ModelID = "gemini-3"
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
		"m0002 assistant m0002:0 reasoning hm",
		`m0002 assistant call_1 tool {"a":1} → one {"output":"one"}`,
		`m0002 assistant call_2 tool {"a":2} → two {"error":"two"}`,
		`m0002 assistant x tool {} → {"files":["a"]} {"files":["a"]}`,
		"m0003 assistant m0003:0 gemini/part ",
		"m0003 assistant m0003:1 text done",
	}
	if diff := cmp.Diff(want, said); diff != "" {
		t.Error(diff)
	}
	again := string(encode(t, d.Messages, wire.Options{Model: "gemini-3"}))
	if err := Check([]byte(again)); err != nil {
		t.Errorf("%v\n%s", err, again)
	}
	for _, want := range []string{`"executableCode"`, `"thoughtSignature":"sig"`, `{"error":"two"}`} {
		if !strings.Contains(again, want) {
			t.Errorf("%s is missing in %s", want, again)
		}
	}
	other := string(encode(t, d.Messages, wire.Options{Model: "gemini-3-other"}))
	if strings.Contains(other, `"sig"`) || strings.Count(other, skipSignature) != 1 {
		t.Errorf("the first call of a step, written by another model, has to have the stand-in signature: %s", other)
	}
}

func TestCheck_findsWhatTheProviderRefuses(t *testing.T) {
	const call = `{"role":"user","parts":[{"text":"a"}]},{"role":"model","parts":[{"functionCall":{"name":"n",` +
		`"args":{}}}]}`
	for name, c := range map[string]struct{ contents, want string }{
		"the model first": {`{"role":"model","parts":[{"text":"a"}]}`, "first content"},
		"the model twice": {`{"role":"user","parts":[{"text":"a"}]},{"role":"model","parts":[{"text":"a"}]},` +
			`{"role":"model","parts":[{"text":"a"}]}`, "in a row"},
		"a call at the end":       {call, "no responses"},
		"a call without response": {call + `,{"role":"user","parts":[{"text":"a"}]}`, "want to"},
		"a response without call": {`{"role":"user","parts":[{"functionResponse":{"name":"n","response":{}}}]}`,
			"want to"},
		"no parts": {`{"role":"user","parts":[]}`, "no parts"},
		"blank":    {`{"role":"user","parts":[{"text":" "}]}`, "blank"},
	} {
		t.Run(name, func(t *testing.T) {
			err := Check([]byte(`{"contents":[` + c.contents + `]}`))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want something with %q", err, c.want)
			}
		})
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"contents":[{"role":"user","parts":[{"text":"go"}]},{"role":"model",` +
		`"parts":[{"functionCall":{"name":"n","args":{}}}]},{"role":"user","parts":[{"functionResponse":{"name":"n",` +
		`"response":{"output":"r"}}},{"fileData":{"mimeType":"image/png","fileUri":"https://example.com"}}]}]}`))
	f.Add([]byte(`[{"role":"model","parts":[1,{"text":"t","thought":true},{"inlineData":3}]},` +
		`{"parts":[{"functionResponse":{}}]}]`))
	f.Add([]byte(`{"contents":[{"role":"user","parts":[{"text":"cut \u00`))
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
