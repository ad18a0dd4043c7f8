package llmtest_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/winnowhq/winnow/internal/llmtest"
)

// asked sends a body to a lenient server and returns what a script sees of it.
func asked(t *testing.T, path, body string) llmtest.Request {
	t.Helper()
	s := llmtest.Start(t, llmtest.Script{Lenient: true})
	r, err := http.Post(s.URL+path, "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	if err != nil || r.StatusCode != http.StatusOK {
		t.Fatalf("%s: status %d, %v: %s", path, r.StatusCode, err, text)
	}
	records := s.Records()
	if len(records) != 1 || string(records[0].Body) != body {
		t.Fatalf("recorded %+v", records)
	}
	return records[0].Request
}

func TestRequest_countsResultsAndNamesTools(t *testing.T) {
	for path, body := range map[string]string{
		"/v1/messages": `{"tools":[{"name":"Bash"}],"messages":[{"role":"user","content":"hi"},` +
			`{"role":"user","content":[{"type":"tool_result","content":"say ` +
			`\"type\":\"tool_result\""},{"type":"tool_result"}]}]}`,
		"/v1/chat/completions": `{"tools":[{"type":"function","function":{"name":"Bash"}}],` +
			`"messages":[{"role":"tool","content":"a"},{"role":"tool","content":"b"},{"role":"user"}]}`,
		"/v1/responses": `{"tools":[{"type":"function","name":"Bash"}],` +
			`"input":[{"type":"function_call_output"},{"type":"custom_tool_call_output"},{"type":"message"}]}`,
	} {
		r := asked(t, path, body)
		if names := r.ToolNames(); r.Results() != 2 || len(names) != 1 || names[0] != "Bash" {
			t.Errorf("%s: %d results, want 2; tools %q, want Bash", path, r.Results(), names)
		}
	}
}

func TestRequest_containsLooksBehindEscapes(t *testing.T) {
	r := asked(t, "/v1/messages", `{"messages":[{"role":"user","content":"one\nline \u00e9"}]}`)
	if !r.Contains("one\nline é") || r.Contains(`\n`) || r.Contains("absent") {
		t.Error("Contains does not see decoded strings")
	}
}
