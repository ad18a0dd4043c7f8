package openai

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/winnowhq/winnow/llm"
	"github.com/winnowhq/winnow/llm/upstream"
	"github.com/winnowhq/winnow/model"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/wire"
)

// recorder answers with a stream of chunks and keeps the body that it was sent.
type recorder struct {
	chunks []string
	body   []byte
}

func (r *recorder) RoundTrip(q *http.Request) (*http.Response, error) {
	r.body, _ = io.ReadAll(q.Body)
	var text strings.Builder
	for _, chunk := range r.chunks {
		text.WriteString("data: " + chunk + "\n\n")
	}
	return &http.Response{StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(text.String())),
		Request: q}, nil
}

func (r *recorder) member(name string) string {
	return string(wire.ValueOf(r.body).Get(name).Bytes())
}

func ask(t *testing.T, c ChatConfig, r llm.Request, chunks ...string) (*recorder, llm.Answer, error) {
	t.Helper()
	seen := &recorder{chunks: chunks}
	c.Transport = seen
	client, err := NewChat(c)
	if err != nil {
		t.Fatal(err)
	}
	m := session.Message{Parts: []session.Part{{Type: session.TextPart, Text: "Hello?"}}}
	m.Role = session.User
	r.Messages, r.Model.Provider, r.Model.ID = []session.Message{m}, "p", "m"
	a, err := client.Ask(t.Context(), r)
	return seen, a, err
}

func TestChat_namesTheBoundAsTheServerWantsIt(t *testing.T) {
	for base, want := range map[string]string{
		"":                             "max_completion_tokens",
		"https://x.openai.azure.com":   "max_completion_tokens",
		"https://api.groq.com/v1":      "max_completion_tokens",
		"https://api.mistral.ai/v1":    "max_tokens",
		"http://localhost:11434/v1":    "max_tokens",
		"https://notapi.groq.com.evil": "max_tokens",
	} {
		for _, other := range []string{"", "max_tokens", "max_completion_tokens"} {
			if other != "" {
				want = other
			}
			seen, _, _ := ask(t, ChatConfig{Config: upstream.Config{BaseURL: base}, MaxTokens: other},
				llm.Request{MaxOutput: 77}, "[DONE]")
			if seen.member(want) != "77" || strings.Count(string(seen.body), "77") != 1 {
				t.Errorf("%s with %q: %s", base, other, seen.body)
			}
		}
	}
	seen, _, _ := ask(t, ChatConfig{}, llm.Request{MaxOutput: 77, Model: model.Model{Limits: model.Limits{Output: 50}}},
		"[DONE]")
	if seen.member("max_completion_tokens") != "50" {
		t.Errorf("more than the model has: %s", seen.body)
	}
	seen, _, _ = ask(t, ChatConfig{}, llm.Request{Model: model.Model{Limits: model.Limits{Output: 50}}}, "[DONE]")
	if strings.Contains(string(seen.body), "max_") {
		t.Errorf("a bound that nobody asked for: %s", seen.body)
	}
}

func TestChat_asksForUsageWhereThatIsKnown(t *testing.T) {
	for base, want := range map[string]string{"": `{"include_usage":true}`,
		"http://localhost:1234/v1": `{"include_usage":true}`, "https://api.mistral.ai/v1": ""} {
		seen, _, _ := ask(t, ChatConfig{Config: upstream.Config{BaseURL: base}}, llm.Request{}, "[DONE]")
		if got := seen.member("stream_options"); got != want || seen.member("stream") != "true" {
			t.Errorf("%s: %s", base, seen.body)
		}
	}
}

func TestChat_namesTheConversationToOpenAIAlone(t *testing.T) {
	with := llm.Request{Cache: true, System: "You help."}
	one, _, _ := ask(t, ChatConfig{}, with, "[DONE]")
	two, _, _ := ask(t, ChatConfig{}, with, "[DONE]")
	other, _, _ := ask(t, ChatConfig{}, llm.Request{Cache: true, System: "You do not."}, "[DONE]")
	if k := one.member("prompt_cache_key"); len(k) != 34 || k != two.member("prompt_cache_key") ||
		k == other.member("prompt_cache_key") {
		t.Errorf("keys %s, %s, %s", k, two.member("prompt_cache_key"), other.member("prompt_cache_key"))
	}
	local, _, _ := ask(t, ChatConfig{Config: upstream.Config{BaseURL: "http://localhost:1/v1"}}, with, "[DONE]")
	plain, _, _ := ask(t, ChatConfig{}, llm.Request{}, "[DONE]")
	if local.member("prompt_cache_key")+plain.member("prompt_cache_key") != "" {
		t.Errorf("%s\n%s", local.body, plain.body)
	}
}

