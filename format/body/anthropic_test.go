package body_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/format/body"
	"github.com/winnowhq/winnow/internal/bodytest"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/text/span"
	"github.com/winnowhq/winnow/wire"
	wireanthropic "github.com/winnowhq/winnow/wire/anthropic"
)

const anthropicSmall = `{
  "model": "m", "extra": {"kept": 1.50},
  "messages": [
    {"role": "user", "content": "fix it"},
    {"role": "assistant", "content": [{"type": "text", "text": "I look.", "citations": null}, {"type": "tool_use", "id": "c1", "name": "read", "input": {"path": "a.go"}}]},
    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "a long output", "cache_control": {"type": "ephemeral"}}, {"type": "text", "text": "and then?"}]},
    {"role": "assistant", "content": [{"type": "tool_use", "id": "c2", "name": "read", "input": {}}]},
    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c2", "is_error": true, "content": [{"type": "text", "text": "no such file"}, {"type": "tool_reference", "tool_name": "t"}]}]}
  ],
  "stream": true
}
`

func TestAnthropic_format(t *testing.T) { bodytest.Run(t, body.AnthropicBody{}, wireanthropic.Check) }

func TestAnthropic_read(t *testing.T) {
	doc := bodytest.Read(t, body.AnthropicBody{}, []byte(anthropicSmall))
	want := format.Counts{Entries: 5, Messages: 5, ToolCalls: 2, ToolResults: 2}
	if diff := cmp.Diff(want, doc.Counts); diff != "" {
		t.Error(diff)
	}
	if doc.Session.Info.Title != "fix it" || doc.Session.Info.Model.String() != "anthropic/m" || len(doc.Session.Messages) != 4 || len(doc.Damaged) != 0 {
		t.Errorf("got %+v", doc.Session)
	}
}

