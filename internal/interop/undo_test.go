//go:build interop

package interop

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/format/codex"
	"github.com/winnowhq/winnow/internal/llmtest"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/session"
)

// boundModel accepts its reasoning only behind the exact prompt that it was made for.
const boundModel = "claude-opus-5-5"

// wombats is an upstream that thinks before each answer, and lists eight long outputs in the first
// turn. word is that of the turn.
func wombats(t *testing.T, word *string, tool, argument string) *llmtest.Server {
	return provider(t, func(r llmtest.Request) llmtest.Reply {
		n := r.Results()
		if len(r.ToolNames()) > 0 && *word == "first" && n < 8 {
			list := fmt.Sprintf("for i in $(seq 1 400); do echo out''put-%d-line-$i; done", n)
			return llmtest.Reply{Reasoning: fmt.Sprintf("wombat first %d", n), Text: fmt.Sprintf("Step %d.", n),
				Calls: []llmtest.Call{{ID: fmt.Sprintf("toolu_%04d", n), Name: tool,
					Arguments: fmt.Sprintf(`{%q:%q,"description":"list %d"}`, argument, list, n)}}}
		}
		return llmtest.Reply{Reasoning: "wombat " + *word, Text: "Answer " + *word + "."}
	})
}

// undoAndRedo takes a session through the product and winnow in turns: what was compacted is undone
// after the product went on, and redone after it went on again. Reasoning is sent only behind the
// prompt that it was made for. say plays a turn and returns its last request; file is the session.
func undoAndRedo(t *testing.T, say func(word string) llmtest.Request, file func() string) {
	tries(t, "compact", "undo after more turns", "redo after more turns")
	say("first")
	path, dir := file(), t.TempDir()
	winnow := buildWinnow(t, dir)
	change := func(op string) {
		t.Helper()
		time.Sleep(2100 * time.Millisecond) // a file that was just written is refused
		cmd := exec.Command(winnow, op, path, "--in-place")
		cmd.Dir, cmd.Env = dir, []string{"HOME=" + dir}
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("winnow %s: %v\n%s", op, err, out)
		} else if op != "compact" {
			t.Logf("winnow %s: %s", op, out)
		}
	}
	const summary, early = "Made from the log without a model", "output-0-line-400"
	change("compact")
	asked := say("second")
	checkContains(t, asked, true, summary, "Please second?")
	checkContains(t, asked, false, early, "wombat first 7")

	change("undo")
	asked = say("third")
	checkContains(t, asked, true, early, "wombat first 0", "wombat first 7", "Answer second.", "Please third?")
	checkContains(t, asked, false, summary, "wombat second")

	change("redo")
	asked = say("fourth")
	checkContains(t, asked, true, summary, "wombat second", "Answer third.", "Please fourth?")
	checkContains(t, asked, false, early, "wombat third", "wombat first 0")

	change("undo")
	asked = say("fifth")
	checkContains(t, asked, true, early, "wombat first 0", "wombat first 7", "Answer second.", "wombat third", "Answer fourth.",
		"Please fifth?")
	checkContains(t, asked, false, summary, "wombat second", "wombat fourth")
}

func TestClaudeCode_undoAndRedoAfterMoreTurns(t *testing.T) {
	c, turn, id := newClaude(t), "", ""
	c.up = wombats(t, &turn, "Bash", "command")
	c.Env = append(c.Env, "ANTHROPIC_BASE_URL="+c.up.URL)
	undoAndRedo(t, func(word string) llmtest.Request {
		turn = word
		c.up.Forget()
		args := []string{"--model", boundModel}
		if id != "" {
			args = append(args, "--resume", id)
		}
		c.say(t, "Please "+word+"?", args...)
		id = readClaude(t, c.file(t)).Session.Info.ID
		asked := c.conversation(t)
		checkPairs(t, asked)
		return asked
	}, func() string { return c.file(t) })
}

func TestCodex_undoAndRedoAfterMoreTurns(t *testing.T) {
	turn, thread := "", ""
	up := wombats(t, &turn, "exec_command", "cmd")
	c := newCodex(t, up, `model_reasoning_summary = "detailed"`+"\n"+`model_supports_reasoning_summaries = true`)
	file := func() string { path, _ := codexRollout(t, c); return path }
	undoAndRedo(t, func(word string) llmtest.Request {
		turn = word
		up.Forget()
		args := []string{"exec"}
		if thread != "" {
			args = append(args, "resume")
		}
		args = append(args, "--dangerously-bypass-approvals-and-sandbox", "--skip-git-repo-check", "-m", "gpt-5.6")
		if thread != "" {
			args = append(args, thread)
		}
		c.run(t, append(args, "Please "+word+"?")...)
		_, doc := codexRollout(t, c)
		thread = codex.ThreadID(doc.Session.Info.ID)
		requests := requestsTo(up)
		asked := requests[len(requests)-1]
		codexPaired(t, asked)
		return asked
	}, file)
}

func TestPi_undoAndRedoAfterMoreTurns(t *testing.T) {
	turn := ""
	up := wombats(t, &turn, "bash", "command")
	c := newPi(t, up, "anthropic-messages")
	config := filepath.Join(c.Home, ".pi", "agent", "models.json")
	models := strings.Replace(string(readFile(t, config)), `"id":"scripted"`, `"id":"`+boundModel+`","reasoning":true`, 1)
	putFile(t, config, models)
	file := filepath.Join(c.Home, "session.jsonl")
	undoAndRedo(t, func(word string) llmtest.Request {
		turn = word
		up.Forget()
		c.run(t, "--provider", "loopback", "--model", boundModel, "--session", file, "-p", "Please "+word+"?")
		requests := requestsTo(up)
		asked := requests[len(requests)-1]
		checkPairs(t, asked)
		return asked
	}, func() string { return file })
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
