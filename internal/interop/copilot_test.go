//go:build interop

package interop

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/format/copilot"
	"github.com/winnowhq/winnow/internal/llmtest"
	"github.com/winnowhq/winnow/plan/view"
	"github.com/winnowhq/winnow/session"
)

// copilotClient is Copilot CLI with a provider of the user's own, which asks for the command that
// the prompt names.
type copilotClient struct {
	*client
	up     *llmtest.Server
	winnow string
}

func newCopilot(t *testing.T, script ...string) *copilotClient {
	t.Helper()
	c := &copilotClient{}
	c.up = provider(t, func(r llmtest.Request) llmtest.Reply {
		for i, command := range script {
			if len(r.ToolNames()) > 0 && strings.Contains(r.Last(), fmt.Sprintf("Run step %d.", i)) {
				return llmtest.Reply{Text: "I run it.", Calls: []llmtest.Call{{ID: fmt.Sprintf("call_%d", i), Name: "bash",
					Arguments: string(jsonOf(map[string]any{"command": command, "description": "a step"}))}}}
			}
		}
		return llmtest.Reply{Text: "That is done, says the upstream."}
	})
	c.client = newClient(t, "copilot", "COPILOT_OFFLINE=true", "COPILOT_PROVIDER_API_KEY=k", "COPILOT_AUTO_UPDATE=false",
		"COPILOT_PROVIDER_BASE_URL="+c.up.URL+"/v1", "COPILOT_MODEL=gpt-4.1")
	c.winnow = buildWinnow(t, t.TempDir())
	return c
}

// say has the product take a prompt, in its session if there is one.
func (c *copilotClient) say(t *testing.T, prompt string, env ...string) {
	t.Helper()
	args := []string{"-p", prompt, "--allow-all-tools", "--allow-all-paths"}
	if files, _ := filepath.Glob(c.path()); len(files) == 1 {
		args = append(args, "--resume="+filepath.Base(filepath.Dir(files[0])))
	}
	one := *c.client
	one.Env = append(one.Env[:len(one.Env):len(one.Env)], env...)
	one.run(t, args...)
}

func (c *copilotClient) path() string {
	return filepath.Join(c.Home, ".copilot", "session-state", "*", "events.jsonl")
}

// file is the session file that the product wrote.
func (c *copilotClient) file(t *testing.T) string {
	t.Helper()
	files, err := filepath.Glob(c.path())
	if err != nil || len(files) != 1 {
		t.Fatalf("session files: %q, %v; want one", files, err)
	}
	return files[0]
}

func (c *copilotClient) text(t *testing.T) []byte {
	t.Helper()
	text, err := os.ReadFile(c.file(t))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func (c *copilotClient) read(t *testing.T) *format.Document {
	t.Helper()
	doc, err := copilot.Format{}.Read(c.text(t))
	if err != nil {
		t.Fatal(err)
	}
	if len(doc.Damaged) > 0 {
		t.Fatalf("damage: %v", doc.Damaged)
	}
	return doc
}

// change runs winnow on the session's file.
func (c *copilotClient) change(t *testing.T, command string, args ...string) {
	t.Helper()
	cmd := exec.Command(c.winnow, append([]string{command, c.file(t), "--in-place", "--force"}, args...)...)
	cmd.Dir, cmd.Env = c.Project, []string{"HOME=" + c.Home, "PATH=" + os.Getenv("PATH")}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("winnow %s %q: %v\n%s", command, args, err, out)
	}
	first, _, _ := strings.Cut(string(out), "\n")
	t.Logf("winnow %s: %s", command, first)
}

// resumes has the product go on, and checks that it sends what the view had and the prompt.
func (c *copilotClient) resumes(t *testing.T, prompt string, has map[string]bool) {
	t.Helper()
	doc := c.read(t)
	shown := view.Render(view.Window(doc.Session.Messages, nil), doc.Ledger)
	c.up.Forget()
	c.say(t, prompt)
	var r llmtest.Request
	for _, r = range requestsTo(c.up) {
		if len(r.ToolNames()) > 0 {
			break
		}
	}
	for word, want := range has {
		checkContains(t, r, want, word)
	}
	if diff := cmp.Diff(clineCalls(shown), clineCalls(r.Messages)); diff != "" {
		t.Errorf("calls and what they gave (-view +request):\n%s", diff)
	}
	var said strings.Builder
	for i := range r.Messages {
		said.WriteString(r.Messages[i].Text() + "\n")
	}
	rest := said.String()
	for i := range shown {
		for _, p := range shown[i].Parts {
			text := strings.TrimSpace(p.Text)
			if p.Type != session.TextPart || text == "" {
				continue
			}
			_, after, ok := strings.Cut(rest, text)
			if !ok {
				t.Errorf("%q is in the view, and not in the request in its place", text)
				continue
			}
			rest = after
		}
	}
}

