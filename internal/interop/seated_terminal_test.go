//go:build interop

package interop

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// In its terminal the product is compacted by winnow too, says in a line how full the window is, and
// resumes what it was left with.
func TestSeat_claudeInATerminal(t *testing.T) {
	tries(t, "seat")
	if _, err := exec.LookPath("tmux"); err != nil {
		t.Skip("tmux is not installed")
	}
	s := newSeated(t)
	putFile(t, filepath.Join(s.Project, "notes.txt"), strings.Repeat("What was done so far, line by line.\n", 120))
	o := s.open(t)
	s.chore(work("alpha", 40)...)
	o.say(t, "Do the first chore.")
	o.leave(t)

	s.claudeKnows(t)
	files, _ := filepath.Glob(filepath.Join(s.Home, ".claude/projects/*/*.jsonl"))
	id := strings.TrimSuffix(filepath.Base(files[0]), ".jsonl")
	socket := filepath.Join(t.TempDir(), "socket")
	tmux := func(args ...string) string {
		out, err := exec.Command("tmux", append([]string{"-S", socket, "-f", os.DevNull}, args...)...).CombinedOutput()
		if err != nil {
			t.Fatalf("tmux %q: %v: %s", args, err, out)
		}
		return string(out)
	}
	// What is on the screen is read again until the product has drawn it. It is in no file.
	wait := func(what string) string {
		for range 300 {
			if screen := tmux("capture-pane", "-p", "-t", "c"); strings.Contains(screen, what) {
				return screen
			}
			time.Sleep(100 * time.Millisecond)
		}
		t.Fatalf("%q does not come:\n%s", what, tmux("capture-pane", "-p", "-t", "c"))
		return ""
	}
	command := "cd " + s.Project + " && env -i HOME=" + s.Home + " PATH=" + filepath.Dir(s.bin) + ":" + os.Getenv("PATH") +
		" TERM=screen-256color " + strings.Join(s.Env, " ") + " " + s.bin + " --resume " + id + " 2>&1; echo ENDED; read x"
	tmux("new-session", "-d", "-s", "c", "-x", "120", "-y", "40", command)
	defer exec.Command("tmux", "-S", socket, "kill-server").Run()
	typed := func(text string) {
		tmux("send-keys", "-t", "c", "-l", text)
		time.Sleep(500 * time.Millisecond) // a paste is not a line that was typed
		tmux("send-keys", "-t", "c", "Enter")
	}
	wait("The job is done.")
	typed("/compact")
	wait("Compacted")
	typed("Go on, LIVE.")
	t.Log(wait("% full ·"))
	live := s.conversation(t)
	checkContains(t, live, true, "Go on, LIVE.", "Made from the log without a model")
	typed("/winnow:context")
	t.Log(wait("Could go, by rule")) // its beginning has left the screen
	typed("/exit")
	wait("ENDED")
	s.anchored(t)
	o = s.open(t, "-c")
	o.say(t, "Go on, RESUMED.")
	sameContext(t, "in the terminal", live, s.conversation(t))
	o.leave(t)
}
