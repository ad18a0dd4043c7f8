package command

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/winnowhq/winnow/cmd/internal/cli"
	"github.com/winnowhq/winnow/internal/llmtest"
)

// needs skips a test where a program is missing.
func needs(t *testing.T, programs ...string) {
	t.Helper()
	for _, program := range programs {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("there is no %s on this computer", program)
		}
	}
}

// hook puts a hook that is a text for sh into the settings of the environment, and those of it that
// it needs itself.
func (d *desk) hook(name, text string) {
	command, _ := json.Marshal([]string{"sh", "-c", text}) // texts always marshal
	variable := "WINNOW_HOOKS_" + strings.ToUpper(strings.ReplaceAll(name, ".", "_"))
	d.env = append(slices.DeleteFunc(d.env, func(pair string) bool { return strings.HasPrefix(pair, variable+"=") }),
		variable+"="+string(command), "PATH="+os.Getenv("PATH"))
}

// exampleHook is the path of a script in examples/hooks.
func exampleHook(t *testing.T, name string) string {
	t.Helper()
	file, err := filepath.Abs(filepath.Join("..", "..", "..", "examples", "hooks", name))
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// docs/hooks.md shows one of the scripts that are tested here, and names the other.
func TestHooks_theExamplesAreThoseOfTheDocumentation(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "hooks.md"))
	if err != nil {
		t.Fatal(err)
	}
	script, err := os.ReadFile(exampleHook(t, "branch.sh"))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), "\n"+string(script)+"```\n") {
		t.Error("docs/hooks.md does not show branch.sh as it is")
	}
	if !strings.Contains(string(text), "](../examples/hooks/journal.py)") {
		t.Error("docs/hooks.md does not name journal.py")
	}
}

func TestHooks_theShellExampleTellsTheBranch(t *testing.T) {
	needs(t, "sh", "git")
	p := &provider{}
	d, file := asks(t, p)
	git := func(args ...string) {
		t.Helper()
		cmd := exec.Command("git", args...)
		cmd.Dir, cmd.Env = d.dir, append(d.env, "PATH="+os.Getenv("PATH"), "GIT_CONFIG_NOSYSTEM=1")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v: %s", args, err, out)
		}
	}
	d.env = append(d.env, "PATH="+os.Getenv("PATH"), fmt.Sprintf(`WINNOW_HOOKS_SESSION_COMPACTING=[%q]`, exampleHook(t, "branch.sh")), "GIT_CEILING_DIRECTORIES="+filepath.Dir(d.dir))
	compact := func(args ...string) outcome {
		return d.run(append([]string{"compact", file, "--json", "--summarizer", "llm", "--model", "openai/gpt-5", "-o", "out.jsonl", "--force"}, args...)...)
	}
	asked := func() string {
		t.Helper()
		messages := p.asked[len(p.asked)-1].Messages
		last := messages[len(messages)-1]
		return last.Parts[len(last.Parts)-1].Text
	}
	o := compact()
	o.wants(t, cli.ExitDone)
	if said := asked(); strings.Contains(said, "branch") || o.stderr != "" {
		t.Errorf("outside of a repository it says something: %s; %q", o.stderr, said)
	}
	git("init", "-q", "-b", `lamp/"oil"`)
	compact().wants(t, cli.ExitDone)
	if said := asked(); !strings.Contains(said, "The branch is lamp/\"oil\".\nFiles that are not committed: 2.") {
		t.Errorf("the instruction is %q", said)
	}
	d.put(".git/MERGE_HEAD", nil)
	compact().wants(t, cli.ExitDone)
	requests := len(p.asked)
	o = compact("--continue") // as an agent's loop does
	o.wants(t, cli.ExitFailed, "a hook cancelled it: a merge is not finished")
	if len(p.asked) != requests {
		t.Error("it was cancelled, and a model was asked")
	}
}

