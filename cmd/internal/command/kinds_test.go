//go:build unix

package command

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/winnowhq/winnow/cmd/internal/cli"
)

// pipe makes a named pipe that nobody writes into: a program that opens it to read waits for ever.
func (d *desk) pipe(name string) string {
	d.t.Helper()
	path := filepath.Join(d.dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		d.t.Fatal(err)
	}
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		d.t.Skip(err)
	}
	return path
}

// ends runs a command that would wait for ever if it opened a pipe.
func (d *desk) ends(args ...string) outcome {
	d.t.Helper()
	ctx, cancel := context.WithTimeout(d.t.Context(), 20*time.Second)
	defer cancel()
	o := d.runWith(ctx, strings.NewReader(""), new(bytes.Buffer), args...)
	if ctx.Err() != nil {
		d.t.Fatalf("winnow %s did not end", strings.Join(args, " "))
	}
	return o
}

func TestSource_whatIsNoFileIsRefused(t *testing.T) {
	d := newDesk(t)
	d.pipe("pipe.jsonl")
	listener, err := net.Listen("unix", filepath.Join(d.dir, "socket.jsonl"))
	if err != nil {
		t.Skip(err)
	}
	defer listener.Close()
	for link, to := range map[string]string{"zero.jsonl": "/dev/zero", "to-pipe.jsonl": "pipe.jsonl"} {
		if err := os.Symlink(to, filepath.Join(d.dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]string{
		"pipe.jsonl": "a named pipe", "to-pipe.jsonl": "a named pipe", "socket.jsonl": "a socket", "zero.jsonl": "a device", "/dev/zero": "a device", "/dev/full": "a device",
	} {
		for _, args := range [][]string{
			{"inspect", name}, {"prune", name, "-n"}, {"compact", name}, {"compact", name, "--in-place"}, {"view", name}, {"import", name},
			{"explain", name}, {"replay", name}, {"pin", name, "--text", "x"},
		} {
			if o := d.ends(args...); o.code == cli.ExitDone || !strings.Contains(o.stderr, want) {
				t.Errorf("winnow %s: exit code %d, want that it is %s: %s", strings.Join(args, " "), o.code, want, o.stderr)
			}
		}
	}
	// Memory of a process is a file that cannot be read from its beginning.
	if o := d.ends("inspect", "/proc/self/mem"); o.code == cli.ExitDone || !strings.Contains(o.stderr, "/proc/self/mem") {
		t.Errorf("exit code %d: %s", o.code, o.stderr)
	}
}

// What the shell opened for the command is read, a pipe too: winnow inspect <(ssh host cat
// session.jsonl).
func TestSource_aPipeOfTheShellIsRead(t *testing.T) {
	d := newDesk(t)
	text := d.read(d.take("claude.jsonl"))
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	name := fmt.Sprintf("/dev/fd/%d", r.Fd())
	if _, err := os.Stat(name); err != nil {
		t.Skip(err)
	}
	go func() {
		w.Write(text)
		w.Close()
	}()
	d.ends("inspect", name).wants(t, cli.ExitDone)
}

// Folders of the products, and of a project, are searched without waiting for what is no file.
func TestFolders_withPipesInThem(t *testing.T) {
	d := newDesk(t)
	d.env = append(d.env, "XDG_CACHE_HOME="+filepath.Join(d.dir, "..", "cache"))
	home := filepath.Join("..", "home")
	for _, name := range []string{
		".claude/projects/-work/11111111-0000-4000-8000-000000000001.jsonl", ".codex/sessions/2026/01/01/rollout-2026-01-01T00-00-00-11111111-0000-4000-8000-000000000001.jsonl",
		".pi/agent/sessions/x/a.jsonl", ".gemini/projects.json", ".gemini/tmp/x/chats/session-a.json", ".gemini/tmp/x/.project_root", ".openhands/conversations/abc/base_state.json",
		".openhands/conversations/abc/events/event-00000-a.json", ".openhands/trajectory.json", ".local/share/opencode/opencode.db", ".local/share/opencode/storage/session/x/ses_1.json",
	} {
		d.pipe(filepath.Join(home, name))
	}
	d.ends("list", "--everywhere")
	d.ends("import", filepath.Join(d.dir, home, ".claude"))
	d.ends("inspect", filepath.Join(d.dir, home, ".codex"))
	d.ends("list", "--everywhere", "--quick", "--json")
	d.pipe("winnow.jsonc")
	if o := d.ends("config"); o.code != cli.ExitUsage || !strings.Contains(o.stderr, "it is not a plain file but a named pipe") {
		t.Errorf("exit code %d: %s", o.code, o.stderr)
	}
}
