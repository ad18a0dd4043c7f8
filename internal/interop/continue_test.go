//go:build interop

package interop

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/winnowhq/winnow/session"
)

// agents are the products in which a session can go on, and whose session can go on elsewhere.
var agents = map[string]func(*testing.T) *agent{
	"claude": claudeAgent, "codex": codexAgent, "opencode": openCodeAgent, "pi": piAgent,
}

// TestContinue_everyPair: a session that one product made goes on in another one, whose first request
// has the words of the user, and each call with its result.
func TestContinue_everyPair(t *testing.T) {
	dir := t.TempDir()
	winnow := buildWinnow(t, dir)
	for from, begin := range agents {
		t.Run(from, func(t *testing.T) {
			file := filepath.Join(dir, from+"-session")
			putFile(t, file, string(begin(t).job(t)))
			for to, start := range agents {
				if to != from {
					t.Run("in "+to, func(t *testing.T) {
						tries(t, "continue in "+to)
						continueIn(t, winnow, file, to, start(t))
					})
				}
			}
		})
	}
}

// TestContinue_fromOthers: sessions of products in which nothing goes on.
func TestContinue_fromOthers(t *testing.T) {
	dir := t.TempDir()
	winnow := buildWinnow(t, dir)
	for from, begin := range map[string]func(*testing.T) *agent{
		"gemini": geminiReader, "qwen": qwenReader, "copilot": copilotReader, "cline": clineReader,
	} {
		t.Run(from, func(t *testing.T) {
			file := filepath.Join(dir, from+"-session")
			putFile(t, file, string(begin(t).job(t)))
			for to, start := range agents {
				t.Run("in "+to, func(t *testing.T) {
					tries(t, "continue in "+to)
					continueIn(t, winnow, file, to, start(t))
				})
			}
		})
	}
}

// continueIn has an agent go on with the session of a file, and looks at what it sends.
func continueIn(t *testing.T, winnow, file, product string, a *agent) {
	t.Helper()
	type handed struct {
		ID, Output, Resume string
		Added              int
	}
	give := func() (done handed) {
		cmd := exec.Command(winnow, "continue", file, "--in", product, "--json")
		cmd.Dir = a.Project
		cmd.Env = append([]string{"HOME=" + a.Home, "PATH=" + filepath.Dir(a.bin) + ":" + os.Getenv("PATH")}, a.Env...)
		var problems strings.Builder
		cmd.Stderr = &problems
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("winnow continue: %v\n%s", err, problems.String())
		}
		if problems.Len() > 0 {
			t.Logf("winnow continue says: %s", problems.String())
		}
		if err := json.Unmarshal(out, &done, json.MatchCaseInsensitiveNames(true)); err != nil {
			t.Fatal(err)
		}
		return done
	}
	done := give()
	if again := give(); again.ID != done.ID || again.Added != 0 {
		t.Errorf("once more: %+v", again)
	}
	var text []byte
	if product == "opencode" {
		text = []byte(a.run(t, "export", done.ID))
	} else {
		text = readFile(t, done.Output)
	}
	a.load(t, text)
	asked := a.goesOn(t, text)
	calls, want := 0, 0
	for _, m := range readAny(t, readFile(t, file)).Session.Messages {
		for _, p := range m.Parts {
			switch {
			case p.Type == session.ToolPart:
				want++
				if output := strings.TrimSpace(p.State.Output); output != "" && !asked.Contains(output[:min(40, len(output))]) {
					t.Errorf("the request lacks the result of %s: %.80q", p.Tool, output)
				}
			case p.Type == session.TextPart && m.Role == session.User && !p.Synthetic && !asked.Contains(p.Text):
				t.Errorf("the request lacks %q", p.Text)
			}
		}
	}
	for _, m := range asked.Messages {
		for _, p := range m.Parts {
			if p.Type == session.ToolPart {
				calls++
			}
		}
	}
	if calls != want {
		t.Errorf("the request has %d calls, the session %d", calls, want)
	}
	t.Logf("%s resumed it with %q: %d calls", product, done.Resume, calls)
}
