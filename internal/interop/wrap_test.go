//go:build interop

package interop

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"

	"github.com/winnowhq/winnow/internal/llmtest"
)

// What a product sends through `winnow wrap` is what it sends without it, and it does the same.
func TestWrap_sendsWhatIsSentWithoutIt(t *testing.T) {
	commands := []string{"echo quagga", "ls", "echo okapi"}
	for _, p := range []struct {
		name, tool string // that runs a command
		member     string // of its arguments
		open       func(t *testing.T, u *llmtest.Server) *client
		args       []string
	}{
		{"claude", "Bash", "command", func(t *testing.T, u *llmtest.Server) *client {
			c := newClaude(t)
			c.Env = append(c.Env, "ANTHROPIC_BASE_URL="+u.URL)
			return c.client
		}, []string{"-p", "Run three commands.", "--dangerously-skip-permissions"}},
		{"codex", "exec_command", "cmd", func(t *testing.T, u *llmtest.Server) *client { return newCodex(t, u, "") },
			[]string{"exec", "--dangerously-bypass-approvals-and-sandbox", "--skip-git-repo-check", "Run three commands."}},
		{"opencode", "bash", "command", newOpenCode, []string{"run", "Run three commands."}},
		{"pi", "bash", "command", func(t *testing.T, u *llmtest.Server) *client { return newPi(t, u, "openai-completions") },
			[]string{"--provider", "loopback", "--model", "scripted", "-p", "Run three commands."}},
	} {
		t.Run(p.name, func(t *testing.T) {
			u := provider(t, func(r llmtest.Request) llmtest.Reply {
				n := r.Results()
				if len(r.ToolNames()) == 0 || n >= len(commands) {
					return llmtest.Reply{Text: "All three ran."}
				}
				arguments, err := json.Marshal(map[string]string{p.member: commands[n], "description": "run it"}, json.Deterministic(true))
				if err != nil {
					t.Error(err)
				}
				return llmtest.Reply{Text: "One more.", Calls: []llmtest.Call{{ID: fmt.Sprintf("toolu_%04d", n), Name: p.tool, Arguments: string(arguments)}}}
			})
			c := p.open(t, u)
			tries(t, "relay its requests")
			fresh := t.TempDir()
			if err := os.CopyFS(fresh, os.DirFS(filepath.Dir(c.Home))); err != nil {
				t.Fatal(err)
			}
			said := c.run(t, p.args...)
			plain := bodies(t, requestsTo(u))
			for _, dir := range []string{c.Home, c.Project} {
				if err := os.RemoveAll(dir); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.CopyFS(filepath.Dir(c.Home), os.DirFS(fresh)); err != nil {
				t.Fatal(err)
			}
			c.Env = append(c.Env, "PATH="+filepath.Dir(c.bin)+":"+os.Getenv("PATH"))
			c.bin = buildWinnow(t, t.TempDir())
			wrapped := c.run(t, append([]string{"wrap", "--mode", "off", p.name}, p.args...)...)
			if said != wrapped {
				t.Errorf("it says %q, without winnow %q", wrapped, said)
			}
			got := bodies(t, requestsTo(u)[len(plain):])
			if len(plain) < len(commands)+1 {
				t.Errorf("%d requests are too few for %d commands", len(plain), len(commands))
			}
			if diff := cmp.Diff(plain, got); diff != "" {
				t.Errorf("requests (-without winnow +through it):\n%s", diff)
			}
		})
	}
}

// random is what differs between two runs of the same chore: ids, times, and what is made of them.
var random = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|[0-9a-f]{64}|cch=[0-9a-f]+|` +
	`Chunk ID: \w+|Wall time: [0-9.]+|\b(ses|msg|prt|fc|fco|rs|resp|chatcmpl)_[0-9A-Za-z-]*[0-9][0-9A-Za-z-]*`)

// bodies are the bodies of requests without what is random in them.
func bodies(t *testing.T, requests []llmtest.Request) (all []string) {
	t.Helper()
	for _, r := range requests {
		var body map[string]any
		if err := json.Unmarshal(r.Body, &body); err != nil {
			t.Fatal(err)
		}
		delete(body, "client_metadata") // of Codex, in any order
		delete(body, "diagnostics")     // of Claude Code: the id of the answer before
		text, err := json.Marshal(body, json.Deterministic(true))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, r.Path+" "+strings.ToValidUTF8(random.ReplaceAllString(string(text), "…"), ""))
	}
	return all
}
