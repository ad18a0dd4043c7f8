//go:build interop

package interop

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/winnowhq/winnow/internal/llmtest"
)

// What a request says of an output that was left out or folded away, with the way back.
var wayBack = regexp.MustCompile(`\[winnow recall ([a-z2-7]{6,}): [^\]]*sed[^\]]* left out\]|- (toolu_\w+): \w+ seq 1 250 `)

// getsBack is an upstream that has a long chore done until something of it is left out, and then has
// it recalled. It says what the recall gave.
type getsBack struct {
	t      *testing.T
	shell  func(command string) llmtest.Call
	recall func(handle string) []llmtest.Call
	handle string
	steps  int // that were asked for; a request has fewer results once the past is folded
	tools  map[string]bool
}

const choreSteps = 60

func (g *getsBack) answer(r llmtest.Request) llmtest.Reply {
	if len(r.ToolNames()) == 0 {
		return llmtest.Reply{Text: "A title."}
	}
	for _, name := range r.ToolNames() {
		g.tools[name] = true
	}
	found := wayBack.FindSubmatch(r.Body)
	var calls []llmtest.Call
	switch {
	case g.handle == "" && found != nil:
		g.handle = string(found[1]) + string(found[2])
		calls = g.recall(g.handle)
	case g.handle != "" || g.steps >= choreSteps:
		return llmtest.Reply{Text: "RESULT " + lastResults(r)}
	default:
		calls = []llmtest.Call{g.shell(fmt.Sprintf("seq 1 250 | sed 's/^/line of step %d number /'", g.steps))}
	}
	for i := range calls {
		calls[i].ID = fmt.Sprintf("toolu_%04d_%d", g.steps, i)
	}
	said := fmt.Sprintf("Step %d.", g.steps)
	g.steps++
	return llmtest.Reply{Text: said, Calls: calls}
}

// lastResults are what the newest calls of a request gave.
func lastResults(r llmtest.Request) (text string) {
	for i := range r.Messages {
		var given string
		for _, p := range r.Messages[i].Parts {
			if p.State != nil && p.State.Final() {
				given += p.State.Result() + "\n"
			}
		}
		text = cmp.Or(given, text)
	}
	return text
}

func bash(name, member string) func(string) llmtest.Call {
	return func(command string) llmtest.Call {
		arguments, _ := json.Marshal(map[string]string{member: command, "description": "run it"})
		return llmtest.Call{Name: name, Arguments: string(arguments)}
	}
}