func TestHooks_thePythonExampleKeepsAJournal(t *testing.T) {
	needs(t, "python3")
	p := &provider{}
	d, file := asks(t, p)
	d.put("NOTES.md", []byte("The tide is \"out\".\n\nZwölf Stufen.\n"))
	script := exampleHook(t, "journal.py")
	d.put("own.jsonc", fmt.Appendf(nil, `{"hooks": {"session.compacting": ["python3", %[1]q], "session.compacted": ["python3", %[1]q], "elision.committed": ["python3", %[1]q]}}`, script))
	d.env = append(d.env, "PATH="+os.Getenv("PATH"))
	doc := folded(t, d.run("compact", file, "--json", "--summarizer", "llm", "--model", "openai/gpt-5", "--config", filepath.Join(d.dir, "own.jsonc")))
	messages := p.asked[0].Messages
	last := messages[len(messages)-1]
	if said := last.Parts[len(last.Parts)-1].Text; !strings.Contains(said, "Keep these notes of the user:\nThe tide is \"out\".\nZwölf Stufen.") {
		t.Errorf("the instruction is %q", said)
	}
	claude := d.take("claude.jsonl")
	d.run("prune", claude, "--config", filepath.Join(d.dir, "own.jsonc")).wants(t, cli.ExitDone)
	want := fmt.Sprintf("%s compacted: %d to %d tokens, by openai/gpt-5\n", doc.Receipt.SessionID, doc.TokensBefore, doc.TokensAfter)
	if got := string(d.read("journal.log")); !strings.HasPrefix(got, want) || !strings.Contains(got, "pruned: 5 parts, 3649 tokens saved\n") {
		t.Errorf("the journal is %q, want %q in it", got, want)
	}
}

func TestHooks_cancelWithTheirReason(t *testing.T) {
	needs(t, "sh")
	d := newDesk(t)
	file := d.take("claude.jsonl")
	d.hook("session.compacting", `echo '{"cancel": true, "reason": "the tests are red"}'`)
	d.hook("session.compacted", "touch compacted")
	d.run("compact", file).wants(t, cli.ExitFailed, "a hook cancelled it: the tests are red")
	if names := d.names(); len(names) != 1 {
		t.Errorf("it left %v", names)
	}
}

func TestHooks_giveTheSummary(t *testing.T) {
	needs(t, "sh")
	d := newDesk(t)
	file := d.take("claude.jsonl")
	d.hook("session.compacting", `printf '%s' '{"result": "## Goal\n\nMend the lamp."}'`)
	doc := folded(t, d.run("compact", file, "--json"))
	if doc.Summary != "## Goal\n\nMend the lamp." || doc.Receipt.Summarizer != "hook" {
		t.Errorf("written by %s: %q", doc.Receipt.Summarizer, doc.Summary)
	}
	d.hook("session.compacting", `echo '{"continue": false}'`)
	d.run("compact", file, "--continue", "-o", "silent.jsonl").wants(t, cli.ExitDone)
	d.hook("session.compacting", `true`)
	d.run("compact", file, "--continue", "-o", "going.jsonl").wants(t, cli.ExitDone)
	const goesOn = "Continue if you have next steps"
	if strings.Contains(string(d.read("silent.jsonl")), goesOn) || !strings.Contains(string(d.read("going.jsonl")), goesOn) {
		t.Error("continue: false does not keep the message away, or nothing else lets it come")
	}
}

// A hook that fails changes nothing: the command says so in a line and does what it does without.
func TestHooks_failOpen(t *testing.T) {
	needs(t, "sh")
	d := newDesk(t)
	file := d.take("claude.jsonl")
	plain := d.run("compact", file, "-o", "plain.jsonl")
	plain.wants(t, cli.ExitDone)
	d.env = append(d.env, "WINNOW_HOOKS_TIMEOUT=1")
	for name, c := range map[string]struct{ hook, does, told string }{
		"exit code": {"session.compacting", `echo "no such branch" >&2; exit 3`, "exit code 3: no such branch"},
		"not JSON":  {"session.compacting", `echo done`, "not the JSON object"},
		"too slow":  {"session.compacting", `sleep 60`, "it took longer than 1s"},
		"after it":  {"session.compacted", `exit 9`, "exit code 9"},
	} {
		t.Run(name, func(t *testing.T) {
			d := *d
			d.env = slices.Clone(d.env)
			d.hook(c.hook, c.does)
			o := d.run("compact", file, "-o", "hooked.jsonl", "--force")
			o.wants(t, cli.ExitDone, "the hook "+c.hook+" failed", c.told)
			if n := strings.Count(o.stderr, "\n"); n != 1 {
				t.Errorf("it is said in %d lines: %s", n, o.stderr)
			}
			if len(d.read("hooked.jsonl")) != len(d.read("plain.jsonl")) {
				t.Error("the session is another one than without the hook")
			}
		})
	}
}

