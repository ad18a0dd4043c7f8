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
	"github.com/winnowhq/winnow/agent/permission"
)

// cloned is a working folder with a commit in it and a program that leaves a file behind when
// anything runs it.
func cloned(t *testing.T) (b *bench, evil string) {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("there is no git")
	}
	for name, value := range map[string]string{"GIT_CONFIG_GLOBAL": os.DevNull, "GIT_CONFIG_NOSYSTEM": "1",
		"GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@example.com", "GIT_COMMITTER_NAME": "a",
		"GIT_COMMITTER_EMAIL": "a@example.com"} {
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

// unasked runs a command as an agent's without anybody to ask. It is false where the policy would
// have asked.
func (b *bench) unasked(p permission.Policy, command string) bool {
	b.Helper()
	_, err := Bash{Policy: p}.Run(b.Context(), agent.Call{Directory: b.folder,
		Input: input(b, args{"command": command}), Ask: p.Asker(nil)})
	return err == nil
}

// A command of git that nobody was asked about runs no program that the repository names: it is
// kept from it, or it is asked about.
func TestBash_gitRunsNothingThatARepositoryNames(t *testing.T) {
	commands := []string{"git status", "git status --short && git log --oneline", "git log -p", "git diff",
		"git diff --stat", "git show", "git blame a.txt", "git branch -a", "git --no-pager diff HEAD"}
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
			b.put("config", "[core]\n\tbare = false\n\tworktree = "+b.folder+"\n\tfsmonitor = "+
				""+evil+"\n[diff]\n\texternal = "+evil+"\n")
			if err := os.RemoveAll(b.at(".git")); err != nil {
				b.Fatal(err)
			}
		}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			b, evil := cloned(t)
			c.prepare(b, evil)
			os.Remove(evil + ".ran")
			for _, rules := range [][]permission.Rule{nil, {{Action: "run", Target: "git", Verdict: permission.Allow}},
				{{Action: "run", Target: "git status", Verdict: permission.Allow},
					{Action: "run", Target: "git diff", Verdict: permission.Allow}}} {
				p := permission.Policy{Directory: b.folder, Rules: rules}
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
	p := permission.Policy{Directory: b.folder, Rules: []permission.Rule{{Action: "run", Verdict: permission.Ask}}}
	if _, err := (Bash{Policy: p}).Run(t.Context(),
		agent.Call{Directory: b.folder, Input: input(b, args{"command": "git status"}),
			Ask: p.Asker(yes)}); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(evil + ".ran"); err != nil {
		t.Skip("this git runs no program for core.fsmonitor")
	}
}

// Commands get no keys of providers, but for those that a rule passes on.
func TestBash_commandsGetNoKeys(t *testing.T) {
	for _, name := range []string{"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "OPENAI_API_KEY", "GEMINI_API_KEY",
		"GOOGLE_API_KEY", "HOUSE_KEY", "OTHER_KEY"} {
		t.Setenv(name, "secret")
	}
	for _, c := range []struct {
		rules []permission.Rule
		want  string
	}{
		{nil, "OTHER_KEY=secret\n"},
		{[]permission.Rule{{Verdict: permission.Allow}}, "OTHER_KEY=secret\n"},
		{[]permission.Rule{{Action: "env", Target: "HOUSE_KEY", Verdict: permission.Allow}},
			"HOUSE_KEY=secret\nOTHER_KEY=secret\n"},
		{[]permission.Rule{{Action: "env", Target: "*", Verdict: permission.Allow},
			{Action: "env", Target: "*_API_KEY", Verdict: permission.Deny}},
			"ANTHROPIC_AUTH_TOKEN=secret\nHOUSE_KEY=secret\nOTHER_KEY=secret\n"},
	} {
		b := newBench(t)
		r := b.run(Bash{Policy: permission.Policy{Directory: b.folder, Rules: c.rules}, Keys: []string{"HOUSE_KEY"}},
			args{"command": "env | grep =secret | sort"})
		if r.Output != c.want {
			t.Errorf("%+v: got %q, want %q", c.rules, r.Output, c.want)
		}
	}
}
