package body_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/format/body"
	"github.com/winnowhq/winnow/internal/bodytest"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/wire/openaichat"
	"github.com/winnowhq/winnow/wire/responses"
)

const smallChat = `{
  "model": "m", "extra": {"kept": 1.50},
  "messages": [
    {"role": "system", "content": "You help."},
    {"role": "user", "content": "fix it", "name": "ann"},
    {"role": "assistant", "content": "I look.", "reasoning_content": "hm", "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "read", "arguments": "{\"path\": \"a.go\"}"}}]},
    {"role": "tool", "tool_call_id": "c1", "content": "a long output"},
    {"role": "assistant", "content": [{"type": "text", "text": "Found."}, {"type": "refusal", "refusal": "no"}]},
    {"role": "user", "content": [{"type": "text", "text": "and?"}, {"type": "image_url", "image_url": {"url": "https://example.com/a.png"}}]}
  ],
  "stream": true
}
`

const smallItems = `{"model": "m", "instructions": "You help.", "input": [
    {"type": "message", "role": "developer", "content": [{"type": "input_text", "text": "Mind the gap."}]},
    {"type": "message", "id": "msg_1", "role": "user", "content": [{"type": "input_text", "text": "fix it"}]},
    {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "hm"}], "encrypted_content": "ZW5j"},
    {"type": "function_call", "id": "fc_1", "name": "read", "arguments": "{\"path\": \"a.go\"}", "call_id": "c1"},
    {"type": "message", "role": "user", "content": "wait"},
    {"type": "function_call_output", "call_id": "c1", "output": "a long output"},
    {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Found."}]}
], "store": false}
`

func TestOpenAI_format(t *testing.T) {
	t.Run("chat", func(t *testing.T) { bodytest.Run(t, body.OpenAIBody{}, openaichat.Check) })
	t.Run("responses", func(t *testing.T) { bodytest.Run(t, body.OpenAIBody{Responses: true}, responses.Check) })
}

func TestOpenAI_read(t *testing.T) {
	for name, c := range map[string]struct {
		src  string
		want format.Counts
	}{
		"chat":      {smallChat, format.Counts{Entries: 6, Messages: 4, ToolCalls: 1, ToolResults: 1}},
		"responses": {smallItems, format.Counts{Entries: 7, Messages: 3, ToolCalls: 1, ToolResults: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			if !(body.OpenAIBody{}).Detect([]byte(c.src)) {
				t.Error("not detected")
			}
			doc := bodytest.Read(t, body.OpenAIBody{}, []byte(c.src))
			if diff := cmp.Diff(c.want, doc.Counts); diff != "" {
				t.Error(diff)
			}
			if doc.Session.Info.Title != "fix it" || doc.Session.Info.Model.String() != "openai/m" || len(doc.Session.Messages) != 4 || len(doc.Damaged) != 0 {
				t.Errorf("got %+v, damaged %v", doc.Session, doc.Damaged)
			}
			if _, p := session.FindPart(doc.Session.Messages, "c1"); p == nil || p.State.Output != "a long output" {
				t.Errorf("the result did not find its call: %+v", p)
			}
		})
	}
}

