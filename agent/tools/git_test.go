//go:build unix

package tools

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/winnowhq/winnow/agent"
)

// cloned is a working folder with a commit in it and a program that leaves a file behind when anything runs it.
func cloned(t *testing.T) (b *bench, evil string) {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("there is no git")
	}
	for name, value := range map[string]string{"GIT_CONFIG_GLOBAL": os.DevNull, "GIT_CONFIG_NOSYSTEM": "1", "GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@example.com", "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@example.com"} {
		t.Setenv(name, value)
	}
	b = newBench(t, "a.txt", "one\n")
	evil = filepath.Join(t.TempDir(), "evil")
	if err := os.WriteFile(evil, []byte("#!/bin/sh\necho x >> '"+evil+".ran'\ncat\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	b.git(b.folder, "init", "-q")
	b.git(b.folder, "add", ".")
	b.git(b.folder, "commit", "-q", "-m", "one")
	b.put("a.txt", "two\n")
	return b, evil
}

func (b *bench) git(folder string, args ...string) {
	b.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = folder
	if out, err := cmd.CombinedOutput(); err != nil {
		b.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// unasked runs a command as an agent's without anybody to ask. It is false where the policy would have asked.
func (b *bench) unasked(p Policy, command string) bool {
	b.Helper()
	_, err := Bash{Policy: p}.Run(b.Context(), agent.Call{Directory: b.folder, Input: input(b, args{"command": command}), Ask: p.Asker(nil)})
	return err == nil
}

// A command of git that nobody was asked about runs no program that the repository names: it is kept from it, or it is asked about.
func TestBash_gitRunsNothingThatARepositoryNames(t *testing.T) {
	commands := []string{"git status", "git status --short && git log --oneline", "git log -p", "git diff", "git diff --stat", "git show", "git blame a.txt", "git branch -a", "git --no-pager diff HEAD"}
	for _, c := range []struct {
		name      string
		prepare   func(b *bench, evil string)
		prevented bool // by the environment: nobody needs to be asked
	}{
		{"nothing", func(*bench, string) {}, true},
		{"core.fsmonitor", func(b *bench, evil string) { b.git(b.folder, "config", "core.fsmonitor", evil) }, true},
		{"core.pager", func(b *bench, evil string) { b.git(b.folder, "config", "core.pager", evil) }, true},
		{"pager.log", func(b *bench, evil string) {
			b.git(b.folder, "config", "pager.log", evil)
			b.git(b.folder, "config", "pager.status", evil)
			b.git(b.folder, "config", "pager.diff", evil)
		}, true},
		{"core.hooksPath", func(b *bench, evil string) {
			hook, err := os.ReadFile(evil)
			if err != nil {
				b.Fatal(err)
			}
			for _, name := range []string{"post-index-change", "post-checkout", "pre-commit", "fsmonitor-watchman"} {
				b.put("hooks/"+name, string(hook))
				if err := os.Chmod(b.at("hooks/"+name), 0o755); err != nil {
					b.Fatal(err)
				}
			}
			b.git(b.folder, "config", "core.hooksPath", b.at("hooks"))
		}, true},
		{"an alias", func(b *bench, evil string) {
			b.git(b.folder, "config", "alias.status", "!"+evil)
			b.git(b.folder, "config", "alias.log", "!"+evil)
		}, false},
		{"diff.external", func(b *bench, evil string) { b.git(b.folder, "config", "diff.external", evil) }, false},
		{"a driver's command", func(b *bench, evil string) {
			b.git(b.folder, "config", "diff.x.command", evil)
			b.put(".gitattributes", "* diff=x\n")
		}, false},
		{"a driver's textconv", func(b *bench, evil string) {
			b.git(b.folder, "config", "diff.x.textconv", evil)
			b.put(".gitattributes", "* diff=x\n")
		}, false},
		{"a filter", func(b *bench, evil string) {
			b.git(b.folder, "config", "filter.x.clean", evil)
			b.git(b.folder, "config", "filter.x.process", evil)
			b.put(".gitattributes", "* filter=x\n")
		}, false},
		{"gpg.program", func(b *bench, evil string) {
			b.git(b.folder, "config", "log.showSignature", "true")
			b.git(b.folder, "config", "gpg.program", evil)
		}, false},
		{"settings that are included", func(b *bench, evil string) {
			b.put("more.conf", "[diff]\n\texternal = "+evil+"\n[core]\n\tfsmonitor = "+evil+"\n")
			b.git(b.folder, "config", "include.path", b.at("more.conf"))
		}, false},
		{"a repository in it", func(b *bench, evil string) {
			b.put("sub/b.txt", "b")
			b.git(b.at("sub"), "init", "-q")
			b.git(b.at("sub"), "add", ".")
			b.git(b.at("sub"), "commit", "-q", "-m", "b")
			b.git(b.folder, "-c", "advice.addEmbeddedRepo=false", "add", "sub")
			b.git(b.at("sub"), "config", "core.fsmonitor", evil)
			b.git(b.at("sub"), "config", "filter.x.clean", evil)
			b.put("sub/.gitattributes", "* filter=x\n")
			b.put("sub/b.txt", "c")
		}, false},
		{"a bare repository", func(b *bench, evil string) {
			if err := os.CopyFS(b.folder, os.DirFS(b.at(".git"))); err != nil {
				b.Fatal(err)
			}
			b.put("config", "[core]\n\tbare = false\n\tworktree = "+b.folder+"\n\tfsmonitor = "+evil+"\n[diff]\n\texternal = "+evil+"\n")
			if err := os.RemoveAll(b.at(".git")); err != nil {
				b.Fatal(err)
			}
		}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			b, evil := cloned(t)
			c.prepare(b, evil)
			os.Remove(evil + ".ran")
			for _, rules := range [][]Rule{nil, {{Action: "run", Target: "git", Verdict: Allow}}, {{Action: "run", Target: "git status", Verdict: Allow}, {Action: "run", Target: "git diff", Verdict: Allow}}} {
				p := Policy{Directory: b.folder, Rules: rules}
				for _, command := range commands {
					ran := b.unasked(p, command)
					if _, err := os.Stat(evil + ".ran"); err == nil {
						t.Fatalf("%s ran a program that the repository names, with the rules %+v", command, rules)
					}
					if c.prevented && !ran {
						t.Errorf("%s was asked about, with the rules %+v", command, rules)
					}
				}
			}
		})
	}
}

// The test above would show little if the programs did not run without all that.
func TestBash_gitRunsWhatARepositoryNamesWhenSomebodyAgreed(t *testing.T) {
	b, evil := cloned(t)
	b.git(b.folder, "config", "core.fsmonitor", evil)
	os.Remove(evil + ".ran")
	yes := func(context.Context, agent.Permission) error { return nil }
	p := Policy{Directory: b.folder, Rules: []Rule{{Action: "run", Verdict: Ask}}}
	if _, err := (Bash{Policy: p}).Run(t.Context(), agent.Call{Directory: b.folder, Input: input(b, args{"command": "git status"}), Ask: p.Asker(yes)}); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(evil + ".ran"); err != nil {
		t.Skip("this git runs no program for core.fsmonitor")
	}
}

// Commands get no keys of providers, but for those that a rule passes on.
func TestBash_commandsGetNoKeys(t *testing.T) {
	for _, name := range []string{"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "OPENAI_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY", "HOUSE_KEY", "OTHER_KEY"} {
		t.Setenv(name, "secret")
	}
	for _, c := range []struct {
		rules []Rule
		want  string
	}{
		{nil, "OTHER_KEY=secret\n"},
		{[]Rule{{Verdict: Allow}}, "OTHER_KEY=secret\n"},
		{[]Rule{{Action: "env", Target: "HOUSE_KEY", Verdict: Allow}}, "HOUSE_KEY=secret\nOTHER_KEY=secret\n"},
		{[]Rule{{Action: "env", Target: "*", Verdict: Allow}, {Action: "env", Target: "*_API_KEY", Verdict: Deny}}, "ANTHROPIC_AUTH_TOKEN=secret\nHOUSE_KEY=secret\nOTHER_KEY=secret\n"},
	} {
		b := newBench(t)
		r := b.run(Bash{Policy: Policy{Directory: b.folder, Rules: c.rules}, Keys: []string{"HOUSE_KEY"}}, args{"command": "env | grep =secret | sort"})
		if r.Output != c.want {
			t.Errorf("%+v: got %q, want %q", c.rules, r.Output, c.want)
		}
	}
}

// What only looks in the folder needs no permission; what leaves it, shows a secret, writes or runs something does.
func TestPolicy_whatOnlyLooks(t *testing.T) {
	outside := newBench(t, "x.txt", "x")
	b, _ := cloned(t)
	b.put(".env", "KEY=1")
	b.put("keys/server.pem", "x")
	b.put("sub/b.txt", "b")
	b.put(".env.example", "KEY=")
	for name, target := range map[string]string{"out": outside.folder, "link.txt": outside.at("x.txt"), "in.txt": "a.txt", "hidden.txt": ".env"} {
		if err := os.Symlink(target, b.at(name)); err != nil {
			t.Fatal(err)
		}
	}
	p := Policy{Directory: b.folder, Rules: []Rule{{Action: "read", Target: "private/**", Verdict: Deny}}}
	b.put("private/x", "x")
	for command, want := range map[string]Verdict{
		"ls": Allow, "ls -la": Allow, "ls sub": Allow, "ls .env": Allow, "ls out": Ask, "ls ..": Ask, "ls /": Ask, "ls ~": Ask, "ls private": Ask, "ls $HOME": Ask, "ls --hyperlink=x": Ask,
		"pwd": Allow, "cat a.txt": Allow, "cat in.txt": Allow, "cat ./sub/../a.txt": Allow, "cat link.txt": Ask, "cat hidden.txt": Ask, "cat .env": Ask, "cat .e*": Ask, "cat .env.example": Allow, "cat sub/*": Allow, "cat *": Ask, "cat keys/server.pem": Ask, "cat private/x": Ask, "cat sub/b.txt private/x": Ask,
		"cat /etc/passwd": Ask, "cat -- a.txt": Allow, "cat -n a.txt": Allow, "cat a.txt | head -n 3 | wc -l": Allow, "cat a.txt > b": Ask, "cat a.txt 2>/dev/null": Allow, "cat a.txt && rm a.txt": Ask, "./cat a.txt": Ask, "A=1 cat a.txt": Ask,
		"head -5 a.txt": Allow, "tail -n +3 a.txt": Allow, "tail -f a.txt": Ask, "wc -l a.txt": Allow, "grep -n one a.txt": Allow, "grep -rn one .": Ask, "grep -f a.txt b": Ask, "grep one .env": Ask, "sort a.txt": Allow, "sort -o a.txt a.txt": Ask, "uniq a.txt b.txt": Ask, "diff a.txt sub/b.txt": Allow, "diff a.txt /etc/passwd": Ask,
		"find . -name '*.txt'": Allow, "find . -type f -size +1k": Allow, "find . -delete": Ask, "find . -exec cat {} +": Ask, "find /": Ask, "find . -newerXY x": Ask, "find -L . -name x": Ask, "sed -n 1,5p a.txt": Allow, "sed -n '1,5p;7p' a.txt": Allow, "sed -n '1w x' a.txt": Ask, "sed -n 1p .env": Ask, "sed -i s/a/b/ a.txt": Ask, "sed s/a/b/ a.txt": Ask,
		"git status": Allow, "git log --oneline -3": Allow, "git diff HEAD~1": Allow, "git show HEAD:a.txt": Allow, "git show HEAD:.env": Ask, "git log --output=x": Ask, "git branch": Allow, "git branch new": Ask, "git branch -D x": Ask, "git tag": Allow, "git tag v1": Ask, "git stash": Ask, "git stash list": Allow, "git checkout .": Ask, "git remote -v": Allow,
		"git diff --no-index a.txt /etc/passwd": Ask, "git diff a.txt /etc/passwd": Ask, "git -C sub status": Ask, "git -C .. status": Ask, "git log --format=%G?": Ask, "git commit -m x": Ask, "git push": Ask, "git": Ask, "git -c a=b status": Ask,
		"cd sub && cat b.txt": Allow, "cd sub && cat a.txt/../../.env": Ask, "cd sub; cat b.txt": Ask, "cd out && ls": Ask, "cd .. && ls": Ask, "cd sub && git status": Allow, "cd / && cat etc/passwd": Ask, "cd - && ls": Ask, "cd sub | cat b.txt": Ask,
		"echo hello": Allow, "echo $HOME": Ask, "echo x > y": Ask, "echo \"$(id)\"": Ask, "true": Allow, "date": Allow, "date -s x": Ask, "which go": Allow, "command -v go": Allow, "env": Ask, "printenv": Ask, "tee x": Ask, "xargs ls": Ask, "less a.txt": Ask, "python3 a.py": Ask, "tree -o x": Ask, "file a.txt": Allow, "file -C -m x": Ask,
		"ls # all": Allow, "ls &": Ask, "! ls": Ask, "(ls)": Ask, "ls\n pwd": Allow, "ls\r": Ask, "type ls": Allow, "stat a.txt": Allow, "stat link.txt": Ask, "du -sh .": Allow, "test -f a.txt": Allow, "[ -f a.txt ]": Ask, "basename /a/b": Allow,
	} {
		if got := p.Decide(agent.Permission{Tool: "bash", Action: "run", Target: command, Inside: true}); got != want {
			t.Errorf("%q: got %s, want %s", command, got, want)
		}
	}
	if got := p.Decide(agent.Permission{Tool: "bash", Action: "run", Target: "ls", Folder: outside.folder}); got != Ask {
		t.Errorf("ls outside: got %s, want ask", got)
	}
	if got := p.Decide(agent.Permission{Tool: "bash", Action: "run", Target: "cat b.txt", Inside: true, Folder: b.at("sub")}); got != Allow {
		t.Errorf("in a folder below: got %s, want allow", got)
	}
	asks := Policy{Directory: b.folder, Rules: []Rule{{Action: "run", Verdict: Ask}}}
	if got := asks.Decide(agent.Permission{Tool: "bash", Action: "run", Target: "ls", Inside: true}); got != Ask {
		t.Errorf("ls where commands are to be asked about: got %s, want ask", got)
	}
}

// What git or a tool would run is asked about, whatever a rule with a pattern allows.
func TestPolicy_writingWhatIsRunAsks(t *testing.T) {
	b := newBench(t, "bare/HEAD", "", "bare/objects/x", "", "plain/config", "")
	all := []Rule{{Action: "write", Target: "**", Verdict: Allow}}
	for _, c := range []struct {
		rules []Rule
		name  string
		want  Verdict
	}{
		{nil, "a.go", Allow}, {nil, ".git/config", Ask}, {nil, "sub/.git/hooks/pre-commit", Ask}, {nil, ".GIT/config", Ask}, {nil, ".git", Ask}, {nil, ".husky/pre-commit", Ask}, {nil, ".vscode/tasks.json", Ask}, {nil, ".envrc", Ask}, {nil, ".npmrc", Ask}, {nil, ".mcp.json", Ask}, {nil, ".claude/settings.json", Ask},
		{nil, ".claude/skills/x/SKILL.md", Allow}, {nil, ".gitignore", Allow}, {nil, ".github/workflows/ci.yml", Allow}, {nil, "bare/config", Ask}, {nil, "bare/hooks/post-checkout", Ask}, {nil, "plain/config", Allow}, {nil, "docs/config", Allow},
		{all, "a.go", Allow}, {all, ".git/config", Ask}, {all, ".husky/x", Ask}, {all, "bare/config", Ask},
		{[]Rule{{Verdict: Allow}}, ".git/config", Ask}, {[]Rule{{Action: "write", Target: ".git/hooks/pre-commit", Verdict: Allow}}, ".git/hooks/pre-commit", Allow}, {[]Rule{{Action: "write", Target: ".husky/**", Verdict: Allow}}, ".husky/pre-commit", Allow},
		{[]Rule{{Action: "write", Target: ".git/**", Verdict: Deny}}, ".git/config", Deny},
	} {
		p := Policy{Directory: b.folder, Rules: c.rules}
		if got := p.Decide(agent.Permission{Tool: "write", Action: "write", Target: b.at(c.name), Inside: true}); got != c.want {
			t.Errorf("%s with %+v: got %s, want %s", c.name, c.rules, got, c.want)
		}
	}
	for name, want := range map[string]Verdict{".env": Ask, "web/.env.local": Ask, ".env.example": Allow, "id_ed25519": Ask, "id_ed25519.pub": Allow, ".ssh/config": Ask, "tls/server.key": Ask, "a.go": Allow, "credentials.json": Ask} {
		if got := (Policy{Directory: b.folder}).Decide(agent.Permission{Tool: "read", Action: "read", Target: b.at(name), Inside: true}); got != want {
			t.Errorf("reading %s: got %s, want %s", name, got, want)
		}
	}
}
