//go:build interop

package interop

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// TestRescue_killedWithinACall: a product is killed while a command runs, so that its session ends
// with a call without a result. It answers that itself when it resumes: rescue finds nothing wrong.
func TestRescue_killedWithinACall(t *testing.T) {
	winnow := buildWinnow(t, t.TempDir())
	for name, start := range agents {
		if name == "opencode" {
			continue // its session is not a file
		}
		t.Run(name, func(t *testing.T) {
			tries(t, "rescue", "kill the product")
			a := start(t)
			a.work(t, "Read list.txt, please. CAPYBARA", "cat list.txt")
			die, runs := make(chan struct{}), filepath.Join(a.Project, "runs")
			a.die, a.queue = die, append(a.queue, a.shell("touch "+runs+"; sleep 30"))
			go func() {
				defer close(die)
				for late := time.Now().Add(2 * time.Minute); time.Now().Before(late); time.Sleep(100 * time.Millisecond) {
					if _, err := os.Stat(runs); err == nil {
						time.Sleep(time.Second) // so that the call is in the file
						return
					}
				}
			}()
			a.say(t, "Wait a while. NARWHAL")
			a.die = nil
			path := a.sessionFile(t)
			sick := readFile(t, path)
			open := 0
			for _, m := range readAny(t, sick).Session.Messages {
				for _, p := range m.Parts {
					if p.State != nil && !p.State.Final() {
						open++
					}
				}
			}
			if open != 1 {
				t.Errorf("%d calls have no result", open)
			}
			time.Sleep(2100 * time.Millisecond) // a file that was just written is refused
			cmd := exec.Command(winnow, "rescue", path)
			cmd.Dir, cmd.Env = a.Project, []string{"HOME=" + a.Home}
			out, _ := cmd.CombinedOutput()
			if code := cmd.ProcessState.ExitCode(); code != 5 || !bytes.Equal(sick, readFile(t, path)) {
				t.Errorf("rescue ends with %d: %s", code, out)
			}
			a.up.Forget()
			a.say(t, "And now, OKAPI?")
			a.asked(t, "OKAPI")
			a.paired(t)
		})
	}
}