func TestOpenAI_write_elisionsAreSplicedInPlace(t *testing.T) {
	for name, c := range map[string]struct {
		src      string
		elision  rule.Elision
		old, new string
	}{
		"chat, an output":   {smallChat, rule.Elision{Part: "c1", Field: rule.Output, Shown: "[left out]"}, `"a long output"`, `"[left out]"`},
		"chat, an input":    {smallChat, rule.Elision{Part: "c1", Field: rule.Input, Shown: `{"path":"…"}`}, `"{\"path\": \"a.go\"}"`, `"{\"path\":\"…\"}"`},
		"chat, a text":      {smallChat, rule.Elision{Part: "m0001:0", Field: rule.Text, Shown: "[t]"}, `"fix it"`, `"[t]"`},
		"chat, reasoning":   {smallChat, rule.Elision{Part: "m0002:0", Field: rule.Whole}, `"hm"`, `""`},
		"chat, a part":      {smallChat, rule.Elision{Part: "m0003:0", Field: rule.Whole}, `{"type": "text", "text": "Found."}, `, ``},
		"chat, a picture":   {smallChat, rule.Elision{Part: "m0004:1", Field: rule.Attachments, Shown: "[p]"}, `{"type": "image_url", "image_url": {"url": "https://example.com/a.png"}}`, `{"type":"text","text":"[p]"}`},
		"items, an output":  {smallItems, rule.Elision{Part: "c1", Field: rule.Output, Shown: "[left out]"}, `"a long output"`, `"[left out]"`},
		"items, an input":   {smallItems, rule.Elision{Part: "c1", Field: rule.Input, Shown: `{}`}, `"{\"path\": \"a.go\"}"`, `"{}"`},
		"items, reasoning":  {smallItems, rule.Elision{Part: "m0002:0", Field: rule.Whole}, ",\n    " + `{"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "hm"}], "encrypted_content": "ZW5j"}`, ``},
		"items, plain text": {smallItems, rule.Elision{Part: "m0003:0", Field: rule.Text, Shown: "[w]"}, `"wait"`, `"[w]"`},
	} {
		t.Run(name, func(t *testing.T) {
			doc := bodytest.Read(t, body.OpenAIBody{}, []byte(c.src))
			change := bodytest.Unchanged(doc)
			change.Ledger = rule.NewLedger(c.elision)
			got := bodytest.Write(t, body.OpenAIBody{}, doc, change)
			if diff := cmp.Diff(strings.Replace(c.src, c.old, c.new, 1), string(got)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestOpenAI_write_aPivotKeepsTheSystemPromptAndDropsOrphans(t *testing.T) {
	write := func(src, tail string) string {
		doc := bodytest.Read(t, body.OpenAIBody{}, []byte(src))
		change := bodytest.Unchanged(doc)
		change.Session.Messages = append(change.Session.Messages[:4:4], bodytest.Marker("mark", tail), bodytest.Summary("sum", "mark", "s"), bodytest.User("n", "go on"))
		return string(bodytest.Write(t, body.OpenAIBody{}, doc, change))
	}
	const chatHead = "{\n  \"model\": \"m\", \"extra\": {\"kept\": 1.50},\n  \"messages\": [\n    {\"role\": \"system\", \"content\": \"You help.\"},\n    "
	const chatSummary = `{"role":"user","content":"<conversation-summary>\ns\n</conversation-summary>"}`
	const goOn = `,{"role":"user","content":"go on"}`
	const last = `{"role": "user", "content": [{"type": "text", "text": "and?"}, {"type": "image_url", "image_url": {"url": "https://example.com/a.png"}}]}`
	const itemHead = "{\"model\": \"m\", \"instructions\": \"You help.\", \"input\": [\n    {\"type\": \"message\", \"role\": \"developer\", \"content\": [{\"type\": \"input_text\", \"text\": \"Mind the gap.\"}]},\n    "
	const itemSummary = `{"type":"message","role":"user","content":[{"type":"input_text","text":"<conversation-summary>\ns\n</conversation-summary>"}]}`
	const itemGoOn = `,{"type":"message","role":"user","content":[{"type":"input_text","text":"go on"}]}`
	for name, c := range map[string]struct{ src, tail, want string }{
		"chat without tail":  {smallChat, "", chatHead + chatSummary + goOn + "\n  ],\n  \"stream\": true\n}\n"},
		"chat with a tail":   {smallChat, "m0004", chatHead + chatSummary + "," + last + goOn + "\n  ],\n  \"stream\": true\n}\n"},
		"items without tail": {smallItems, "", itemHead + itemSummary + itemGoOn + "\n], \"store\": false}\n"},
		"items whose output stands behind the cut": {smallItems, "m0003", itemHead + itemSummary + `,{"type": "message", "role": "user", "content": "wait"},
    {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Found."}]}` + itemGoOn + "\n], \"store\": false}\n"},
		"an input that is one text": {`{"model":"m","input":"hi"}`, "", `{"model":"m","input":[` + itemSummary + itemGoOn + `]}`},
	} {
		t.Run(name, func(t *testing.T) {
			if name == "an input that is one text" {
				doc := bodytest.Read(t, body.OpenAIBody{}, []byte(c.src))
				change := bodytest.Unchanged(doc)
				change.Session.Messages = append(change.Session.Messages[:1:1], bodytest.Marker("mark", ""), bodytest.Summary("sum", "mark", "s"), bodytest.User("n", "go on"))
				if got := string(bodytest.Write(t, body.OpenAIBody{}, doc, change)); got != c.want {
					t.Errorf("got  %s\nwant %s", got, c.want)
				}
				return
			}
			if diff := cmp.Diff(c.want, write(c.src, c.tail)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestOpenAI_write_appendingToOneTextMakesItAList(t *testing.T) {
	doc := bodytest.Read(t, body.OpenAIBody{}, []byte(`{"model":"m","input":"hi"}`))
	change := bodytest.Unchanged(doc)
	change.Session.Messages = append(change.Session.Messages[:1:1], bodytest.User("n", "go on"))
	want := `{"model":"m","input":[{"type":"message","role":"user","content":[{"type":"input_text","text":"hi"}]},{"type":"message","role":"user","content":[{"type":"input_text","text":"go on"}]}]}`
	if got := string(bodytest.Write(t, body.OpenAIBody{}, doc, change)); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestOpenAI_write_aDocumentOfAnotherFormatIsWrittenAnew(t *testing.T) {
	doc := bodytest.Read(t, body.AnthropicBody{}, []byte(`{"model":"m","system":"s","messages":[{"role":"user","content":"go"},{"role":"assistant","content":[{"type":"tool_use","id":"c","name":"n","input":{}}]},
		{"role":"user","content":[{"type":"tool_result","tool_use_id":"c","content":"r"}]}]}`))
	change := bodytest.Unchanged(doc)
	change.Ledger = rule.NewLedger(rule.Elision{Part: "c", Field: rule.Output, Shown: "[left out]"})
	want := `{"model":"m","messages":[{"role":"user","content":"go"},{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"n","arguments":"{}"}}]},` +
		`{"role":"tool","content":"[left out]","tool_call_id":"c"}]}` + "\n"
	if diff := cmp.Diff(want, string(bodytest.Write(t, body.OpenAIBody{}, doc, change))); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestOpenAI_recordedTraffic(t *testing.T) {
	for name, c := range map[string]struct {
		call, result string
		check        func([]byte) error
		f            body.OpenAIBody
	}{
		"opencode.jsonl.gz": {`"tool_call_id":`, `"role":"tool"`, openaichat.Check, body.OpenAIBody{}},
		"codex.jsonl.gz":    {`"type":"function_call"`, `"type":"function_call_output"`, responses.Check, body.OpenAIBody{Responses: true}},
	} {
		t.Run(name, func(t *testing.T) {
			recording := bodytest.Fixture(t, name)
			if !(body.OpenAIBody{}).Detect(recording[:64<<10]) {
				t.Error("the recording is not detected")
			}
			doc := bodytest.Read(t, body.OpenAIBody{}, recording)
			if doc.Counts.ToolCalls != 44 || doc.Counts.ToolResults != 44 || len(doc.Damaged) != 0 {
				t.Errorf("got %+v, damaged %v", doc.Counts, doc.Damaged)
			}
			for i, line := range bodytest.Requests(recording) {
				doc := bodytest.Read(t, body.OpenAIBody{}, line)
				text := doc.Native.(*body.Native).Decoded.Text
				if calls, results := bytes.Count(text, []byte(c.call)), bytes.Count(text, []byte(c.result)); doc.Counts.ToolCalls != calls || doc.Counts.ToolResults != results {
					t.Errorf("request %d: got %+v, the body has %d calls and %d results", i, doc.Counts, calls, results)
				}
				if len(doc.Damaged) != 0 {
					t.Errorf("request %d: damaged %v", i, doc.Damaged)
				}
				again := bodytest.Write(t, c.f, nil, bodytest.Unchanged(doc))
				if err := c.check(again); err != nil {
					t.Errorf("request %d: %v", i, err)
				}
				if n := bytes.Count(again, []byte(c.result)); n != doc.Counts.ToolResults {
					t.Errorf("request %d: written anew it has %d results, want %d", i, n, doc.Counts.ToolResults)
				}
			}
		})
	}
}

func FuzzOpenAI(f *testing.F) {
	f.Add([]byte(smallChat), "m0003", uint8(3))
	f.Add([]byte(smallItems), "m0003", uint8(2))
	f.Add([]byte(`{"model":"m","input":"hi"}`), "", uint8(1))
	f.Add([]byte(`{"method":"POST","url":"/v1/responses","body":{"input":[{"role":"user","content":"a"}]}}`), "", uint8(0))
	f.Add([]byte(`[{"role":"tool","tool_call_id":"x","content":[`), "m0001", uint8(1))
	f.Fuzz(func(t *testing.T, src []byte, tail string, elide uint8) {
		(body.OpenAIBody{}).Detect(src)
		doc, err := (body.OpenAIBody{}).Read(src)
		if err != nil {
			return
		}
		if got := bodytest.Write(t, body.OpenAIBody{}, doc, bodytest.Unchanged(doc)); !bytes.Equal(got, src) {
			t.Fatalf("unchanged, got %q, want %q", got, src)
		}
		bodytest.Stir(t, body.OpenAIBody{}, doc, tail, elide)
	})
}
