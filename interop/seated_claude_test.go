//go:build interop

package interop

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/winnowhq/winnow/internal/llmtest"
	"github.com/winnowhq/winnow/wire"
)

// seated is Claude Code with winnow's plugin, installed as a user does.
type seated struct {
	*claude
	winnow string
}

func newSeated(t *testing.T, script ...string) *seated {
	t.Helper()
	s := &seated{newClaude(t, script...), filepath.Join(t.TempDir(), "winnow")}
	if version := s.run(t, "--version"); before(version, 2, 1, 287) {
		t.Skipf("%s has no hooks modules: they came with 2.1.287", version)
	}
	s.winnow = buildWinnow(t, filepath.Dir(s.winnow))
	s.ours(t, "install", "claude")
	return s
}

// ours runs winnow in the client's world, and returns what it printed.
func (s *seated) ours(t *testing.T, args ...string) string {
	t.Helper()
	command := exec.Command(s.winnow, args...)
	command.Dir = s.Project
	command.Env = []string{"HOME=" + s.Home, "PATH=" + filepath.Dir(s.bin) + ":" + os.Getenv("PATH")}
	out, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("winnow %q: %v\n%s", args, err, out)
	}
	return string(out)
}

// size is how many bytes the messages of a request have.
func size(r llmtest.Request) int { return len(wire.ValueOf(r.Body).Get("messages").Bytes()) }

func TestSeat_claude(t *testing.T) {
	s := newSeated(t, lines("alpha", 400), lines("beta", 300), lines("gamma", 200), "echo four", "echo five")
	s.say(t, "Please do the work, in steps.")
	s.say(t, "Say something more about it.", "-c")
	before := size(s.conversation(t))
	s.say(t, "/compact", "-c")
	s.say(t, "Go on, LIVE-ONE.", "-c")
	first := size(s.conversation(t))
	text := readFile(t, s.file(t))
	t.Logf("before %d, after %d; anchors: %v", before, first, bytes.Contains(text, []byte("preservedMessages")))
	fmt.Println(s.ours(t, "list"))
	fmt.Println(s.ours(t, "explain", "latest"))
	if os.Getenv("OUT") != "" {
		os.WriteFile(os.Getenv("OUT")+"/seated.jsonl", text, 0o644)
	}
}