// A repository that somebody cloned runs nothing on their computer.
func TestHooks_ofAProjectAreNotRun(t *testing.T) {
	needs(t, "sh")
	d := newDesk(t)
	file := d.take("claude.jsonl")
	d.put("winnow.jsonc", []byte(`{"hooks": {"session.compacting": ["sh", "-c", "touch owned"], "session.compacted": ["./evil.sh"], "elision.committed": ["sh", "-c", "touch owned"], "timeout": 20}}`))
	d.put("evil.sh", []byte("#!/bin/sh\ntouch owned\n"))
	if err := os.Chmod(filepath.Join(d.dir, "evil.sh"), 0o755); err != nil {
		t.Fatal(err)
	}
	d.env = append(d.env, "PATH="+os.Getenv("PATH"))
	d.run("compact", file, "--force").wants(t, cli.ExitDone, "ignored in winnow.jsonc, which may be anybody's: hooks.session.compacting (line 1)", "--config winnow.jsonc")
	d.run("prune", file, "--force").wants(t, cli.ExitDone)
	o := d.run("config")
	o.wants(t, cli.ExitDone)
	if !strings.Contains(o.stdout, "hooks.session.compacted is ignored at winnow.jsonc:1:") || !strings.Contains(o.stdout, "a command that would run on your computer") {
		t.Errorf("config does not say why: %s", o.stdout)
	}
	d.run("config", "set", "hooks.session.compacted", "x", "--project").wants(t, cli.ExitUsage, "a command that would run on your computer")
	if slices.Contains(d.names(), "owned") {
		t.Fatal("a command of the project's file was run")
	}
	d.run("compact", file, "--force", "--config", filepath.Join(d.dir, "winnow.jsonc")).wants(t, cli.ExitDone)
	if !slices.Contains(d.names(), "owned") {
		t.Error("the file was named, and its hooks are not run")
	}
}

// In a dry run the hook has its say, is told so, and nothing that did not happen is told.
func TestHooks_inADryRun(t *testing.T) {
	needs(t, "sh")
	d := newDesk(t)
	file := d.take("claude.jsonl")
	for _, name := range []string{"session.compacted", "elision.committed"} {
		d.hook(name, "touch happened")
	}
	d.hook("session.compacting", "cat > asked.json")
	d.run("compact", file, "--dry-run").wants(t, cli.ExitDone)
	if got := string(d.read("asked.json")); !strings.Contains(got, `"dryRun":true`) {
		t.Errorf("it is told %s", got)
	}
	id := d.stored(file)
	d.run("compact", id, "--dry-run").wants(t, cli.ExitDone)
	d.run("prune", id, "--dry-run").wants(t, cli.ExitDone)
	d.run("prune", file, "--dry-run").wants(t, cli.ExitDone)
	d.run("compact", file, "-o", "no/such/folder.jsonl").wants(t, cli.ExitFailed)
	if slices.Contains(d.names(), "happened") {
		t.Error("something was told that did not happen")
	}
	d.run("prune", id).wants(t, cli.ExitDone)
	if !slices.Contains(d.names(), "happened") {
		t.Error("what happened was not told")
	}
}

// A command that is interrupted takes its hook with it, and writes nothing.
func TestHooks_endWithTheCommand(t *testing.T) {
	needs(t, "sh")
	d := newDesk(t)
	file := d.take("claude.jsonl")
	d.hook("session.compacting", "sleep 300 & echo $! > pid.part; mv pid.part pid; wait")
	d.env = append(d.env, "WINNOW_HOOKS_TIMEOUT=300")
	cmd := d.command("compact", file)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var pid int
	for pid == 0 {
		if text, err := os.ReadFile(filepath.Join(d.dir, "pid")); err == nil {
			pid, _ = strconv.Atoi(strings.TrimSpace(string(text)))
		}
		time.Sleep(5 * time.Millisecond)
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	wantExit(t, cmd, cli.ExitInterrupted)
	child, err := os.FindProcess(pid)
	if err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(endurance); child.Signal(syscall.Signal(0)) == nil; time.Sleep(5 * time.Millisecond) {
		if stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)); strings.Contains(string(stat), ") Z ") {
			break // nobody asked how it ended
		}
		if time.Now().After(deadline) {
			t.Fatal("what the hook started is still there")
		}
	}
	if slices.Contains(d.names(), "claude.compacted.jsonl") {
		t.Error("a file was written")
	}
}

