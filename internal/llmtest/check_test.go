package llmtest_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/winnowhq/winnow/internal/llmtest"
)

func TestCheck_refusesWhatTheProviderRefuses(t *testing.T) {
	marked := func(n int, ttl ...string) any {
		var blocks []object
		for i := range n {
			mark := object{"type": "ephemeral"}
			if i < len(ttl) && ttl[i] != "" {
				mark["ttl"] = ttl[i]
			}
			blocks = append(blocks, object{"type": "text", "text": "part", "cache_control": mark})
		}
		return blocks
	}
	with := func(name string, value any) ask {
		a := say("hello")
		a.extra = map[string]any{name: value}
		return a
	}
	headed := func(name, value string) ask {
		a := say("hello")
		a.header = map[string]string{name: value}
		return a
	}
	call := func(result bool) any {
		m := []object{
			{"role": "user", "content": "hello"},
			{"role": "assistant", "content": []object{{"type": "tool_use", "id": "toolu_1", "name": "ls",
				"input": object{}}}},
			{"role": "user", "content": "and now?"},
		}
		if result {
			m[2]["content"] = []object{{"type": "tool_result", "tool_use_id": "toolu_1", "content": "a"}}
		}
		return m
	}
	for name, c := range map[string]struct {
		protocol llmtest.Protocol
		ask      ask
		status   int // 0: it is accepted
		says     string
	}{
		"no key":     {llmtest.Anthropic, headed("X-Api-Key", ""), 401, "x-api-key"},
		"no version": {llmtest.Anthropic, headed("Anthropic-Version", ""), 400, "anthropic-version"},
		"a bearer": {llmtest.Anthropic, ask{model: "m", limit: 9, turns: say("a").turns,
			header: map[string]string{"X-Api-Key": "", "Authorization": "Bearer x"}}, 0, ""},
		"no limit":          {llmtest.Anthropic, with("max_tokens", nil), 400, "max_tokens: Field required"},
		"an unknown member": {llmtest.Anthropic, with("max_output_tokens", 10), 400, "Extra inputs"},
		"five marks":        {llmtest.Anthropic, with("system", marked(5)), 400, "Found 5"},
		"four marks":        {llmtest.Anthropic, with("system", marked(4)), 0, ""},
		"an hour behind five minutes": {llmtest.Anthropic, with("system", marked(2, "5m", "1h")), 400,
			"must not come after"},
		"an hour first":             {llmtest.Anthropic, with("system", marked(2, "1h", "5m")), 0, ""},
		"a day":                     {llmtest.Anthropic, with("system", marked(1, "24h")), 400, "'5m' or '1h'"},
		"a call without its result": {llmtest.Anthropic, with("messages", call(false)), 400, "toolu_1"},
		"a call with its result":    {llmtest.Anthropic, with("messages", call(true)), 0, ""},
		"a blank text":              {llmtest.Anthropic, say(" "), 400, "blank"},
		"a tool without a schema": {llmtest.Anthropic, with("tools", []object{{"name": "ls"}}), 400,
			"input_schema"},
		"a tool with a bad name": {llmtest.Anthropic, with("tools",
			[]object{{"name": "l s", "input_schema": object{"type": "object"}}}), 400, "pattern"},
		"thinking beyond the limit": {llmtest.Anthropic, with("thinking",
			object{"type": "enabled", "budget_tokens": 2000}), 400, "must be greater"},
		"unsigned thinking": {llmtest.Anthropic, with("messages", []object{{"role": "user", "content": "a"},
			{"role": "assistant", "content": []object{{"type": "thinking", "thinking": "hm"},
				{"type": "text", "text": "b"}}}}), 400, "signature"},
		"compaction without its beta": {llmtest.Anthropic, with("context_management", object{}), 400, "Extra inputs"},

		"chat without a key":             {llmtest.Chat, headed("Authorization", ""), 401, "API key"},
		"chat with no tools in the list": {llmtest.Chat, with("tools", []object{}), 400, "empty array"},
		"chat with a choice of nothing":  {llmtest.Chat, with("tool_choice", "auto"), 400, "tool_choice"},
		"chat with stream options alone": {llmtest.Chat, with("stream", false), 400, "stream_options"},
		"the old limit for a new model":  {llmtest.Chat, with("model", "gpt-5-test"), 400, "max_completion_tokens"},
		"chat with a result of nothing": {llmtest.Chat, with("messages",
			[]object{{"role": "tool", "tool_call_id": "x", "content": "a"}}), 400, `"x"`},
		"responses without a key":        {llmtest.Responses, headed("Authorization", ""), 401, "API key"},
		"responses with a tiny limit":    {llmtest.Responses, with("max_output_tokens", 3), 400, "16"},
		"responses with an unknown past": {llmtest.Responses, with("previous_response_id", "resp_0"), 400, "resp_0"},
		"reasoning that was not kept": {llmtest.Responses, with("input",
			[]object{{"role": "user", "content": "a"}, {"type": "reasoning", "id": "rs_9", "summary": []object{}},
				{"role": "assistant", "content": "b"}}), 400, "rs_9"},
		"an input that is a text": {llmtest.Responses, with("input", "hello"), 0, ""},
		"gemini without a key":    {llmtest.Gemini, headed("X-Goog-Api-Key", ""), 403, "unregistered"},
		"gemini with messages":    {llmtest.Gemini, with("messages", []object{}), 400, "messages"},
		"gemini with nothing":     {llmtest.Gemini, with("contents", []object{}), 400, "contents"},
		"two contents of the model's": {llmtest.Gemini, ask{model: "m", limit: 9,
			turns: []turn{{role: "user", text: "a"}, {role: "assistant", text: "b"}, {role: "assistant", text: "c"}}},
			400, "in a row"},
		"gemini with a bad function": {llmtest.Gemini, with("tools",
			[]object{{"functionDeclarations": []object{{"name": "1st"}}}}), 400, "1st"},
		"another content type": {llmtest.Gemini, headed("Content-Type", "text/plain"), 400, "text/plain"},
		"gemini's key in its other header": {llmtest.Gemini, ask{model: "m", limit: 9, turns: say("a").turns,
			header: map[string]string{"X-Goog-Api-Key": "", "Authorization": "Bearer x"}}, 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			asked := 0
			s := llmtest.Start(t, llmtest.Script{Answer: func(llmtest.Request) llmtest.Reply { asked++; return llmtest.Reply{Text: "ok"} }})
			h := hear(t, s, c.protocol, c.ask)
			problems := s.Problems()
			if c.status == 0 {
				if h.status != 200 || problems != nil {
					t.Errorf("status %d, problems %q", h.status, problems)
				}
				return
			}
			if h.status != c.status || !strings.Contains(h.body, c.says) &&
				!strings.Contains(h.body, strings.ReplaceAll(c.says, `"`, `\"`)) || h.code == "" {
				t.Errorf("status %d, code %q, want %d with %q\n%s", h.status, h.code, c.status, c.says, h.body)
			}
			if len(problems) != 1 || !strings.Contains(problems[0], c.says) || asked != 0 {
				t.Errorf("problems %q; the script was asked %d times", problems, asked)
			}
		})
	}
}

