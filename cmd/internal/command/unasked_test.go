//go:build unix

package command

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/winnowhq/winnow/cmd/internal/cli"
	"github.com/winnowhq/winnow/internal/llmtest"
)

// repository is a desk that is a working folder: files, a key, a link that leads out of it, git.
func repository(t *testing.T, answer llmtest.Answer) *desk {
	t.Helper()
	git, err := exec.LookPath("git")
	if err != nil {
		t.Skip("there is no git")
	}
	d, _ := agentDesk(t, answer)
	d.put("a.txt", []byte("lamp\n"))
	d.put(".env", []byte("PLANTED=1\n"))
	out := filepath.Join(d.dir, "..", "x")
	if err := os.WriteFile(out, []byte("outside\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(out, filepath.Join(d.dir, "link")); err != nil {
		t.Skip(err)
	}
	for _, args := range [][]string{{"init", "-q"}, {"add", "a.txt"}, {"-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "-q", "-m", "one"}} {
		cmd := exec.Command(git, args...)
		cmd.Dir, cmd.Env = d.dir, append(d.env, "GIT_CONFIG_NOSYSTEM=1")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %s: %v\n%s", args, err, out)
		}
	}
	return d
}

// bashes is a model that runs commands, one after the other.
func bashes(t *testing.T, commands ...string) llmtest.Answer {
	t.Helper()
	var replies []llmtest.Reply
	for _, command := range commands {
		arguments, err := json.Marshal(map[string]string{"command": command})
		if err != nil {
			t.Fatal(err)
		}
		replies = append(replies, calling("bash", string(arguments)))
	}
	return llmtest.Sequence(append(replies, llmtest.Reply{Text: "Done."})...)
}

func TestRun_whatOnlyLooksAtTheFolderRunsUnasked(t *testing.T) {
	looks := []string{"ls", "ls -la", "git status", "git log --oneline", "cat a.txt", "head -1 a.txt && pwd", "find . -name '*.txt'", "grep -n lamp a.txt"}
	d := repository(t, bashes(t, looks...))
	o := d.process("run", "look")
	o.wants(t, cli.ExitDone)
	if n := strings.Count(o.stderr, "✓ bash"); n != len(looks) || strings.Contains(o.stderr, "not permitted") {
		t.Errorf("%d of %d commands ran: %s", n, len(looks), o.stderr)
	}
}

func TestRun_whatOnlySeemsToLookIsRefused(t *testing.T) {
	sequential(t)
	for _, command := range []string{
		"cat .env", "cat ../x", "cat link", "head -c 9 < link", "cat *", "git log --output=x", "find . -delete", "git -c alias.x='!touch y' x", "ls; rm a.txt", "cat a.txt > x", "sort -o x a.txt",
		"git diff --no-index a.txt ../x", "echo $(touch y)", "ls | sh", "find . -exec touch y ';'",
	} {
		t.Run(command, func(t *testing.T) {
			t.Parallel()
			d := repository(t, bashes(t, command))
			before := d.names()
			o := d.process("run", "look")
			o.wants(t, cli.ExitDone, "✗ bash", "not permitted: ")
			if after := d.names(); strings.Join(after, " ") != strings.Join(before, " ") {
				t.Errorf("the folder has %v, had %v", after, before)
			}
			if strings.Contains(o.stdout+o.stderr, "PLANTED") || strings.Contains(o.stdout+o.stderr, "outside") {
				t.Errorf("it was shown: %s%s", o.stdout, o.stderr)
			}
		})
	}
}

// A command gets no provider's key, whichever way the program itself got it.
func TestRun_commandsDoNotInheritKeys(t *testing.T) {
	d := repository(t, bashes(t, "env > seen.txt"))
	d.configure(`{"providers": {"other": {"protocol": "openai-chat", "baseURL": "http://127.0.0.1:9", "keyEnv": "OTHER_KEY"}}}`)
	d.env = append(d.env, "ANTHROPIC_API_KEY=sk-planted-1", "OPENAI_API_KEY=sk-planted-2", "GEMINI_API_KEY=sk-planted-3", "OTHER_KEY=sk-planted-4", "LAMP=lit")
	d.process("run", "--yes", "look").wants(t, cli.ExitDone, "✓ bash")
	seen := string(d.read("seen.txt"))
	if !strings.Contains(seen, "LAMP=lit\n") {
		t.Errorf("it did not get the rest of the environment: %s", seen)
	}
	for _, key := range []string{"sk-planted", "x-api-key", "WINNOW_PROVIDERS"} {
		if strings.Contains(seen, key) {
			t.Errorf("it got %s: %s", key, seen)
		}
	}
}