// What was left out comes back through the client's own shell while winnow runs, and through the
// tools of winnow mcp.
func TestRecall_throughTheClientsOwnTools(t *testing.T) {
	for _, p := range []struct {
		name, shell, member string
		open                func(t *testing.T, u *llmtest.Server) *client
		args                func(t *testing.T, c *client, mcp bool) []string
		mcp                 string // what the names of the tools begin with, "" without
	}{
		{"claude", "Bash", "command", func(t *testing.T, u *llmtest.Server) *client { return claudeClient(t, u) }, func(t *testing.T, c *client, mcp bool) []string {
			args := []string{"-p", "Do the chore.", "--dangerously-skip-permissions", "--model", "claude-sonnet-4-5"}
			if mcp {
				c.Env = append(c.Env, "ENABLE_TOOL_SEARCH=false") // which would declare them when they are asked for
				args = append(args, "--mcp-config", `{"mcpServers":{"winnow":{"command":"winnow","args":["mcp"]}}}`)
			}
			return args
		}, "mcp__winnow__"},
		{"codex", "exec_command", "cmd", func(t *testing.T, u *llmtest.Server) *client { return newCodex(t, u, "") },
			func(t *testing.T, c *client, mcp bool) []string {
				return []string{"exec", "--dangerously-bypass-approvals-and-sandbox", "--skip-git-repo-check",
					"-c", `mcp_servers.winnow.command="winnow"`, "-c", `mcp_servers.winnow.args=["mcp"]`, "Do the chore."}
			}, ""},
		{"opencode", "bash", "command", newOpenCode, func(t *testing.T, c *client, mcp bool) []string {
			if mcp {
				file := filepath.Join(c.Project, "opencode.json")
				putFile(t, file, strings.Replace(string(readFile(t, file)), "{", `{"mcp":{"winnow":{"type":"local",`+
					`"command":["winnow","mcp"],"enabled":true}},`, 1))
			}
			return []string{"run", "Do the chore."}
		}, "winnow_"},
		{"pi", "bash", "command", func(t *testing.T, u *llmtest.Server) *client { return newPi(t, u, "openai-completions") },
			func(t *testing.T, c *client, mcp bool) []string {
				return []string{"--provider", "loopback", "--model", "scripted", "-p", "Do the chore."}
			}, ""},
	} {
		for _, mcp := range []bool{false, true} {
			way := "shell"
			if mcp {
				way = "mcp"
			}
			if mcp && p.mcp == "" {
				continue
			}
			t.Run(p.name+" "+way, func(t *testing.T) {
				g := &getsBack{t: t, shell: bash(p.shell, p.member), tools: map[string]bool{}}
				g.recall = func(handle string) []llmtest.Call {
					lines := " --lines 2-3"
					if p.name == "codex" { // which puts five lines before an output
						lines = " --lines 7-8"
					}
					return []llmtest.Call{g.shell("winnow recall " + handle + lines)}
				}
				if mcp {
					g.recall = func(handle string) (calls []llmtest.Call) {
						for _, tool := range [][2]string{{"recall", `{"handle":"` + handle + `","lines":"2-3"}`}, {"context", `{}`},
							{"search", `{"words":"\"step 0 number 2\""}`}, {"pin", `{"text":"Never touch the brake."}`}} {
							calls = append(calls, llmtest.Call{Name: p.mcp + tool[0], Arguments: tool[1]})
						}
						return calls
					}
				}
				u := provider(t, g.answer)
				c := p.open(t, u)
				tries(t, "recall by "+way)
				winnow := buildWinnow(t, t.TempDir())
				c.Env = append(c.Env, "PATH="+filepath.Dir(c.bin)+":"+filepath.Dir(winnow)+":"+os.Getenv("PATH"))
				putFile(t, filepath.Join(c.Home, ".profile"), "PATH="+filepath.Dir(winnow)+":$PATH\n") // of login shells
				c.through = []string{winnow, "wrap"}
				said := c.run(t, p.args(t, c, mcp)...)
				if g.handle == "" {
					t.Fatalf("in %d requests nothing was left out; tools %v", len(requestsTo(u)), g.tools)
				}
				if !regexp.MustCompile(`line of step \d+ number 2\s+line of step \d+ number 3`).MatchString(said) ||
					!mcp && strings.Contains(said, "number 4") {
					t.Errorf("it got back %q", said)
				}
				if mcp {
					checkTools(t, g.tools, p.mcp, said)
				}
				if p.name == "codex" && !g.tools["mcp__winnow"] { // a group of its own
					t.Errorf("the client declares %v", g.tools)
				}
				c.bin, c.through = winnow, nil
				c.missed(t, g.handle)
			})
		}
	}
}

// checkTools checks that a client declares all tools of winnow mcp, and what they said.
func checkTools(t *testing.T, declared map[string]bool, prefix, said string) {
	t.Helper()
	for tool, wants := range map[string]string{"recall": "", "context": `Session live_\w+: [\d,]+ tokens`,
		"search": `[a-z2-7]{6} \w+.*: .*step 0 number 2`, "pin": `Pinned\.`} {
		if !declared[prefix+tool] {
			t.Errorf("the client declares no %s%s, but %v", prefix, tool, declared)
		}
		if !regexp.MustCompile(wants).MatchString(said) {
			t.Errorf("%s: %q is not in %q", tool, wants, said)
		}
	}
}

// missed checks that the store knows what was missed.
func (c *client) missed(t *testing.T, handle string) {
	t.Helper()
	list := c.run(t, "recall", handle, "--json")
	var doc struct{ Session, Part string }
	if err := json.Unmarshal([]byte(list), &doc); err != nil {
		t.Fatal(err)
	}
	var seen struct {
		Missed []struct{ Part string }
	}
	if err := json.Unmarshal([]byte(c.run(t, "inspect", doc.Session, "--json")), &seen); err != nil {
		t.Fatal(err)
	}
	if len(seen.Missed) != 2 || seen.Missed[0].Part != doc.Part {
		t.Errorf("missed %+v, want %s twice", seen.Missed, doc.Part)
	}
}