func (c *copilotClient) says(t *testing.T, want []byte, when string) {
	t.Helper()
	if got := c.text(t); !bytes.Equal(got, want) {
		t.Errorf("%s the file is not what it was:\n%.2000s", when, cmp.Diff(string(want), string(got)))
	}
}

func (c *copilotClient) begun(t *testing.T, steps int, env ...string) {
	t.Helper()
	for i := range steps {
		prompt := fmt.Sprintf("Run step %d.", i)
		if i == 0 {
			prompt += " Never touch the walrus."
		}
		c.say(t, prompt, env...)
	}
	if n := c.read(t).Counts.ToolResults; n != steps {
		t.Fatalf("the product ran %d commands, want %d", n, steps)
	}
}

func TestCopilot_resumesFromWhatWasWritten(t *testing.T) {
	tries(t, "compact", "prune", "restore", "undo at once", "undo after more turns", "second fold")
	const words = "seq 1 240 | sed 's/^/quagga line /'"
	c := newCopilot(t, words, words, "echo okapi", "seq 1 200 | sed 's/^/bongo line /'", "echo tapir")
	c.begun(t, 4)

	whole := c.text(t)
	c.change(t, "prune")
	pruned := c.text(t)
	c.change(t, "undo")
	c.says(t, whole, "undone at once,")
	putFile(t, c.file(t), string(pruned))
	if n := c.read(t).Ledger.Len(); n == 0 {
		t.Fatal("nothing was left out")
	}
	c.resumes(t, "And the narwhal?", map[string]bool{"walrus": true, "okapi": true, "[winnow": true})
	c.change(t, "restore", "call_0")
	c.resumes(t, "And the zebra?", map[string]bool{"[winnow": false})

	c.change(t, "compact")
	c.resumes(t, "Run step 4.", map[string]bool{"walrus": true, "Made from the log without a model": true})
	folded := c.text(t)
	c.change(t, "compact")
	c.change(t, "undo")
	c.says(t, folded, "undone at once,")
	c.change(t, "compact")
	c.resumes(t, "And the lemur?", map[string]bool{"walrus": true, "Made from the log without a model": true})
	c.change(t, "undo")
	c.resumes(t, "And the ibis?", map[string]bool{"tapir": true, "lemur": true})
	c.change(t, "undo")
	c.resumes(t, "And the gnu?", map[string]bool{"okapi": true, "lemur": true, "Made from the log": false})
}

func TestCopilot_itsOwnCompactionBeforeAndAfter(t *testing.T) {
	tries(t, "native compaction before", "native compaction after", "undo at once", "second fold")
	const small = "COPILOT_PROVIDER_MAX_PROMPT_TOKENS=16000"
	many := "seq 1 400 | sed 's/^/quagga line /'"
	c := newCopilot(t, many, many, many, many, many, many, many, many)
	c.begun(t, 4, small)
	theirs := len(c.read(t).Theirs)
	if theirs == 0 {
		t.Fatal("the product compacted nothing")
	}
	c.resumes(t, "And the narwhal?", nil)
	before := c.text(t)
	c.change(t, "compact")
	c.change(t, "undo")
	c.says(t, before, "undone at once,")
	c.change(t, "compact")
	c.resumes(t, "And the lemur?", map[string]bool{"Made from the log without a model": true})
	for i := 4; i < 8; i++ {
		c.say(t, fmt.Sprintf("Run step %d.", i), small)
	}
	if now := len(c.read(t).Theirs); now <= theirs {
		t.Fatalf("the product compacted nothing after we did: %d compactions, %d before", now, theirs)
	}
	c.resumes(t, "And the ibis?", nil)
}
