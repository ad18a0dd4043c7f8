//go:build interop

package interop

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/winnowhq/winnow/internal/llmtest"
)

// TestClaudeCode_rewindsAfterAFold: after `winnow compact --in-place` and two more turns the session
// is forked, and resumed at older answers: behind the fold, in its tail, and before it.
func TestClaudeCode_rewindsAfterAFold(t *testing.T) {
	w, a := newWorkshop(t, claudeAgent), claudeAgent(t)
	a.begins(t)
	path := a.sessionFile(t)
	w.inPlace(t, "compact", path)
	a.goes(t)
	remembers(t, a.asked(t, "ZEBRA"), true, 3, 4, 5, 6)
	whole := a.save(t)
	for _, c := range []struct {
		name    string
		at      int // the turn whose answer is the last that stays
		summary bool
		turns   []int
	}{
		{"whole", 6, true, []int{3, 4, 5, 6}},
		{"behind the fold", 5, true, []int{3, 4, 5}},
		{"at the end of the tail", 4, true, []int{3, 4}},
		{"in the tail", 3, true, []int{3}},
		{"before the fold, once that is undone", 1, false, []int{1}},
	} {
		for _, fork := range []bool{true, false} {
			name := c.name
			if fork {
				name += ", forked"
			}
			t.Run(name, func(t *testing.T) {
				putFile(t, path, string(whole))
				args := []string{"-p", "And now, OKAPI?", "--dangerously-skip-permissions",
					"--resume", strings.TrimSuffix(filepath.Base(path), ".jsonl")}
				if c.at < len(past) {
					args = append(args, "--resume-session-at", claudeAnswer(t, whole, c.at))
				}
				if fork {
					args = append(args, "--fork-session")
				}
				a.up.Forget()
				if c.at < 3 { // the product knows nothing of what was folded
					a.refused(t, args...)
					w.inPlace(t, "undo", path)
				}
				a.run(t, args...)
				asked := a.asked(t, "OKAPI")
				checkPairs(t, asked)
				remembers(t, asked, c.summary, c.turns...)
				now := path
				if fork {
					now = claudeFork(t, a.client, path)
					defer os.Remove(now)
				}
				text := readFile(t, now)
				if dir := os.Getenv("WINNOW_SICK"); dir != "" {
					putFile(t, filepath.Join(dir, strings.ReplaceAll(name, " ", "-")), string(text))
				}
				w.reads(t, a, text, asked)
				w.again(t, a, now, c.summary, c.turns...)
				putFile(t, now, string(text))
				if !c.summary {
					return
				}
				if fork { // it has nothing of what was folded
					w.refuses(t, "undo", now)
					return
				}
				w.inPlace(t, "undo", now)
				w.goesBack(t, a, now, "And last, GNU?", false, []int{1, 2, 3, 4, 5, 6}[:c.at]...)
			})
		}
	}
}

// again has the product go on with a session that was rewound, as it is and folded in place.
func (w *workshop) again(t *testing.T, a *agent, path string, summary bool, turns ...int) {
	t.Helper()
	w.goesBack(t, a, path, "And then, LEMUR?", summary, turns...)
	w.inPlace(t, "compact", path)
	text := readFile(t, path)
	a.agreesOnPast(t, visible(readAny(t, text), a.cleared), claudeResumes(t, a, path, "And now again, LYNX?"))
}

// goesBack has the product go on with a session, and checks that winnow reads the same, with these
// turns of the past.
func (w *workshop) goesBack(t *testing.T, a *agent, path, prompt string, summary bool, turns ...int) {
	t.Helper()
	text := readFile(t, path)
	asked := claudeResumes(t, a, path, prompt)
	a.agreesOnPast(t, visible(readAny(t, text), a.cleared), asked)
	remembers(t, asked, summary, turns...)
}

func claudeResumes(t *testing.T, a *agent, path, prompt string) llmtest.Request {
	t.Helper()
	a.up.Forget()
	a.run(t, "-p", prompt, "--dangerously-skip-permissions",
		"--resume", strings.TrimSuffix(filepath.Base(path), ".jsonl"))
	asked := a.asked(t, prompt)
	checkPairs(t, asked)
	return asked
}

// claudeAnswer is the uuid of the answer that ends a turn of the past.
func claudeAnswer(t *testing.T, text []byte, turn int) string {
	t.Helper()
	var answers []string
	for line := range bytes.Lines(text) {
		var e struct{ Type, UUID string }
		err := json.Unmarshal(line, &e, json.MatchCaseInsensitiveNames(true))
		if err == nil && e.Type == "assistant" && bytes.Contains(line, []byte("The job is done.")) {
			answers = append(answers, e.UUID)
		}
	}
	at := len(answers) - 1 - len(past) + turn
	if at < 0 {
		t.Fatalf("the file has %d answers", len(answers))
	}
	return answers[at]
}

// claudeFork is the only session of the product beside another one.
func claudeFork(t *testing.T, c *client, than string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(filepath.Dir(than), "*.jsonl"))
	files = slices.DeleteFunc(files, func(f string) bool { return f == than })
	if err != nil || len(files) != 1 {
		t.Fatalf("forks: %q, %v; want one", files, err)
	}
	return files[0]
}
