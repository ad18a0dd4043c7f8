package command

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/cmd/internal/cli"
	"github.com/winnowhq/winnow/cmd/internal/source"
	"github.com/winnowhq/winnow/internal/llmtest"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store/sqlite"
)

// agentDesk is a desk with a provider on loopback, of which every request must be one that a
// provider takes.
func agentDesk(t *testing.T, answer llmtest.Answer) (*desk, *llmtest.Server) {
	t.Helper()
	upstream := llmtest.Start(t, llmtest.Script{Answer: answer})
	t.Cleanup(func() {
		for _, p := range upstream.Problems() {
			t.Error("the provider would refuse:", p)
		}
	})
	d := newDesk(t)
	providers, err := json.Marshal(map[string]any{"house": map[string]any{
		"protocol": "anthropic", "baseURL": upstream.BaseURL(llmtest.Anthropic), "headers": map[string]string{"x-api-key": "none"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	d.env = append(d.env, "WINNOW_PROVIDERS="+string(providers), "WINNOW_MODEL=house/any", "PATH="+os.Getenv("PATH"))
	return d, upstream
}

func calling(name, arguments string) llmtest.Reply {
	return llmtest.Reply{Calls: []llmtest.Call{{Name: name, Arguments: arguments}}}
}

// lines parses what run --json printed.
func (o outcome) lines(t *testing.T) (all []map[string]any) {
	t.Helper()
	for line := range strings.Lines(o.stdout) {
		var one map[string]any
		if err := json.Unmarshal([]byte(line), &one); err != nil {
			t.Fatalf("%q is no JSON: %v", line, err)
		}
		all = append(all, one)
	}
	if len(all) == 0 {
		t.Fatalf("nothing was printed; stderr: %s", o.stderr)
	}
	return all
}

func TestRun_worksInTheFolderAndPrintsTheAnswer(t *testing.T) {
	d, _ := agentDesk(t, llmtest.Sequence(calling("write", `{"filePath":"a.txt","content":"hello\n"}`), llmtest.Reply{Text: "It is written."}))
	o := d.run("run", "write", "hello into a.txt")
	o.wants(t, cli.ExitDone, "✓ write a.txt", "2 steps, cost unknown")
	if o.stdout != "It is written.\n" {
		t.Errorf("standard output is %q", o.stdout)
	}
	if got := string(d.read("a.txt")); got != "hello\n" {
		t.Errorf("a.txt holds %q", got)
	}
	if list := d.run("list"); !strings.Contains(list.stdout, "write hello into a.txt") {
		t.Errorf("the session is not in the store under its title: %s", list.stdout)
	}
}

func TestRun_jsonIsALineForEachEventAndTheOutcomeLast(t *testing.T) {
	d, _ := agentDesk(t, llmtest.Sequence(calling("read", `{"filePath":"a.txt"}`), llmtest.Reply{Text: "Two words."}))
	d.put("a.txt", []byte("two words\n"))
	o := d.run("run", "what is in a.txt?", "--json")
	o.wants(t, cli.ExitDone)
	lines := o.lines(t)
	seen := map[string]bool{}
	for _, one := range lines {
		seen[one["type"].(string)] = true
		if one["sessionID"] != lines[0]["sessionID"] {
			t.Errorf("a line of another session: %v", one)
		}
	}
	for _, want := range []string{"step.started", "delta", "answered", "call.started", "call.ended", "observed", "turn.ended", "usage.recorded", "message.appended"} {
		if !seen[want] {
			t.Errorf("there is no line %q", want)
		}
	}
	last := lines[len(lines)-1]
	usage, _ := last["usage"].(map[string]any)
	if last["type"] != "outcome" || last["outcome"] != "done" || last["text"] != "Two words." || last["steps"] != 2.0 || usage["output"] == 0.0 || last["model"] != "house/any" {
		t.Errorf("the last line is %v", last)
	}
}

// The lines of the loop and of the engine are one sequence, in the order in which things happened
// (S001, Events): an answer is appended before it is told of, its usage is recorded before what was
// done about it is, and a compaction is over before the next step begins. Under classic it begins
// after the step, which has queued it.
func TestRun_jsonTellsLoopAndEngineInOneOrder(t *testing.T) {
	for _, policy := range []string{"classic", "balanced"} {
		files := 0
		d, _ := agentDesk(t, func(r llmtest.Request) llmtest.Reply {
			if files++; files > 12 {
				return llmtest.Reply{Text: "All is read."}
			}
			return calling("read", fmt.Sprintf(`{"filePath":"%d.txt"}`, files))
		})
		for i := range 13 {
			d.put(fmt.Sprintf("%d.txt", i), []byte(strings.Repeat(fmt.Sprintf("lamp %d is lit\n", i), 300)))
		}
		d.env = append(d.env, "WINNOW_COMPACTION_THRESHOLD=8000", "WINNOW_COMPACTION_BACKGROUND=0",
			"WINNOW_COMPACTION_SUMMARIZER=offline", "WINNOW_COMPACTION_PRUNE=0", "WINNOW_POLICY="+policy)
		o := d.run("run", "read all files", "--json")
		o.wants(t, cli.ExitDone)
		appended := map[any]bool{}
		in := "" // the newest of the loop's events that frame a step
		folded, recorded := 0, false
		for i, one := range o.lines(t) {
			kind := one["type"].(string)
			wrong := func(why string) { t.Errorf("%s: line %d, %s: %s", policy, i+1, kind, why) }
			switch kind {
			case "message.appended":
				appended[one["message"]] = true
			case "usage.recorded":
				recorded = recorded || one["kind"] == "step" && in == "answered"
			case "step.started":
				recorded = false
			case "answered":
				if !appended[one["message"]] {
					wrong("the answer was not appended before")
				}
			case "observed":
				if !recorded {
					wrong("the step's usage was not recorded before")
				}
			case "compaction.started", "session.compacted":
				want := "answered" // the engine folds where it is told the usage
				if policy == "classic" {
					want = "observed"
				}
				if in != want {
					wrong("it came after " + in + ", want " + want)
				}
				if kind == "session.compacted" {
					folded++
				}
			}
			if kind == "step.started" || kind == "answered" || kind == "observed" {
				in = kind
			}
		}
		if folded < 2 {
			t.Errorf("%s: %d compactions: the test does not show what it is to show", policy, folded)
		}
	}
}

func TestRun_thePromptComesFromArgumentsAndStandardInput(t *testing.T) {
	for _, c := range []struct {
		name string
		args []string
		in   string
		want string
	}{
		{"arguments", []string{"fix", "the test"}, "unread", "fix the test"},
		{"standard input", nil, "fix it\n", "fix it"},
		{"both", []string{"explain this:", "-", "briefly"}, "a\nb\n", "explain this:\n\na\nb\n\nbriefly"},
	} {
		t.Run(c.name, func(t *testing.T) {
			d, upstream := agentDesk(t, nil)
			o := d.runWith(t.Context(), strings.NewReader(c.in), new(bytes.Buffer), append([]string{"run"}, c.args...)...)
			o.wants(t, cli.ExitDone)
			if got := upstream.Records()[0].Last(); got != c.want {
				t.Errorf("the model was asked %q, want %q", got, c.want)
			}
		})
	}
	d, upstream := agentDesk(t, nil)
	d.run("run").wants(t, cli.ExitUsage, "the prompt is empty")
	if n := len(upstream.Records()); n > 0 {
		t.Errorf("%d requests without a prompt", n)
	}
}

func TestRun_whatWouldBeAskedIsRefusedAndSaysHowToAllowIt(t *testing.T) {
	sequential(t)
	command := calling("bash", `{"command":"touch made"}`)
	answer := func() llmtest.Answer { return llmtest.Sequence(command, llmtest.Reply{Text: "Done."}) }
	d, upstream := agentDesk(t, answer())
	o := d.run("run", "make it")
	o.wants(t, cli.ExitDone, "✗ bash", `not permitted: run touch made; allow it with --allow "touch made"`)
	if !upstream.Records()[1].Contains("needs permission, and nobody is there to be asked") {
		t.Error("the model is not told why")
	}
	for name, c := range map[string]struct {
		args  []string
		rules string // of the user's file
		there string // of the project's
		made  bool
	}{
		"--allow":                   {args: []string{"--allow", "touch"}, made: true},
		"--allow of something else": {args: []string{"--allow", "rm"}},
		"--yes":                     {args: []string{"--yes"}, made: true},
		"the configuration":         {rules: `{"permissions": [{"action": "run", "target": "touch", "verdict": "allow"}]}`, made: true},
		"--yes against a denial":    {args: []string{"--yes"}, rules: `{"permissions": [{"action": "run", "target": "touch", "verdict": "deny"}]}`},
		"a project's denial":        {rules: `{"permissions": [{"action": "run", "verdict": "allow"}]}`, there: `{"permissions": [{"tool": "bash", "verdict": "deny"}]}`},
		"--allow over a denial":     {args: []string{"--allow", "touch"}, there: `{"permissions": [{"tool": "bash", "verdict": "deny"}]}`, made: true},
	} {
		t.Run(name, func(t *testing.T) {
			d, _ := agentDesk(t, answer())
			if c.rules != "" {
				dir := filepath.Join(filepath.Dir(d.dir), "home", ".config", "winnow")
				if err := os.MkdirAll(dir, 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(filepath.Join(dir, "winnow.jsonc"), []byte(c.rules), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if c.there != "" {
				d.put("winnow.jsonc", []byte(c.there))
			}
			o := d.run(append([]string{"run", "make it"}, c.args...)...)
			o.wants(t, cli.ExitDone)
			if _, err := os.Stat(filepath.Join(d.dir, "made")); (err == nil) != c.made {
				t.Errorf("the command ran: %v, want %v; stderr: %s", err == nil, c.made, o.stderr)
			}
		})
	}
}

func TestRun_goesOnWithASession(t *testing.T) {
	d, upstream := agentDesk(t, nil)
	d.put("AGENTS.md", []byte("Write in verse.\n"))
	first := d.run("run", "begin", "--json").lines(t)
	id := first[len(first)-1]["sessionID"].(string)
	d.put("AGENTS.md", []byte("Write in prose.\n"))
	d.run("run", "--continue", "go on").wants(t, cli.ExitDone)
	d.run("run", "--session", id[:len(id)-4], "and on").wants(t, cli.ExitDone)
	records := upstream.Records()
	if n := len(records); n != 3 || !records[2].Contains("begin") || !records[2].Contains("go on") {
		t.Fatalf("%d requests; the last one does not have the session", n)
	}
	for i, r := range records {
		if r.System != records[0].System {
			t.Errorf("request %d begins with another system prompt", i+1)
		}
	}
	if !strings.Contains(records[0].System, "Write in verse.") || !strings.Contains(records[0].System, d.dir) {
		t.Errorf("the system prompt lacks the folder or its instructions:\n%s", records[0].System)
	}
	d.run("run", "--session", id).wants(t, cli.ExitNothing, "is at its end")
	d.run("run", "--session", "ses_none", "x").wants(t, cli.ExitFailed, "neither a file nor a session")
	d.dir = t.TempDir()
	d.run("run", "--continue", "x").wants(t, cli.ExitNothing, "no session of")
}

func TestRun_endsWithACodeThatSaysWhy(t *testing.T) {
	call := calling("list", `{}`)
	d, _ := agentDesk(t, llmtest.Sequence(call, calling("list", `{"path":"."}`), llmtest.Reply{Text: "Done."}))
	o := d.run("run", "look", "--max-steps", "1")
	o.wants(t, cli.ExitPartly, "the steps that one run may make are used up", "continue with: winnow run --session ses_")
	d.run("run", "--continue").wants(t, cli.ExitDone)

	d, _ = agentDesk(t, llmtest.Text("x").FailsWhen(func(llmtest.Request) bool { return true }, llmtest.Unauthorized))
	o = d.run("run", "look", "--json")
	o.wants(t, cli.ExitFailed, "continue with: winnow run --session")
	last := o.lines(t)
	if end := last[len(last)-1]; end["outcome"] != "failed" || end["error"] == nil || end["resume"] == nil {
		t.Errorf("the last line is %v", end)
	}

	d.run("run", "x", "--model", "nobody/any").wants(t, cli.ExitUsage, `the provider`)
	d.env = d.env[:1]
	d.run("run", "x").wants(t, cli.ExitUsage, "no model is configured", "--demo")
	d.run("run", "x", "--dir", "nowhere").wants(t, cli.ExitUsage, "not a folder")
	d.run("run", "--session", "a", "--continue").wants(t, cli.ExitUsage, "cannot be combined")
	d.run("run", "--demo", "--continue").wants(t, cli.ExitUsage, "leave --session, --continue and --dir out")
}

func TestRun_interruptedItSaysHowToGoOn(t *testing.T) {
	hold := make(chan struct{})
	answered := 0
	d, upstream := agentDesk(t, func(llmtest.Request) llmtest.Reply {
		if answered++; answered == 2 {
			return llmtest.Reply{Text: "Later.", Hold: hold}
		}
		if answered == 1 {
			return calling("write", `{"filePath":"a.txt","content":"x"}`)
		}
		return llmtest.Reply{Text: "Finished."}
	})
	defer close(hold)
	cmd := d.command("run", "write a.txt", "--json")
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "the second request", func() bool { return len(upstream.Records()) == 2 })
	began := time.Now()
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	wantExit(t, cmd, cli.ExitInterrupted)
	if took := time.Since(began); took > 10*time.Second { // the answer never comes
		t.Errorf("it took %v to end", took)
	}
	o := outcome{stdout: stdout.String(), stderr: stderr.String()}
	lines := o.lines(t)
	last := lines[len(lines)-1]
	if last["outcome"] != "interrupted" || !strings.Contains(o.stderr, "continue with: winnow run --session ") {
		t.Fatalf("the last line is %v; stderr: %s", last, o.stderr)
	}
	d.run("run", "--session", last["sessionID"].(string)).wants(t, cli.ExitDone)
	if n := len(upstream.Records()); n != 3 {
		t.Errorf("%d requests, want 3: what was answered is not asked again", n)
	}
}

// waitFor polls until something is so.
func waitFor(t *testing.T, what string, so func() bool) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !so(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s did not come", what)
		}
	}
}

func TestRun_demoNeedsNothingAndLeavesNothing(t *testing.T) {
	if _, err := exec.LookPath("awk"); err != nil {
		t.Skip("the demo's project needs awk")
	}
	d := newDesk(t)
	d.env = []string{"HOME=" + filepath.Join(d.dir, "home"), "PATH=" + os.Getenv("PATH")}
	o := d.run("run", "--demo", "fix the test", "--json")
	o.wants(t, cli.ExitDone)
	lines := o.lines(t)
	last := lines[len(lines)-1]
	if cost, _ := last["cost"].(float64); last["outcome"] != "done" || cost <= 0 || !strings.Contains(last["text"].(string), "lamp.sh is repaired") {
		t.Errorf("the last line is %v", last)
	}
	if names := d.names(); len(names) > 0 {
		t.Errorf("it left %v", names)
	}
}

func TestChat_withoutATerminalPointsToRun(t *testing.T) {
	d := newDesk(t)
	d.run("chat", "--demo").wants(t, cli.ExitUsage, "chat needs a terminal", "winnow run")
	d.run("chat", "--json").wants(t, cli.ExitUsage, "winnow run --json")
}

func TestRun_nothingIsWrittenWhenTheContextHasEnded(t *testing.T) {
	d, upstream := agentDesk(t, nil)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	o := d.runWith(ctx, strings.NewReader(""), new(bytes.Buffer), "run", "x")
	o.wants(t, cli.ExitInterrupted)
	if n := len(upstream.Records()); n > 0 {
		t.Errorf("%d requests", n)
	}
}

// A fork is a session like any other; one that a call began is not what somebody wants to go on
// with.
func TestRun_goesOnWithAForkAndNotWithAChild(t *testing.T) {
	d, _ := agentDesk(t, nil)
	first := d.run("run", "begin", "--json").lines(t)
	id := first[len(first)-1]["sessionID"].(string)
	kept, err := sqlite.Open(t.Context(), sqlite.Config{Path: source.StoreAt(d.app())})
	if err != nil {
		t.Fatal(err)
	}
	e, err := winnow.Open(winnow.Config{Store: kept})
	if err != nil {
		t.Fatal(err)
	}
	s, _, err := e.Session(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	child, err := e.Create(t.Context(), session.Info{ParentID: id, Directory: s.Info.Directory})
	if err != nil {
		t.Fatal(err)
	}
	asked := []session.Message{{MessageInfo: session.MessageInfo{Role: session.Assistant}, Parts: []session.Part{{Type: session.ToolPart, Tool: "task", CallID: "c",
		State: &session.ToolState{Status: session.Completed, Input: []byte(`{}`), Output: "x", Metadata: []byte(`{"sessionId":"` + child + `"}`)}}}}}
	if err := e.Append(t.Context(), id, asked...); err != nil {
		t.Fatal(err)
	}
	fork, err := e.Fork(t.Context(), id, "")
	if err != nil {
		t.Fatal(err)
	}
	said := []session.Message{{MessageInfo: session.MessageInfo{Role: session.User}, Parts: []session.Part{{Type: session.TextPart, Text: "the child's"}}}}
	if err := e.Append(t.Context(), child, said...); err != nil { // it is the newest
		t.Fatal(err)
	}
	if err := errors.Join(e.Close(), kept.Close()); err != nil {
		t.Fatal(err)
	}
	last := d.run("run", "--continue", "go on", "--json").lines(t)
	if got := last[len(last)-1]["sessionID"]; got != fork {
		t.Errorf("it went on with %v, want the fork %s (first %s, child %s)", got, fork, id, child)
	}
}
