//go:build unix

package torture

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"

	"github.com/winnowhq/winnow/internal/llmtest"
	"github.com/winnowhq/winnow/internal/outside"
)

// conversation is winnow chat in a real terminal, doing an errand. The terminal is a server of tmux
// of its own; the model stands in the test's process.
type conversation struct {
	t        *testing.T
	errand   errand
	upstream *llmtest.Server
	program  string
	dir      string // of the test: the socket, the program's home
	windows  int    // that were opened
}

func newConversation(t *testing.T, rounds, lines int) *conversation {
	t.Helper()
	if !*long {
		t.Skip("the program is built and works for minutes: run it with -torture")
	}
	if _, err := exec.LookPath("tmux"); err != nil {
		t.Skip("tmux is not installed")
	}
	dir, err := os.MkdirTemp("", "winnow") // the path of a socket must be short
	if err != nil {
		t.Fatal(err)
	}
	c := &conversation{t: t, dir: dir, program: filepath.Join(dir, "winnow")}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the screen at the end:\n%s", c.screen())
		}
		c.tmux("kill-server")
		os.RemoveAll(dir)
	})
	outside.Build(t, "winnow", c.program)
	c.errand = errand{Protocol: llmtest.Anthropic, Folder: filepath.Join(dir, "work"), Rounds: rounds, Lines: lines}
	if err := c.errand.prepare(); err != nil {
		t.Fatal(err)
	}
	c.upstream = llmtest.Start(t, llmtest.Script{Answer: c.errand.answer, Window: 128_000})
	settings, err := json.Marshal(map[string]any{
		"model":       "house/any", // 128,000 tokens are assumed
		"compaction":  map[string]any{"reserved": 64_000},
		"permissions": []any{map[string]any{"verdict": "allow"}},
		"providers": map[string]any{"house": map[string]any{
			"protocol": "anthropic", "baseURL": c.upstream.BaseURL(llmtest.Anthropic), "headers": map[string]any{"x-api-key": "none"},
		}},
	})
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "settings"), settings, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func (c *conversation) tmux(args ...string) (string, error) {
	cmd := exec.Command("tmux", append([]string{"-S", filepath.Join(c.dir, "socket"), "-f", os.DevNull}, args...)...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C.UTF-8", "HOME=" + c.dir}
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// chat starts the program, and returns its process.
func (c *conversation) chat(args ...string) (pid int) {
	c.t.Helper()
	command := "exec env -i PATH='" + os.Getenv("PATH") + "' HOME='" + c.dir + "' TERM=xterm-256color '" + c.program + "' --config '" + filepath.Join(c.dir, "settings") + "' chat"
	for _, a := range args {
		command += " '" + a + "'"
	}
	start := []string{"new-session", "-d", "-s", fmt.Sprint("w", c.windows), "-x", "120", "-y", "40", "-c", c.errand.Folder, command}
	c.windows++
	out, err := c.tmux(start...)
	if err == nil {
		out, err = c.tmux("list-panes", "-t", c.window(), "-F", "#{pane_pid}")
	}
	if err == nil {
		pid, err = strconv.Atoi(strings.TrimSpace(out))
	}
	if err != nil {
		c.t.Fatalf("%v: %s", err, out)
	}
	return pid
}

func (c *conversation) window() string { return fmt.Sprint("w", c.windows-1) }

func (c *conversation) screen() string {
	out, err := c.tmux("capture-pane", "-p", "-t", c.window())
	return out + fmt.Sprint(errors.Join(err))
}

// until waits for something.
func (c *conversation) until(what string, so func() bool) {
	c.t.Helper()
	for deadline := time.Now().Add(10 * time.Minute); !so(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			c.t.Fatalf("waited for %s in vain", what)
		}
	}
}

func (c *conversation) shows(text string) {
	c.t.Helper()
	c.until(text, func() bool { return strings.Contains(c.screen(), text) })
}

// A session of 300 steps, with more than a million tokens from tools, in a window of 64,000.
func TestChat_takesLittleMemory(t *testing.T) {
	c := newConversation(t, 75, 900)
	began := time.Now()
	pid := c.chat(errandPrompt)
	c.shows("All keys are copied.")
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	most := mostMemory.FindSubmatch(status)
	if err != nil || most == nil {
		t.Skip("how much memory a process takes is not known here")
	}
	memory, _ := strconv.Atoi(string(most[1]))
	records, folded := c.upstream.Records(), 0
	for _, r := range records {
		if sums(r.Request) {
			folded++
		}
	}
	t.Logf("%d requests, %d of them for summaries, in %v: %d KB resident at most", len(records), folded, time.Since(began).Round(time.Second), memory)
	if limit := 150 << 10; memory > limit || folded == 0 || len(records) < 300 {
		t.Errorf("%d KB were resident, after %d requests and %d for summaries; want at most %d", memory, len(records), folded, limit)
	}
}

// The chat is killed while it works, and goes on in the next process. What is on the screen stands
// there once, and the work is done once.
func TestChat_killedGoesOn(t *testing.T) {
	c := newConversation(t, 14, 150)
	pid := c.chat(errandPrompt)
	for _, after := range []int{9, 14, 12} {
		had := len(c.upstream.Records())
		c.until("requests", func() bool { return len(c.upstream.Records()) >= had+after })
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		c.until("the end of the process", func() bool { return syscall.Kill(pid, 0) != nil })
		pid = c.chat("--continue")
		c.shows("enter on an empty line")
		c.once()
		if out, err := c.tmux("send-keys", "-t", c.window(), "Enter"); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	c.shows("All keys are copied.")
	c.once()
	got, _, err := files(filepath.Join(c.errand.Folder, "out"))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{}
	for i := range c.errand.Rounds {
		want[fmt.Sprintf("%02d.txt", i)] = strings.Repeat(fmt.Sprintf("%02d lamp%d\n", i, i*i+7), 20)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("the files (-want +got):\n%s", d)
	}
	for _, problem := range c.upstream.Problems() {
		t.Error("the provider would refuse:", problem)
	}
}

var written = regexp.MustCompile(`✓ write out/\d+\.txt`)

// once fails where something that happened once stands on the screen twice.
func (c *conversation) once() {
	c.t.Helper()
	screen := c.screen()
	seen := map[string]bool{}
	for _, line := range written.FindAllString(screen, -1) {
		if seen[line] {
			c.t.Errorf("%q stands on the screen twice:\n%s", line, screen)
		}
		seen[line] = true
	}
}
