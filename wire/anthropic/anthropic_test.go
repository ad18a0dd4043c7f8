package anthropic

import (
	"bytes"
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
	Decode: Decode, Check: Check, Errors: true, Thoughts: true, Merges: true, Tail: "]}",
}

func TestEncode_golden(t *testing.T) {
	wiretest.Golden(t, format, wire.Options{
		Model: "model-a", System: "You help.", MaxTokens: 1000,
		Tools: jsontext.Value(`[{"name":"read","input_schema":{"type":"object"}}]`),
	}, *update)
}

func TestFormat(t *testing.T) { wiretest.Run(t, format) }

func TestEncode_aRecordedSession(t *testing.T) { wiretest.Recorded(t, format) }

func encode(t testing.TB, messages []session.Message, o wire.Options) []byte {
	t.Helper()
	body, err := Encode(messages, o)
	if err != nil {
		t.Fatal(err)
	}
	text, err := body.JSON()
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestDecode_joinsResultsAndKeepsTheirPlaces(t *testing.T) {
	body := []byte(`{"model":"m","max_tokens":9,"system":[{"type":"text","text":"S1"},{"type":"text","text":"S2"}],"messages":[
		{"role":"user","content":"go"},
		{"role":"system","content":"mind the gap"},
		{"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"sig"},{"type":"tool_use","id":"c1","name":"read","input":{"a": 1}},
			{"type":"tool_use","id":"c2","name":"read","input":{}},{"type":"server_tool_use","id":"s1","name":"web_search","input":{}}]},
		{"role":"user","content":[{"type":"tool_result","tool_use_id":"c2","is_error":true,"content":[{"type":"text","text":"x"},{"type":"text","text":"y"},{"type":"tool_reference","tool_name":"t"}]},
			{"type":"tool_result","tool_use_id":"c1","content":"one"},{"type":"text","text":"<system-note>n</system-note>","cache_control":{"type":"ephemeral"}}]},
		{"role":"user","content":[{"type":"tool_result","tool_use_id":"lost","content":"whose"}]}]}`)
	d := Decode(body)
	if len(d.Skipped) != 0 || d.System != "S1\n\nS2" || d.Model != "m" || d.MaxTokens != 9 || d.ToolCalls != 2 ||
		d.ToolResults != 3 {
		t.Fatalf("got %+v", d)
	}
	var said []string
	for i := range d.Messages {
		m := &d.Messages[i]
		for j := range m.Parts {
			p := &m.Parts[j]
			line := m.ID + " " + string(m.Role) + " " + p.ID + " " + string(p.Type) + " " + p.Text
			if p.State != nil {
				line += " " + string(p.State.Status) + " " + p.State.Result() + " " +
					string(d.Places[p.ID].Result.Of(d.Text))
			}
			if p.Synthetic {
				line += " synthetic"
			}
			said = append(said, line)
		}
	}
	want := []string{
		"m0001 user m0001:0 text go",
		"m0002 user m0002:0 text mind the gap synthetic",
		"m0003 assistant m0003:0 reasoning hm",
		`m0003 assistant c1 tool  completed one "one"`,
		"m0003 assistant c2 tool  error x\ny " +
			`[{"type":"text","text":"x"},{"type":"text","text":"y"},{"type":"tool_reference","tool_name":"t"}]`,
		"m0003 assistant m0003:3 anthropic/server_tool_use ",
		"m0004 user m0004:0 text <system-note>n</system-note> synthetic",
		`m0005 assistant lost tool  completed whose "whose"`,
	}
	if diff := cmp.Diff(want, said); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]int{0, 1, 2, 3, 4}, d.Starts); diff != "" {
		t.Error(diff)
	}
	again := encode(t, d.Messages, wire.Options{Model: "m"})
	if err := Check(again); err != nil {
		t.Errorf("%v\n%s", err, again)
	}
	for _, want := range []string{`"signature":"sig"`, `"server_tool_use"`, `"input":{"a":1}`} {
		if !strings.Contains(string(again), want) {
			t.Errorf("%s is missing in %s", want, again)
		}
	}
}

func TestDecode_cutAnywhereReadsWhatIsThere(t *testing.T) {
	body := []byte(`{"messages":[{"role":"user","content":"gö ` +
		`\u00e9\\"},{"role":"assistant","content":[{"type":"tool_use","id":"c","name":"n","input":{"a":[1,` +
		`{"b":null}]}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"c","content":"a long ` +
		`result"}]}]}`)
	for cut := range body {
		d := Decode(body[:cut])
		if cut > 0 && len(d.Skipped) == 0 {
			t.Errorf("cut at %d: nothing is listed as skipped", cut)
		}
		whole := strings.Index(string(body), `},{"role":"assistant"`)
		if cut > whole && (len(d.Messages) == 0 || d.Messages[0].Text() != "gö é\\") {
			t.Errorf("cut at %d: the first message is gone: %+v", cut, d.Messages)
		}
	}
	d := Decode(body[:bytes.Index(body, []byte("result\"}]}]}"))])
	if p := d.Messages[1].Parts[0]; p.State.Output != "a long " {
		t.Errorf("the beginning of the result was not read: %q", p.State.Output)
	}
}

