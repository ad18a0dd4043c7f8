//go:build interop

package interop

import (
	"fmt"
	"os/exec"
	"testing"
	"time"

	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/internal/llmtest"
	"github.com/winnowhq/winnow/rule"
	"github.com/winnowhq/winnow/session"
)

// boundModel accepts its reasoning only behind the exact prompt that it was made for.
const boundModel = "claude-opus-5-5"

// A session goes through the product and winnow in turns: what was compacted is undone after the
// product went on, and redone after it went on again. Thinking is sent only behind the prompt that
// it was made for.
func TestClaudeCode_undoAndRedoAfterMoreTurns(t *testing.T) {
	tries(t, "compact", "undo after more turns", "redo after more turns")
	turn := ""
	c := newClaude(t)
	c.up = provider(t, func(r llmtest.Request) llmtest.Reply {
		n := r.Results()
		if len(r.ToolNames()) > 0 && turn == "first" && n < 8 {
			return llmtest.Reply{Reasoning: fmt.Sprintf("wombat first %d", n), Text: fmt.Sprintf("Step %d.", n),
				Calls: []llmtest.Call{{ID: fmt.Sprintf("toolu_%04d", n), Name: "Bash", Arguments: fmt.Sprintf(
					`{"command":"for i in $(seq 1 400); do echo out''put-%d-line-$i; done","description":"list %d"}`, n, n)}}}
		}
		return llmtest.Reply{Reasoning: "wombat " + turn, Text: "Answer " + turn + "."}
	})
	c.Env = append(c.Env, "ANTHROPIC_BASE_URL="+c.up.URL)
	say := func(word string, args ...string) llmtest.Request {
		t.Helper()
		turn = word
		c.up.Forget()
		c.say(t, "Please "+word+"?", append([]string{"--model", boundModel}, args...)...)
		asked := c.conversation(t)
		checkPairs(t, asked)
		return asked
	}
	say("first")
	path := c.file(t)
	id := readClaude(t, path).Session.Info.ID
	dir := t.TempDir()
	winnow := buildWinnow(t, dir)
	change := func(op string) {
		t.Helper()
		time.Sleep(2100 * time.Millisecond) // a file that was just written is refused
		cmd := exec.Command(winnow, op, path, "--in-place")
		cmd.Dir, cmd.Env = dir, []string{"HOME=" + dir}
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("winnow %s: %v\n%s", op, err, out)
		}
		t.Logf("winnow %s: %s", op, out)
	}
	change("compact")
	asked := say("second", "--resume", id)
	checkContains(t, asked, true, "Made from the log without a model", "Please second?")
	checkContains(t, asked, false, "output-0-line-400", "wombat first 7")

	change("undo")
	asked = say("third", "--resume", id)
	checkContains(t, asked, true, "output-0-line-400", "wombat first 0", "wombat first 7", "Answer second.", "Please third?")
	checkContains(t, asked, false, "Made from the log without a model", "wombat second")

	change("redo")
	asked = say("fourth", "--resume", id)
	checkContains(t, asked, true, "Made from the log without a model", "wombat second", "Answer third.", "Please fourth?")
	checkContains(t, asked, false, "output-0-line-400", "wombat third", "wombat first 0")

	change("undo")
	asked = say("fifth", "--resume", id)
	checkContains(t, asked, true, "output-0-line-400", "wombat first 0", "wombat first 7", "Answer second.",
		"wombat third", "Answer fourth.", "Please fifth?")
	checkContains(t, asked, false, "Made from the log without a model", "wombat second", "wombat fourth")
}

// Of an answer that is reasoning alone, and is left out, the product sends nothing, as it sends
// nothing of it while it is there.
func TestClaudeCode_answersOfReasoningAlone(t *testing.T) {
	tries(t, "prune")
	c := newClaude(t)
	c.up = provider(t, func(r llmtest.Request) llmtest.Reply {
		if r.Contains("Please think") && !r.Contains("And now?") {
			return llmtest.Reply{Reasoning: "a wombat of a thought"}
		}
		return llmtest.Reply{Text: "The job is done."}
	})
	c.Env = append(c.Env, "ANTHROPIC_BASE_URL="+c.up.URL)
	c.say(t, "Please think.", "--model", boundModel)
	path := c.file(t)
	doc := readClaude(t, path)
	var elisions []rule.Elision
	for _, m := range doc.Session.Messages {
		for _, p := range m.Parts {
			if p.Type == session.ReasoningPart {
				elisions = append(elisions, rule.Elision{Part: p.ID, Message: m.ID, Field: rule.Text, Rule: "test"})
			}
		}
	}
	if len(elisions) == 0 {
		t.Fatal("the product keeps nothing of an answer that is reasoning alone")
	}
	writeClaude(t, path, doc, format.Change{Session: doc.Session, Ledger: rule.NewLedger(elisions...)})
	c.up.Forget()
	c.say(t, "And now?", "--resume", doc.Session.Info.ID, "--model", boundModel)
	sent := c.conversation(t)
	checkPairs(t, sent)
	checkContains(t, sent, true, "Please think.", "And now?")
	checkContains(t, sent, false, "wombat", "(no content)")
}
