//go:build interop

package interop

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/winnowhq/winnow/internal/llmtest"
)

// TestCodex_seatIsUsed: the model calls the tools of winnow's server, and the line for the gateway
// that install prints makes Codex ask through it.
func TestCodex_seatIsUsed(t *testing.T) {
	tries(t, "seat", "recall")
	s := &guest{agent: codexAgent(t), start: codexAgent, winnow: buildWinnow(t, t.TempDir()), product: "codex"}
	printed := s.tell(t, "install", "codex")
	s.tell(t, "install", "codex-results") // so that the session is in the store
	s.flags = []string{"--dangerously-bypass-hook-trust"}
	s.work(t, "Look at the colours. WALRUS", `printf '\033[31mred %s\033[0m\n' $(seq 1 400)`)
	s.queue = append(s.queue, llmtest.Call{Name: "context", Namespace: "mcp__winnow", Arguments: "{}"},
		llmtest.Call{Name: "pin", Namespace: "mcp__winnow", Arguments: `{"text":"Never touch the brake."}`})
	s.say(t, "Use the tools. GULL")
	results := callsOf(s.last(t).Messages)
	if len(results) != 3 {
		t.Fatalf("the calls of the request are %q", results)
	}
	told, pinned := results[1], results[2]
	t.Logf("%.300q, %.300q", told, pinned)
	if !strings.Contains(told, "tokens") || strings.Contains(told+pinned, "no session") {
		t.Errorf("the tools of winnow's server answer %q and %q", told, pinned)
	}

	line := regexp.MustCompile(`codex -c model_provider=winnow -c '[^']*'`).FindString(printed)
	folder := filepath.Join(s.Home, ".config", "winnow")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	putFile(t, filepath.Join(folder, "winnow.jsonc"), fmt.Sprintf(`{"gateway": {"upstreams": {"openai": %q}}}`, s.up.URL))
	g := &gateway{t: t, bin: s.winnow, home: s.Home, address: "127.0.0.1:4141"}
	g.start()
	t.Cleanup(g.kill)
	s.up.Forget()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	const turn = ` exec --dangerously-bypass-approvals-and-sandbox --skip-git-repo-check "Through the gateway, TERN."`
	cmd := exec.CommandContext(ctx, "sh", "-c", line+turn)
	path := filepath.Dir(s.bin) + string(os.PathListSeparator) + os.Getenv("PATH")
	cmd.Dir, cmd.Env = s.Project, append([]string{"HOME=" + s.Home, "PATH=" + path}, s.Env...)
	if out, err := cmd.CombinedOutput(); err != nil || line == "" {
		t.Fatalf("%s: %v\n%s", line, err, out)
	}
	s.asked(t, "TERN")
	if list := s.tell(t, "ls", "--store", "--json"); !strings.Contains(list, "Through the gateway") {
		t.Errorf("the gateway has kept no session: %s", list)
	}
	t.Logf("%s: asked through the gateway", line)
}

// TestCodex_seatIsTrusted: doctor says that the hook is ignored until a person trusts it in Codex's
// terminal, nothing once that was done, and that it is ignored again when the command is another.
func TestCodex_seatIsTrusted(t *testing.T) {
	tries(t, "seat")
	s := newGuest(t, codexAgent, "codex")
	s.tell(t, "install", "codex-results")
	s.work(t, "Look at the colours. GULL", `printf '\033[31mred %s\033[0m\n' $(seq 1 400)`)
	if sent := string(s.last(t).Body); !strings.Contains(sent, `\u001b[3`) {
		t.Error("Codex runs a hook that nobody trusts")
	}
	said := func() string {
		cmd := exec.Command(s.winnow, "doctor")
		cmd.Dir, cmd.Env = s.Project, []string{"HOME=" + s.Home, "PATH=/usr/bin:/bin"}
		out, _ := cmd.CombinedOutput() // what it finds is told by its exit code, too
		return string(out)
	}
	if out := said(); !strings.Contains(out, "has not been told to trust the hook") {
		t.Errorf("doctor says %s", out)
	}
	config := filepath.Join(s.Home, ".codex", "config.toml")
	x := openTerminal(t, s.client)
	x.shows("Hooks need review") // Codex's terminal asks by itself
	x.must("send-keys", "Down")
	x.shows("› 2. Trust all and continue")
	x.must("send-keys", "Enter")
	x.waits("the hook's hash", func() bool { return strings.Contains(string(readFile(t, config)), "trusted_hash") })
	x.must("kill-server")
	if out := said(); strings.Contains(out, "seat-untrusted") {
		t.Errorf("trusted, doctor says %s", out)
	}
	s.work(t, "Look at them again. TERN", `printf '\033[32mgreen %s\033[0m\n' $(seq 1 400)`)
	if sent := string(s.last(t).Body); strings.Contains(sent, `\u001b[32`) {
		t.Error("Codex does not run the hook that was trusted")
	}
	hooks := filepath.Join(s.Home, ".codex", "hooks.json")
	putFile(t, hooks, strings.Replace(string(readFile(t, hooks)), `"timeout":10`, `"timeout":9`, 1))
	if out := said(); !strings.Contains(out, "is not the hook that shows less of results as it is now") {
		t.Errorf("changed, doctor says %s", out)
	}
}