func TestCheck_knowsItsOwnThinking(t *testing.T) {
	s := llmtest.Start(t, llmtest.Script{Answer: llmtest.Sequence(llmtest.Reply{Reasoning: "first this",
		Text: "done"})})
	first := hear(t, s, llmtest.Anthropic, say("hello"))
	for text, status := range map[string]int{first.reasoning: 200, "first that": 400} {
		a := say("hello")
		a.extra = map[string]any{"messages": []object{
			{"role": "user", "content": "hello"},
			{"role": "assistant", "content": []object{{"type": "thinking", "thinking": text,
				"signature": first.signature}, {"type": "text", "text": "done"}}},
			{"role": "user", "content": "go on"},
		}}
		if h := hear(t, s, llmtest.Anthropic, a); h.status != status {
			t.Errorf("thinking %q: status %d, want %d\n%s", text, h.status, status, h.body)
		}
	}
}

func TestCheck_brokenBodiesAreRefusedNotDropped(t *testing.T) {
	for _, p := range llmtest.Protocols() {
		s := llmtest.Start(t, llmtest.Script{})
		for _, text := range []string{"", "{", `{"model":"m","messages":[`, "[]", "null", `"text"`, "\xff\xfe",
			`{"messages":{"a":1}}`, `{"input":7,"contents":"x","messages":null,"model":{}}`} {
			r := say("x").request(t, p, s.URL)
			r.Body, r.ContentLength = readCloser{strings.NewReader(text)}, int64(len(text))
			if h, err := listen(r, p, true); err != nil || h.status != http.StatusBadRequest {
				t.Errorf("%s: %q: status %d, %v", p, text, h.status, err)
			}
		}
		if n := len(s.Problems()); n != 9 {
			t.Errorf("%s: %d problems of 9", p, n)
		}
	}
}

func TestCheck_lenientServersAnswerAndRecord(t *testing.T) {
	s := llmtest.Start(t, llmtest.Script{Lenient: true})
	a := say("hello")
	a.header = map[string]string{"Authorization": ""}
	if h := hear(t, s, llmtest.Chat, a); h.status != 200 || len(s.Problems()) != 1 {
		t.Errorf("status %d, problems %q", h.status, s.Problems())
	}
}
