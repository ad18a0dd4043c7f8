package upstream

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

func ask(t *testing.T, url, body string) (int, string) {
	t.Helper()
	r, err := http.Post(url, "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return r.StatusCode, string(text)
}

func TestUpstream_answersEachProtocol(t *testing.T) {
	call := Reply{Text: "looking", Call: &Call{Name: "Bash", Arguments: `{"command":"ls"}`}, Usage: Usage{Input: 7, Output: 3, CacheRead: 2}}
	for name, c := range map[string]struct {
		path, body string
		want       []string
	}{
		"messages, streamed": {"/v1/messages", `{"model":"m","stream":true,"messages":[],"tools":[{"name":"Bash"}]}`,
			[]string{"event: message_start\n", `"text":"looking"`, `"partial_json":"{\"command\":\"ls\"}"`, `"stop_reason":"tool_use"`, `"input_tokens":7`, "event: message_stop\n"}},
		"messages": {"/v1/messages", `{"model":"m","messages":[],"tools":[{"name":"Bash"}]}`,
			[]string{`"input":{"command":"ls"}`, `"stop_reason":"tool_use"`, `"cache_read_input_tokens":2`}},
		"chat, streamed": {"/v1/chat/completions", `{"model":"m","stream":true,"messages":[],"tools":[{"type":"function","function":{"name":"Bash"}}]}`,
			[]string{`"content":"looking"`, `"arguments":"{\"command\":\"ls\"}"`, `"finish_reason":"tool_calls"`, `"prompt_tokens":9`, "data: [DONE]\n"}},
		"responses, streamed": {"/v1/responses", `{"model":"m","stream":true,"input":[],"tools":[{"type":"function","name":"Bash"}]}`,
			[]string{"event: response.created\n", `"delta":"looking"`, "event: response.function_call_arguments.done\n", "event: response.completed\n", `"total_tokens":12`}},
	} {
		t.Run(name, func(t *testing.T) {
			u := Start(t, func(Request) Reply { return call })
			status, text := ask(t, u.URL+c.path, c.body)
			if status != http.StatusOK {
				t.Fatalf("status %d: %s", status, text)
			}
			for _, want := range c.want {
				if !strings.Contains(text, want) {
					t.Errorf("the answer lacks %s:\n%s", want, text)
				}
			}
			if got := u.Requests(); len(got) != 1 || len(got[0].Tools) != 1 || got[0].Tools[0] != "Bash" || string(got[0].Body) != c.body {
				t.Errorf("recorded %+v", got)
			}
		})
	}
}

func TestUpstream_countsResultsOfEachProtocol(t *testing.T) {
	u := Start(t, Text("ok"))
	for path, body := range map[string]string{
		"/v1/messages":         `{"messages":[{"role":"user","content":"hi"},{"role":"user","content":[{"type":"tool_result","content":"say \"type\":\"tool_result\""},{"type":"tool_result"}]}]}`,
		"/v1/chat/completions": `{"messages":[{"role":"tool","content":"a"},{"role":"tool","content":"b"},{"role":"user"}]}`,
		"/v1/responses":        `{"input":[{"type":"function_call_output"},{"type":"custom_tool_call_output"},{"type":"message"}]}`,
	} {
		u.Forget()
		if status, text := ask(t, u.URL+path, body); status != http.StatusOK {
			t.Fatalf("%s: status %d: %s", path, status, text)
		}
		if got := u.Requests()[0].Results; got != 2 {
			t.Errorf("%s: %d results, want 2", path, got)
		}
	}
}

func TestUpstream_refusesWhatItDoesNotKnow(t *testing.T) {
	u := Start(t, func(Request) Reply {
		return Reply{Status: http.StatusRequestEntityTooLarge, Text: "prompt is too long"}
	})
	if status, text := ask(t, u.URL+"/v1/messages", `{"messages":[]}`); status != http.StatusRequestEntityTooLarge || !strings.Contains(text, "prompt is too long") {
		t.Errorf("a scripted error came as %d: %s", status, text)
	}
	if status, _ := ask(t, u.URL+"/v1/messages", `{"messages":`); status != http.StatusBadRequest {
		t.Errorf("half a body gave %d, want 400", status)
	}
	if status, text := ask(t, u.URL+"/v1/messages/count_tokens", `{"messages":[]}`); status != http.StatusOK || !strings.Contains(text, `"input_tokens":4`) {
		t.Errorf("count_tokens gave %d: %s", status, text)
	}
	if status, _ := ask(t, u.URL+"/v1/elsewhere", `{}`); status != http.StatusNotFound || len(u.Others()) != 1 {
		t.Errorf("an unknown path gave %d, others %v", status, u.Others())
	}
}

func TestRequest_containsLooksBehindEscapes(t *testing.T) {
	r := Request{Body: []byte(`{"messages":[{"content":"one\nline \u00e9"}]}`)}
	if !r.Contains("one\nline é") || r.Contains(`\n`) || r.Contains("absent") {
		t.Error("Contains does not see decoded strings")
	}
}