// A winnow that a hook runs runs none itself.
func TestHooks_areNotRunByAHook(t *testing.T) {
	needs(t, "sh")
	d := newDesk(t)
	file := d.take("claude.jsonl")
	d.hook("elision.committed", `printf %s "$WINNOW_HOOK" >> run`)
	d.run("prune", file).wants(t, cli.ExitDone)
	d.env = append(d.env, "WINNOW_HOOK=elision.committed")
	d.run("prune", file, "--force").wants(t, cli.ExitDone)
	if got := string(d.read("run")); got != "elision.committed" {
		t.Errorf("hooks that were run: %q", got)
	}
}

// reading is a desk at which a model reads eight files, more than fits.
func reading(t *testing.T) *desk {
	t.Helper()
	d, _ := agentDesk(t, func(r llmtest.Request) llmtest.Reply {
		if r.Number <= 8 {
			return calling("read", fmt.Sprintf(`{"filePath":"lamp%d.txt"}`, r.Number))
		}
		return llmtest.Reply{Text: "Done."}
	})
	for i := range 8 {
		d.put(fmt.Sprintf("lamp%d.txt", i+1), []byte(strings.Repeat(fmt.Sprintf("a line of the lamp %d\n", i), 400)))
	}
	d.env = append(d.env, "WINNOW_COMPACTION_THRESHOLD=9000", "WINNOW_COMPACTION_SUMMARIZER=offline", "WINNOW_COMPACTION_PRUNE=false")
	return d
}

// An agent's loop runs them too; what fails is an event among the others.
func TestHooks_whileAnAgentWorks(t *testing.T) {
	needs(t, "sh")
	d := reading(t)
	d.hook("session.compacting", "cat > asked.json; echo trouble >&2; exit 1")
	d.hook("session.compacted", "cat >> told.json")
	o := d.run("run", "read the lamps", "--json")
	o.wants(t, cli.ExitDone)
	var notices []string
	compacted := 0
	for _, one := range o.lines(t) {
		switch one["type"] {
		case "notice":
			notices = append(notices, fmt.Sprint(one["text"]))
		case "session.compacted":
			compacted++
		}
	}
	if compacted == 0 {
		t.Fatalf("nothing was folded: %s", o.stderr)
	}
	if len(notices) == 0 || !strings.Contains(notices[0], "the hook session.compacting failed") || !strings.Contains(notices[0], "trouble") {
		t.Errorf("notices are %q", notices)
	}
	if got := strings.Count(string(d.read("told.json")), `"hook":"session.compacted"`); got != compacted {
		t.Errorf("%d compactions were told, want %d", got, compacted)
	}
	if got := string(d.read("asked.json")); !strings.Contains(got, `"trigger":"auto"`) || !strings.Contains(got, `"directory":"`+d.dir+`"`) {
		t.Errorf("it is told %s", got)
	}
}

func TestHooks_mayEndAnAgentsWork(t *testing.T) {
	needs(t, "sh")
	d := reading(t)
	d.hook("session.compacting", `echo '{"cancel": true, "reason": "the tests are red"}'`)
	d.run("run", "read the lamps").wants(t, cli.ExitFailed, "a hook cancelled it: the tests are red", "continue with: winnow run --session ")
	d.hook("session.compacting", `true`)
	d.run("run", "--continue").wants(t, cli.ExitDone, "~ compacted")
}

// In the chat a hook that fails is a line of the transcript; one that cancels is why nothing was folded.
func TestHooks_inTheChat(t *testing.T) {
	needs(t, "sh")
	for _, c := range []struct{ does, shown string }{
		{`echo "no such branch" >&2; exit 3`, "no such branch"},
		{`echo '{"cancel": true, "reason": "the tests are red"}'`, "the tests are red"},
	} {
		t.Run(c.shown, func(t *testing.T) {
			d, _ := agentDesk(t, llmtest.Sequence(calling("bash", `{"command":"cat lamp.txt"}`), llmtest.Reply{Text: "It is read."}, llmtest.Reply{Text: "It is lit."}))
			d.hook("session.compacting", c.does)
			x := openTerminal(t, 140, 40, d.env, "chat")
			lines := strings.Repeat("a line of the lamp\n", 400)
			if err := os.WriteFile(filepath.Join(x.folder, "lamp.txt"), []byte(lines), 0o644); err != nil {
				t.Fatal(err)
			}
			x.shows("house/any")
			x.say("read the lamp")
			x.shows("It is read.")
			x.say("is it lit?")
			x.shows("It is lit.")
			x.say("/compact")
			x.shows("── What /compact would do ──", "a hook has a say when it is compacted")
			x.press("Enter")
			x.shows(c.shown)
		})
	}
}
