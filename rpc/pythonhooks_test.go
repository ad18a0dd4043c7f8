package rpc_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/winnowhq/winnow/internal/llmtest"
	"github.com/winnowhq/winnow/internal/outside"
	"github.com/winnowhq/winnow/wire"
)

// pythonHooks are the test programs of testdata/hooks, and the modules that each needs.
var pythonHooks = map[string][]string{
	"pydantic_ai":           {"pydantic_ai.models.openai"},
	"openai_agents":         {"agents"},
	"langchain":             {"langchain.agents", "langchain_openai"},
	"langchain_responses":   {"langchain.agents", "langchain_openai"},
	"langgraph":             {"langgraph.prebuilt", "langchain_openai"},
	"llama_index":           {"llama_index.core.agent.workflow", "llama_index.llms.openai"},
	"llama_index_responses": {"llama_index.core.agent.workflow", "llama_index.llms.openai"},
}

const (
	hookSteps  = 70 // calls in each of three turns
	hookWindow = 200_000
	hookFirst  = "Never touch main.go."
)

// Agents of Python frameworks run three turns with the hooks of bindings/python. BINDINGS_PYTHON is
// the Python with the frameworks. BINDINGS_PYTHONPATH adds folders of sources; a framework that is
// missing there is skipped.
func TestPythonHooks(t *testing.T) {
	python, sources := os.Getenv("BINDINGS_PYTHON"), os.Getenv("BINDINGS_PYTHONPATH")
	if python == "" && sources == "" {
		t.Skip("make bindings runs this")
	}
	if python == "" {
		python = "python3"
	}
	engine := filepath.Join(t.TempDir(), "winnow")
	outside.Build(t, "winnow", engine)
	hooks := filepath.Join(outside.Root(t), "rpc", "bindings", "python")
	for name, modules := range pythonHooks {
		t.Run(name, func(t *testing.T) {
			provider := llmtest.Start(t, llmtest.Script{Answer: readFiles, Window: hookWindow})
			home := t.TempDir()
			run := func(args ...string) ([]byte, []byte, error) {
				var stderr bytes.Buffer
				c := exec.CommandContext(t.Context(), python, append([]string{"-B"}, args...)...)
				c.Env = append(os.Environ(), "HOME="+home, "XDG_DATA_HOME="+home, "XDG_CONFIG_HOME="+home, "OPENAI_API_KEY=any",
					"OPENAI_BASE_URL="+provider.BaseURL(llmtest.Chat), "WINNOW_PROGRAM="+engine,
					"PYTHONPATH="+strings.Join([]string{hooks, sources}, string(os.PathListSeparator)))
				c.Stderr = &stderr
				out, err := c.Output()
				return out, stderr.Bytes(), err
			}
			if _, stderr, err := run("-c", "import "+strings.Join(modules, ", ")); err != nil {
				if sources != "" {
					t.Skipf("the framework is not here: %s", stderr)
				}
				t.Fatalf("%v: %s", err, stderr)
			}
			out, stderr, err := run(filepath.Join("testdata", "hooks", "run_"+name+".py"))
			if err != nil || bytes.Contains(stderr, []byte("sent unpruned")) {
				t.Errorf("%v: %s", err, stderr)
			}
			judgeHistory(t, out)
			judgeRequests(t, provider)
		})
	}
}

// readFiles calls the tool read, often twice for the same content, then ends the turn.
func readFiles(r llmtest.Request) llmtest.Reply {
	turn := (r.Number - 1) / (hookSteps + 1)
	step := (r.Number - 1) % (hookSteps + 1)
	reply := llmtest.Reply{Text: fmt.Sprintf("Step %d of turn %d.", step, turn)}
	if r.Protocol == llmtest.Responses {
		reply.Reasoning = fmt.Sprintf("I think about step %d.", step)
	}
	if step == hookSteps {
		return reply
	}
	for n := range 1 + step%2 {
		reply.Calls = append(reply.Calls, llmtest.Call{ID: fmt.Sprintf("call_%d_%d_%d", turn, step, n), Name: "read",
			Arguments: fmt.Sprintf(`{"path":"f%d.go#%d","turn":%d}`, (step+n)%9, step/18, turn)})
	}
	return reply
}