func TestAnthropic_write_elisionsAreSplicedInPlace(t *testing.T) {
	for name, c := range map[string]struct {
		elision  rule.Elision
		old, new string
	}{
		"an output":                     {rule.Elision{Part: "c1", Field: rule.Output, Shown: "[left out]"}, `"a long output"`, `"[left out]"`},
		"an output without placeholder": {rule.Elision{Part: "c1", Field: rule.Output}, `"a long output"`, `"[Old tool result content cleared]"`},
		"an error, other blocks stay": {rule.Elision{Part: "c2", Field: rule.Error, Shown: "[e]"}, `{"type": "text", "text": "no such file"}, {"type": "tool_reference", "tool_name": "t"}`,
			`{"type":"text","text":"[e]"},{"type": "tool_reference", "tool_name": "t"}`},
		"an input":               {rule.Elision{Part: "c1", Field: rule.Input, Shown: `{"path":"…"}`}, `{"path": "a.go"}`, `{"path":"…"}`},
		"an input that is text":  {rule.Elision{Part: "c1", Field: rule.Input, Shown: `gone`}, `{"path": "a.go"}`, `{"elided":"gone"}`},
		"a text":                 {rule.Elision{Part: "m0001:0", Field: rule.Text, Shown: "[t]"}, `"fix it"`, `"[t]"`},
		"a text block":           {rule.Elision{Part: "m0002:0", Field: rule.Text, Shown: "[t]"}, `"I look."`, `"[t]"`},
		"a part as a whole":      {rule.Elision{Part: "m0002:0", Field: rule.Whole}, `{"type": "text", "text": "I look.", "citations": null}, `, ``},
		"the only text":          {rule.Elision{Part: "m0001:0", Field: rule.Whole}, `"fix it"`, `"[Old tool result content cleared]"`},
		"a part that is unknown": {rule.Elision{Part: "c9", Field: rule.Output, Shown: "[left out]"}, ``, ``},
	} {
		t.Run(name, func(t *testing.T) {
			doc := bodytest.Read(t, body.AnthropicBody{}, []byte(anthropicSmall))
			change := bodytest.Unchanged(doc)
			change.Ledger = rule.NewLedger(c.elision)
			got := bodytest.Write(t, body.AnthropicBody{}, doc, change)
			if diff := cmp.Diff(strings.Replace(anthropicSmall, c.old, c.new, 1), string(got)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			if err := wireanthropic.Check(got); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestAnthropic_write_aPivotFoldsWhatIsBeforeTheTail(t *testing.T) {
	const head = "{\n  \"model\": \"m\", \"extra\": {\"kept\": 1.50},\n  \"messages\": [\n    "
	const summary = `{"type":"text","text":"<conversation-summary>\nsummed up\n</conversation-summary>"}`
	const last = `{"role": "assistant", "content": [{"type": "tool_use", "id": "c2", "name": "read", "input": {}}]},
    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c2", "is_error": true, "content": [{"type": "text", "text": "no such file"}, {"type": "tool_reference", "tool_name": "t"}]}`
	const foot = "\n  ],\n  \"stream\": true\n}\n"
	for name, c := range map[string]struct {
		tail string
		more []session.Message
		want string
	}{
		"no tail": {"", nil, head + `{"role":"user","content":[` + summary + `]}` + foot},
		"no tail, and a message": {"", []session.Message{bodytest.User("n", "go on")},
			head + `{"role":"user","content":[` + summary + `,{"type":"text","text":"go on"}]}` + foot},
		"a tail from the assistant's": {"m0004", nil, head + `{"role":"user","content":[` + summary + `]},` + last + "]}" + foot},
		"a tail from the user's, whose results before it go": {"m0003", nil, head + `{"role": "user", "content": [` + summary + `,{"type": "text", "text": "and then?"}]},
    ` + last + "]}" + foot},
		"a tail from a plain text": {"m0001", nil, strings.Replace(anthropicSmall, `"fix it"`, `[`+summary+`,{"type":"text","text":"fix it"}]`, 1)},
		"what is appended joins the user's last message": {"m0004", []session.Message{bodytest.User("n", "go on")},
			head + `{"role":"user","content":[` + summary + `]},` + last + `,{"type":"text","text":"go on"}]}` + foot},
	} {
		t.Run(name, func(t *testing.T) {
			doc := bodytest.Read(t, body.AnthropicBody{}, []byte(anthropicSmall))
			change := bodytest.Unchanged(doc)
			change.Session.Messages = append(change.Session.Messages[:4:4], bodytest.Marker("mark", c.tail), bodytest.Summary("sum", "mark", "summed up"))
			change.Session.Messages = append(change.Session.Messages, c.more...)
			got := bodytest.Write(t, body.AnthropicBody{}, doc, change)
			if diff := cmp.Diff(c.want, string(got)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			if err := wireanthropic.Check(got); err != nil {
				t.Error(err)
			}
			again := bodytest.Read(t, body.AnthropicBody{}, got)
			if again.Session.Messages[0].Written() && c.tail != "m0003" && c.tail != "m0001" && c.more == nil {
				t.Error("the summary reads back as if the user had written it")
			}
		})
	}
}

func TestAnthropic_write_anElidedTailThatIsPlainTextKeepsTheSummary(t *testing.T) {
	doc := bodytest.Read(t, body.AnthropicBody{}, []byte(`{"messages":[{"role":"user","content":"old"},{"role":"assistant","content":"hm"},{"role":"user","content":"secret"}]}`))
	change := bodytest.Unchanged(doc)
	change.Session.Messages = append(change.Session.Messages[:3:3], bodytest.Marker("mark", "m0003"), bodytest.Summary("sum", "mark", "s"), bodytest.User("n", "go on"))
	change.Ledger = rule.NewLedger(rule.Elision{Part: "m0003:0", Field: rule.Text, Shown: "[t]"})
	got := string(bodytest.Write(t, body.AnthropicBody{}, doc, change))
	want := `{"messages":[{"role":"user","content":[{"type":"text","text":"<conversation-summary>\ns\n</conversation-summary>"},{"type":"text","text":"[t]"},{"type":"text","text":"go on"}]}]}`
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestAnthropic_write_appendedMessagesStandBehindTheSource(t *testing.T) {
	doc := bodytest.Read(t, body.AnthropicBody{}, []byte(anthropicSmall))
	change := bodytest.Unchanged(doc)
	reply := session.Message{MessageInfo: session.MessageInfo{ID: "r", Role: session.Assistant}, Parts: []session.Part{
		{ID: "r:0", Type: session.ToolPart, CallID: "c1", Tool: "read", State: &session.ToolState{Status: session.Completed, Output: "o"}}}}
	change.Session.Messages = append(change.Session.Messages[:4:4], reply)
	got := bodytest.Write(t, body.AnthropicBody{}, doc, change)
	added := `,{"role":"assistant","content":[{"type":"tool_use","id":"c1_2","name":"read","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1_2","content":"o"}]}`
	want := strings.Replace(anthropicSmall, "]}]}\n  ],", "]}]}"+added+"\n  ],", 1)
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if err := wireanthropic.Check(got); err != nil {
		t.Error(err)
	}
}

func TestAnthropic_read_aBareListAndACutBody(t *testing.T) {
	doc := bodytest.Read(t, body.AnthropicBody{}, []byte(`[{"role":"user","content":"hi"},{"content":"no role"},{"role":"assistant","content":[{"type":"text","text":"ye`))
	if len(doc.Session.Messages) != 2 || doc.Session.Messages[1].Text() != "ye" || len(doc.Damaged) != 2 {
		t.Errorf("got %+v, damaged %+v", doc.Session.Messages, doc.Damaged)
	}
	if got := bodytest.Write(t, body.AnthropicBody{}, doc, bodytest.Unchanged(doc)); !bytes.Equal(got, doc.Source) {
		t.Errorf("unchanged, got %s", got)
	}
	for _, src := range []string{"", "no JSON", `{"a":1}`, `{"messages":3}`, `17`} {
		if _, err := (body.AnthropicBody{}).Read([]byte(src)); err == nil {
			t.Errorf("%q was read", src)
		}
	}
}

func TestAnthropic_read_theLongestRequestOfARecordingIsTheSession(t *testing.T) {
	line := func(body string) string {
		return `{"method":"POST","url":"/v1/messages?beta=true","headers":{},"body":` + string(span.Quote(body)) + "}\n"
	}
	src := `{"method":"HEAD","url":"/","headers":{},"body":""}` + "\n" + line(`{"messages":[{"role":"user","content":"one"}]}`) +
		line(`{"messages":[{"role":"user","content":"one"},{"role":"assistant","content":"two"},{"role":"user","content":"three"}]}`) +
		"{broken\n" + line(`{"messages":[{"role":"user","content":"a title please"}]}`)
	if !(body.AnthropicBody{}).Detect([]byte(src)) || !(body.AnthropicBody{}).Detect([]byte(src)[:len(src)/2]) {
		t.Error("not detected")
	}
	doc := bodytest.Read(t, body.AnthropicBody{}, []byte(src))
	if len(doc.Session.Messages) != 3 || doc.Counts.Entries != 5 || len(doc.Damaged) != 1 || doc.Damaged[0].Line != 4 {
		t.Fatalf("got %+v %+v", doc.Counts, doc.Damaged)
	}
	if got := bodytest.Write(t, body.AnthropicBody{}, doc, bodytest.Unchanged(doc)); string(got) != src {
		t.Errorf("unchanged, got %s", got)
	}
	change := bodytest.Unchanged(doc)
	change.Ledger = rule.NewLedger(rule.Elision{Part: "m0002:0", Field: rule.Text, Shown: "2"})
	want := `{"messages":[{"role":"user","content":"one"},{"role":"assistant","content":"2"},{"role":"user","content":"three"}]}`
	if got := bodytest.Write(t, body.AnthropicBody{}, doc, change); string(got) != want {
		t.Errorf("changed, got %s", got)
	}
}

func TestAnthropic_detect(t *testing.T) {
	for src, want := range map[string]wire.Protocol{
		anthropicSmall:      wire.Anthropic,
		anthropicSmall[:60]: wire.Unknown,
		`{"model":"claude-x","messages":[{"role":"user","content":"hi"}]}`:                               wire.Anthropic,
		`{"model":"m","max_tokens":5,"system":"s","messages":[{"role":"user","content":"hi"}]}`:          wire.Anthropic,
		`{"model":"m","tools":[{"name":"a","input_schema":{}}],"messages":[`:                             wire.Anthropic,
		`{"model":"m","messages":[{"role":"user","content":"hi"}]}`:                                      wire.Chat,
		`{"model":"m","messages":[{"role":"system","content":"s"},{"role":"user","content":[{"type":"te`: wire.Chat,
		`{"model":"m","tools":[{"type":"function","function":{"name":"a"}}],"messages":[`:                wire.Chat,
		`{"model":"m","input":"hi"}`: wire.Responses,
		`{"model":"m","stream":true,"input":[{"type":"message","role":"user","content":[{"type":"input_text","t`: wire.Responses,
		`[{"type":"function_call","call_id":"c","name":"n","arguments":"{}"}]`:                                   wire.Responses,
		`[{"role":"user","content":[{"type":"tool_result","tool_use_id":"c"}]}]`:                                 wire.Anthropic,
		`{"info":{"id":"ses"},"messages":[{"info":{"role":"user"},"parts":[]}]}`:                                 wire.Unknown,
		`{"messages":[{"info":{"role":"user"},"parts":[]}]}`:                                                     wire.Unknown,
		`{"type":"user","message":{"role":"user","content":"hi"},"uuid":"u"}`:                                    wire.Unknown,
		`{"timestamp":"t","type":"session_meta","payload":{}}` + "\n{}":                                          wire.Unknown,
		`{"trajectory_format":"x","messages":[{"role":"system","content":"s"}]}`:                                 wire.Unknown,
		`{"contents":[{"role":"user","parts":[{"text":"a"}]}]}`:                                                  wire.Gemini,
		`[1,2,3]`: wire.Unknown, `[]`: wire.Unknown, `{}`: wire.Unknown, ``: wire.Unknown, "plain text": wire.Unknown, `[{"a":1}]`: wire.Unknown,
	} {
		if got := body.Sniff([]byte(src)); got != want {
			t.Errorf("%q: got %q, want %q", src[:min(90, len(src))], got, want)
		}
	}
}

func TestAnthropic_recordedTraffic(t *testing.T) {
	recording := bodytest.Fixture(t, "claude-code.jsonl.gz")
	if !(body.AnthropicBody{}).Detect(recording[:64<<10]) {
		t.Error("the recording is not detected")
	}
	doc := bodytest.Read(t, body.AnthropicBody{}, recording)
	if doc.Counts.ToolCalls != 44 || doc.Counts.ToolResults != 44 || len(doc.Damaged) != 0 {
		t.Errorf("got %+v, damaged %v", doc.Counts, doc.Damaged)
	}
	for i, line := range bodytest.Requests(recording) {
		doc := bodytest.Read(t, body.AnthropicBody{}, line)
		d := doc.Native.(*body.Native).Decoded
		if calls, results := bytes.Count(d.Text, []byte(`"type":"tool_use"`)), bytes.Count(d.Text, []byte(`"type":"tool_result"`)); doc.Counts.ToolCalls != calls || doc.Counts.ToolResults != results {
			t.Errorf("request %d: got %+v, the body has %d calls and %d results", i, doc.Counts, calls, results)
		}
		if len(doc.Damaged) != 0 {
			t.Errorf("request %d: damaged %v", i, doc.Damaged)
		}
		encoded, err := wireanthropic.Encode(doc.Session.Messages, wire.Options{Model: d.Model})
		if err != nil {
			t.Fatal(err)
		}
		text, err := encoded.JSON()
		if err != nil {
			t.Fatal(err)
		}
		if err := wireanthropic.Check(text); err != nil {
			t.Errorf("request %d: %v", i, err)
		}
	}
}

func FuzzAnthropic(f *testing.F) {
	f.Add([]byte(anthropicSmall), "m0003", uint8(3))
	f.Add([]byte(`{"method":"POST","url":"/v1/messages","body":"{\"messages\":[{\"role\":\"user\",\"content\":\"a\"}]}"}`), "", uint8(0))
	f.Add([]byte(`[{"role":"user","content":[{"type":"tool_result","tool_use_id":"x"}`), "m0001", uint8(1))
	f.Fuzz(func(t *testing.T, src []byte, tail string, elide uint8) {
		(body.AnthropicBody{}).Detect(src)
		doc, err := (body.AnthropicBody{}).Read(src)
		if err != nil {
			return
		}
		if got := bodytest.Write(t, body.AnthropicBody{}, doc, bodytest.Unchanged(doc)); !bytes.Equal(got, src) {
			t.Fatalf("unchanged, got %q, want %q", got, src)
		}
		bodytest.Stir(t, body.AnthropicBody{}, doc, tail, elide)
	})
}

// A client puts reminders before the user's words, and lists of tools behind them: neither is folded,
// and the summary follows the reminders in the same message, for roles take turns.
func TestAnthropic_write_whatTheClientPutBeforeTheConversationStays(t *testing.T) {
	const src = `{"model":"m","messages":[` +
		`{"role":"user","content":[{"type":"text","text":"<system-reminder>\nUse gofmt.\n</system-reminder>"},{"type":"text","text":"fix it"}]},` +
		`{"role":"system","content":"Tools that can be loaded: a, b."},` +
		`{"role":"assistant","content":[{"type":"text","text":"It is fixed."}]},` +
		`{"role":"user","content":"<log>\nand this?\n</log>"},{"role":"assistant","content":"Also."}]}`
	const summary = `{"type":"text","text":"<conversation-summary>\nIt was fixed.\n</conversation-summary>"}`
	doc := bodytest.Read(t, body.AnthropicBody{}, []byte(src))
	if got := doc.Session.Messages[0].Text(); got != "fix it" || len(doc.Session.Messages) != 4 {
		t.Fatalf("%d messages, the first is %q", len(doc.Session.Messages), got)
	}
	for tail, want := range map[string]string{
		doc.Session.Messages[1].ID: summary + `]},{"role":"system","content":"Tools that can be loaded: a, b."},` +
			`{"role":"assistant","content":[{"type":"text","text":"It is fixed."}]},{"role":"user","content":"<log>\nand this?\n</log>"},{"role":"assistant","content":"Also."}]}`,
		doc.Session.Messages[2].ID: summary + `,{"type":"text","text":"<log>\nand this?\n</log>"}]},` +
			`{"role":"system","content":"Tools that can be loaded: a, b."},{"role":"assistant","content":"Also."}]}`,
		"": summary + `]},{"role":"system","content":"Tools that can be loaded: a, b."}]}`,
	} {
		change := bodytest.Unchanged(doc)
		change.Session.Messages = append(slices.Clip(change.Session.Messages),
			bodytest.Marker("k", tail), bodytest.Summary("s", "k", "It was fixed."))
		want = `{"model":"m","messages":[{"role":"user","content":[{"type":"text","text":"<system-reminder>\nUse gofmt.\n</system-reminder>"},` + want
		if got := string(bodytest.Write(t, body.AnthropicBody{}, doc, change)); got != want {
			t.Errorf("tail %q: got\n%s\nwant\n%s", tail, got, want)
		}
	}
}
