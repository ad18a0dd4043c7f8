//go:build interop

package interop

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/winnowhq/winnow/session"
)

// seated is an agent with winnow installed in it.
type seated struct {
	*agent
	winnow string
}

func newSeated(t *testing.T, start func(*testing.T) *agent, product string, flags ...string) *seated {
	t.Helper()
	s := &seated{agent: start(t), winnow: buildWinnow(t, t.TempDir())}
	s.tell(t, append([]string{"install", product}, flags...)...)
	return s
}

// tell runs a command of winnow as the agent's user, and gives what it prints.
func (s *seated) tell(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.Command(s.winnow, args...)
	cmd.Dir, cmd.Env = s.Project, []string{"HOME=" + s.Home, "PATH=" + filepath.Dir(s.bin)}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("winnow %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

func TestPi_seatFirst(t *testing.T) {
	s := newSeated(t, piAgent, "pi")
	t.Log(s.job(t) != nil)
	t.Log(s.tell(t, "list"))
	s.usage = &session.Usage{Input: 199_000, Output: 20}
	s.say(t, "Go on, slowly.")
	s.up.Forget()
	s.say(t, "And now, OKAPI?")
	t.Log(fmt.Sprint(len(s.asked(t, "OKAPI").Body)))
	t.Logf("%.6000s", s.asked(t, "OKAPI").Body)
	t.Log(s.tell(t, "explain", "latest"))
}

// openCodeOffline is OpenCode that finds the package that plugins may import installed: it fetches it
// otherwise, and waits for that at every start.
func openCodeOffline(t *testing.T) *agent {
	a := openCodeAgent(t)
	const lock = `{"dependencies":{"@opencode-ai/plugin":"*"},"packages":{"":{"dependencies":{"@opencode-ai/plugin":"*"}}}}`
	dir := filepath.Join(a.Home, ".config", "opencode")
	if err := os.MkdirAll(filepath.Join(dir, "node_modules"), 0o755); err != nil {
		t.Fatal(err)
	}
	putFile(t, filepath.Join(dir, "package.json"), lock)
	putFile(t, filepath.Join(dir, "package-lock.json"), lock)
	return a
}

func TestOpenCode_seatFirst(t *testing.T) {
	s := newSeated(t, openCodeOffline, "opencode")
	t.Log(s.job(t) != nil)
	t.Log(s.tell(t, "list"))
	s.agent.compact(t)
	s.up.Forget()
	t.Logf("%.3000s", regexp.MustCompile(`"type": "compaction"[^}]*}`).FindString(string(s.save(t))))
	s.say(t, "And now, OKAPI?")
	t.Log(fmt.Sprint(len(s.asked(t, "OKAPI").Body)), s.asked(t, "OKAPI").ToolNames())
	t.Logf("%.1500s", lastChat(t, s.up))
	t.Log(s.tell(t, "list"))
}
