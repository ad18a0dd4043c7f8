//go:build interop

package interop

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
)

// terminal is a product in a real terminal: a server of tmux of its own, with one window.
type terminal struct {
	t   *testing.T
	dir string
}

// openTerminal starts a product as its user does.
func openTerminal(t *testing.T, c *client, args ...string) *terminal {
	t.Helper()
	if _, err := exec.LookPath("tmux"); err != nil {
		t.Skip("tmux is not installed")
	}
	dir, err := os.MkdirTemp("", "winnow") // the path of a socket must be short
	if err != nil {
		t.Fatal(err)
	}
	x := &terminal{t: t, dir: dir}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the screen at the end:\n%s", x.screen())
		}
		_, _ = x.tmux("kill-server") // it may have ended
		os.RemoveAll(dir)
	})
	command := []string{"env", "-i", "HOME=" + c.Home, "TERM=xterm-256color", "LC_ALL=C.UTF-8", "COLORTERM=truecolor",
		"PATH=" + filepath.Dir(c.bin) + string(os.PathListSeparator) + os.Getenv("PATH")}
	command = append(append(append(command, c.Env...), c.bin), args...)
	for i, word := range command {
		command[i] = "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
	}
	x.must("start-server", ";", "set-option", "-g", "default-terminal", "xterm-256color", ";",
		"new-session", "-d", "-x", "120", "-y", "40", "-c", c.Project, strings.Join(command, " ")+"; echo '[ended]'; exec sleep 600")
	return x
}

func (x *terminal) tmux(args ...string) (string, error) {
	cmd := exec.Command("tmux", append([]string{"-S", filepath.Join(x.dir, "socket"), "-f", os.DevNull}, args...)...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C.UTF-8", "HOME=" + x.dir}
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func (x *terminal) must(args ...string) {
	x.t.Helper()
	if out, err := x.tmux(args...); err != nil {
		x.t.Fatalf("tmux %v: %v: %s", args, err, out)
	}
}

func (x *terminal) screen() string {
	out, _ := x.tmux("capture-pane", "-p", "-J")
	return out
}

// waits waits until something is so.
func (x *terminal) waits(what string, so func() bool) {
	x.t.Helper()
	for end := time.Now().Add(3 * time.Minute); !so(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			x.t.Fatalf("waited in vain for %s", what)
		}
	}
}

// shows waits until the screen has words.
func (x *terminal) shows(words string) {
	x.t.Helper()
	x.waits(words+" on the screen", func() bool { return strings.Contains(x.screen(), words) })
}

// types types a line, and enters it once the screen shows it.
func (x *terminal) types(line string) {
	x.t.Helper()
	x.must("send-keys", "-l", line)
	x.shows(line)
	x.must("send-keys", "Enter")
}

// claudeKnows answers the questions that Claude Code's terminal asks when it is new.
func (c *client) claudeKnows(t *testing.T) {
	t.Helper()
	settings := filepath.Join(c.Home, ".claude.json")
	known := map[string]any{}
	if err := json.Unmarshal(readFile(t, settings), &known); err != nil {
		t.Fatal(err)
	}
	known["hasCompletedOnboarding"], known["theme"] = true, "dark"
	known["bypassPermissionsModeAccepted"] = true
	known["customApiKeyResponses"] = map[string]any{"approved": []string{"test"}}
	known["projects"] = map[string]any{c.Project: map[string]any{"hasTrustDialogAccepted": true, "hasCompletedProjectOnboarding": true}}
	text, err := json.Marshal(known)
	if err != nil {
		t.Fatal(err)
	}
	putFile(t, settings, string(text))
}