// judgeHistory: the framework's own history has each result whole.
func judgeHistory(t *testing.T, out []byte) {
	var history struct {
		Calls     int
		Wrong     []string
		Unchanged bool
	}
	if err := json.Unmarshal(out, &history); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if history.Calls != 3*hookSteps*3/2 || len(history.Wrong) > 0 || !history.Unchanged {
		t.Errorf("the history has %d calls, %d with another result, unchanged: %t", history.Calls, len(history.Wrong),
			history.Unchanged)
	}
}

// judgeRequests: the provider accepted each request, and each begins like the one before it unless
// something was decided.
func judgeRequests(t *testing.T, provider *llmtest.Server) {
	for _, problem := range provider.Problems() {
		t.Error(problem)
	}
	records := provider.Records()
	if len(records) != 3*(hookSteps+1) {
		t.Errorf("%d requests", len(records))
	}
	var before []string
	stable, pruned, folded, smaller, largest, cached, fresh := 0, 0, 0, 0, 0, 0, 0
	for i, r := range records {
		body := wire.ValueOf(r.Body)
		list := body.Get("messages")
		if r.Protocol == llmtest.Responses {
			list = body.Get("input")
		}
		var now []string
		for m := range list.Values() {
			now = append(now, string(m.Bytes()))
		}
		switch {
		case r.Status != 200 || r.TooLong:
			t.Errorf("request %d: status %d, too long: %t", r.Number, r.Status, r.TooLong)
		case !r.Contains(hookFirst):
			t.Errorf("request %d lacks the first instruction", r.Number)
		}
		if calls, results := idsOf(list); !slices.Equal(calls, results) {
			t.Errorf("request %d: calls %q, results %q", r.Number, calls, results)
		}
		if len(now) >= len(before) && slices.Equal(now[:len(before)], before) {
			stable++
		}
		if i > 0 && r.Prompt < records[i-1].Prompt {
			smaller++
		}
		if showsLess(list) {
			pruned++
		}
		if r.Contains("<conversation-summary>") {
			folded++
		}
		largest = max(largest, r.Prompt)
		cached, fresh = cached+r.Usage.Cache.Read, fresh+r.Usage.Input
		before = now
	}
	t.Logf("%d requests: %d begin like the one before, %d are smaller, %d pruned, %d folded, largest %d of %d tokens, "+
		"%d tokens cached, %d fresh", len(records), stable, smaller, pruned, folded, largest, hookWindow, cached, fresh)
	if stable < len(records)*9/10 || smaller == 0 || pruned == 0 || folded == 0 {
		t.Error("see the line above")
	}
}

// showsLess reports whether a result of a tool has a placeholder.
func showsLess(list wire.Value) bool {
	for m := range list.Values() {
		if m.Get("role").String() == "tool" && strings.HasPrefix(m.Get("content").String(), "[winnow ") ||
			strings.HasPrefix(m.Get("output").String(), "[winnow ") {
			return true
		}
	}
	return false
}

// idsOf are the sorted ids of the calls and of the results in a list of messages or items.
func idsOf(list wire.Value) (calls, results []string) {
	for m := range list.Values() {
		for call := range m.Get("tool_calls").Values() {
			calls = append(calls, call.Get("id").String())
		}
		id := m.Get("call_id").String()
		switch m.Get("type").String() {
		case "function_call":
			calls = append(calls, id)
		case "function_call_output":
			results = append(results, id)
		}
		if m.Get("role").String() == "tool" {
			results = append(results, m.Get("tool_call_id").String())
		}
	}
	slices.Sort(calls)
	slices.Sort(results)
	return calls, results
}