func TestCheck_findsWhatTheProviderRefuses(t *testing.T) {
	for name, c := range map[string]struct{ messages, want string }{
		"no user first": {`{"role":"assistant","content":"a"}`, "first message"},
		"two in a row":  {`{"role":"user","content":"a"},{"role":"user","content":"b"}`, "in a row"},
		"blank":         {`{"role":"user","content":" "}`, "blank"},
		"blank block":   {`{"role":"user","content":[{"type":"text","text":""}]}`, "blank"},
		"nothing":       {`{"role":"user","content":[]}`, "no content"},
		"a call without result": {`{"role":"user","content":"a"},{"role":"assistant","content":[{"type":"tool_use",` +
			`"id":"c","name":"n","input":{}}]}`, "no results"},
		"a result without call": {`{"role":"user","content":[{"type":"tool_result","tool_use_id":"c"}]}`,
			"does not call"},
		"a result behind a text": {`{"role":"user","content":"a"},{"role":"assistant","content":[{"type":"tool_use","id":"c","name":"n","input":{}}]},
			{"role":"user","content":[{"type":"text","text":"t"},{"type":"tool_result","tool_use_id":"c"}]}`, "after other blocks"},
	} {
		t.Run(name, func(t *testing.T) {
			err := Check([]byte(`{"messages":[` + c.messages + `]}`))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want something with %q", err, c.want)
			}
		})
	}
}

func TestCached_marksTheLastTwoMessagesOfTheUsers(t *testing.T) {
	messages := wiretest.Long(5)
	body, err := Encode(messages, wire.Options{})
	if err != nil {
		t.Fatal(err)
	}
	marked := body
	marked.Elements = Cached(body.Elements)
	var at []int
	for i := range marked.Elements {
		if strings.HasSuffix(string(marked.Elements[i]), `,"cache_control":{"type":"ephemeral"}}]}`) {
			at = append(at, i)
		} else if string(marked.Elements[i]) != string(body.Elements[i]) {
			t.Errorf("message %d changed", i)
		}
	}
	if n := len(body.Elements); !cmp.Equal(at, []int{n - 3, n - 1}) {
		t.Errorf("marked %v of %d messages", at, n)
	}
	text, err := marked.JSON()
	if err != nil {
		t.Fatal(err)
	}
	if err := Check(text); err != nil {
		t.Error(err)
	}
}

// What the API itself cleared of a prompt stands in the last report of a stream.
func TestStream_saysWhatWasCleared(t *testing.T) {
	s := Stream(nil)
	for _, event := range []string{
		`{"type":"message_start","message":{"usage":{"input_tokens":9}}}`,
		`{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":3},"context_management":{"applied_edits":[` +
			`{"type":"clear_thinking_20251015","cleared_thinking_turns":2,"cleared_input_tokens":100},` +
			`{"type":"clear_tool_uses_20250919","cleared_tool_uses":8,"cleared_input_tokens":50000},7]}}`,
		`{"type":"message_stop"}`,
	} {
		s.Take([]byte(event))
	}
	if got, want := s.Answer().Cleared, (wire.Cleared{ToolUses: 8, Tokens: 50_100}); got != want {
		t.Errorf("cleared is %+v, want %+v", got, want)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"messages":[{"role":"user","content":"go"},{"role":"assistant","content":[{"type":"tool_use",` +
		`"id":"c","name":"n","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"c",` +
		`"content":[{"type":"text","text":"r"},{"type":"image","source":{"type":"base64",` +
		`"media_type":"image/png","data":"AA=="}}]}]}]}`))
	f.Add([]byte(`[{"role":"user","content":[{"type":"text"},{"type":"thinking"},3,null,{"type":"tool_result",` +
		`"content":4}]}`))
	f.Add([]byte(`{"messages":[{"role":"user","content":"cut \u00`))
	f.Fuzz(func(t *testing.T, body []byte) {
		d := Decode(body)
		again := encode(t, d.Messages, wire.Options{Model: d.Model})
		if err := Check(again); err != nil && len(wire.Entries(d.Messages, wire.Options{}, prefix)) > 0 {
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

// The citations of a streamed text go back with it.
func TestStream_keepsCitations(t *testing.T) {
	s := Stream(nil)
	for _, event := range []string{
		`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"","citations":[]}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"High at noon."}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"citations_delta","citation":{"type":"char_location","cited_text":"noon","document_index":0}}}`,
		`{"type":"message_delta","delta":{"stop_reason":"end_turn"}}`, `{"type":"message_stop"}`,
	} {
		s.Take([]byte(event))
	}
	answer := session.Message{MessageInfo: session.MessageInfo{ID: "a", Role: session.Assistant}, Parts: s.Answer().Parts}
	body, err := Encode([]session.Message{answer}, wire.Options{Continues: true})
	want := `{"role":"assistant","content":[{"type":"text","text":"High at noon.","citations":[{"type":"char_location","cited_text":"noon","document_index":0}]}]}`
	if err != nil || len(body.Elements) != 1 || string(body.Elements[0]) != want {
		t.Errorf("%s (%v)", body.Elements, err)
	}
}