func TestChat_whatServersSayOtherwise(t *testing.T) {
	tool := func(id, name string, input string) session.Part {
		return wire.PendingCall(id, name, input, nil)
	}
	thought := func(text, field string) session.Part {
		return session.Part{Type: session.ReasoningPart, Text: text, Metadata: wire.Metadata("openai", "field", field)}
	}
	text := func(text string) session.Part { return session.Part{Type: session.TextPart, Text: text} }
	const stop = `{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`
	for _, c := range []struct {
		name   string
		chunks []string
		parts  []session.Part
		finish llm.Finish
		usage  session.Usage
	}{
		{"thoughts in reasoning", []string{`{"choices":[{"index":0,"delta":{"reasoning":"hm","content":""}}]}`,
			`{"choices":[{"index":0,"delta":{"content":"ok"}}]}`, stop},
			[]session.Part{thought("hm", "reasoning"), text("ok")}, llm.Stop, session.Usage{}},
		{"thoughts twice", []string{`{"choices":[{"index":0,"delta":{"reasoning":"hm","reasoning_content":"hm"}}]}`,
			`{"choices":[{"index":0,"delta":{"content":"ok"}}]}`, stop},
			[]session.Part{thought("hm", "reasoning_content"), text("ok")}, llm.Stop, session.Usage{}},
		{"contents in a list", []string{`{"choices":[{"index":0,"delta":{"content":[{"type":"thinking",` +
			`"thinking":[{"type":"text","text":"hm"}]},{"type":"text","text":"ok"}]}}]}`, stop},
			[]session.Part{{Type: session.ReasoningPart, Text: "hm"}, text("ok")}, llm.Stop, session.Usage{}},
		{"calls that all have index 0, and stop", []string{
			`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"read",` +
				`"arguments":"{\"p\":1}"}}]}}]}`,
			`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"b","function":{"name":"list",` +
				`"arguments":""}}]}}]}`, stop},
			[]session.Part{tool("a", "read", `{"p":1}`), tool("b", "list", "{}")}, llm.Calls, session.Usage{}},
		{"calls without index and id", []string{`{"choices":[{"index":0,` +
			`"delta":{"tool_calls":[{"function":{"name":"read","arguments":"{}"}}]}}]}`, stop},
			[]session.Part{tool("call_1", "read", "{}")}, llm.Calls, session.Usage{}},
		{"calls in pieces that are mixed", []string{
			`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"read",` +
				`"arguments":"{\"p\""}},{"index":1,"id":"b","function":{"name":"list","arguments":"{\"q\""}}]}}]}`,
			`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":1,"function":{"arguments":":2}"}},{"index":0,` +
				`"id":"a","function":{"arguments":":1}"}}]}}]}`, stop},
			[]session.Part{tool("a", "read", `{"p":1}`), tool("b", "list", `{"q":2}`)}, llm.Calls, session.Usage{}},
		{"a refusal in words", []string{`{"choices":[{"index":0,"delta":{"refusal":"I will not."}}]}`, stop},
			[]session.Part{text("I will not.")}, llm.Refused, session.Usage{}},
		{"no reason but the end", []string{`{"choices":[{"index":0,"delta":{"content":"ok"}}]}`, "[DONE]"},
			[]session.Part{text("ok")}, llm.Stop, session.Usage{}},
		{"usage as DeepSeek has it", []string{stop,
			`{"choices":[],"usage":{"prompt_tokens":100,"completion_tokens":10,"total_tokens":110,` +
				`"prompt_cache_hit_tokens":64,"prompt_cache_miss_tokens":36}}`},
			nil, llm.Stop, session.Usage{Total: 110, Input: 36, Output: 10, Cache: session.CacheUsage{Read: 64}}},
		{"usage as Moonshot has it", []string{`{"choices":[{"index":0,"delta":{},"finish_reason":"stop",` +
			`"usage":{"prompt_tokens":100,"completion_tokens":10,"total_tokens":110,"cached_tokens":64}}]}`},
			nil, llm.Stop, session.Usage{Total: 110, Input: 36, Output: 10, Cache: session.CacheUsage{Read: 64}}},
		{"usage as xAI has it", []string{stop,
			`{"choices":[],"usage":{"prompt_tokens":100,"completion_tokens":10,"total_tokens":140,` +
				`"completion_tokens_details":{"reasoning_tokens":30}}}`},
			nil, llm.Stop, session.Usage{Total: 140, Input: 100, Output: 10, Reasoning: 30}},
		{"usage, and none once more", []string{stop,
			`{"choices":[],"usage":{"prompt_tokens":100,"completion_tokens":10,"total_tokens":110}}`,
			`{"choices":[],"usage":{"prompt_tokens":0,"completion_tokens":0,"total_tokens":0}}`},
			nil, llm.Stop, session.Usage{Total: 110, Input: 100, Output: 10}},
		{"usage that cannot be", []string{stop,
			`{"choices":[],"usage":{"prompt_tokens":10,"completion_tokens":-5,` +
				`"prompt_tokens_details":{"cached_tokens":64}}}`},
			nil, llm.Stop, session.Usage{Cache: session.CacheUsage{Read: 10}}},
	} {
		_, a, err := ask(t, ChatConfig{}, llm.Request{}, c.chunks...)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if diff := cmp.Diff(c.parts, a.Parts); diff != "" || a.Finish != c.finish {
			t.Errorf("%s: finish %s, parts (-want +got):\n%s", c.name, a.Finish, diff)
		}
		if diff := cmp.Diff(c.usage, a.Usage); diff != "" {
			t.Errorf("%s: usage (-want +got):\n%s", c.name, diff)
		}
	}
}

func TestChat_reasonsThatAreFailures(t *testing.T) {
	for reason, kind := range map[string]llm.Kind{"network_error": llm.Server, "error": llm.Server,
		"insufficient_system_resource": llm.Overloaded, "model_context_window_exceeded": llm.Overflow} {
		_, _, err := ask(t, ChatConfig{}, llm.Request{},
			`{"choices":[{"index":0,"delta":{},"finish_reason":"`+reason+`"}]}`, "[DONE]")
		if llm.KindOf(err) != kind {
			t.Errorf("%s: %v, want %s", reason, err, kind)
		}
	}
	_, a, err := ask(t, ChatConfig{}, llm.Request{},
		`{"choices":[{"index":0,"delta":{"content":"half"},"finish_reason":"model_context_window_exceeded"}]}`)
	if err != nil || a.Finish != llm.Length {
		t.Errorf("%s, %v", a.Finish, err)
	}
}
