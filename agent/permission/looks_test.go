package permission

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/winnowhq/winnow/agent"
)

// bench is a folder with files about which a policy decides.
type bench struct {
	*testing.T
	folder string
}

func newBench(t *testing.T, files ...string) *bench {
	t.Helper()
	folder, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{T: t, folder: folder}
	for i := 0; i < len(files); i += 2 {
		b.put(files[i], files[i+1])
	}
	return b
}

func (b *bench) put(name, text string) {
	b.Helper()
	at := b.at(name)
	if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
		b.Fatal(err)
	}
	if err := os.WriteFile(at, []byte(text), 0o644); err != nil {
		b.Fatal(err)
	}
}

func (b *bench) at(name string) string { return filepath.Join(b.folder, name) }

// What only looks in the folder needs no permission; what leaves it, shows a secret, writes or runs
// something does.
func TestPolicy_whatOnlyLooks(t *testing.T) {
	outside := newBench(t, "x.txt", "x")
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("there is no git")
	}
	for name, value := range map[string]string{"GIT_CONFIG_GLOBAL": os.DevNull, "GIT_CONFIG_NOSYSTEM": "1"} {
		t.Setenv(name, value)
	}
	b := newBench(t, "a.txt", "two\n")
	if out, err := exec.Command("git", "-C", b.folder, "init", "-q").CombinedOutput(); err != nil {
		t.Fatalf("git init: %v\n%s", err, out)
	}
	b.put(".env", "KEY=1")
	b.put("keys/server.pem", "x")
	b.put("sub/b.txt", "b")
	b.put(".env.example", "KEY=")
	for name, target := range map[string]string{"out": outside.folder, "link.txt": outside.at("x.txt"),
		"in.txt": "a.txt", "hidden.txt": ".env"} {
		if err := os.Symlink(target, b.at(name)); err != nil {
			t.Fatal(err)
		}
	}
	p := Policy{Directory: b.folder, Rules: []Rule{{Action: "read", Target: "private/**", Verdict: Deny}}}
	b.put("private/x", "x")
	for command, want := range map[string]Verdict{
		"ls": Allow, "ls -la": Allow, "ls sub": Allow, "ls .env": Allow, "ls out": Ask, "ls ..": Ask, "ls /": Ask,
		"ls ~": Ask, "ls private": Ask, "ls $HOME": Ask, "ls --hyperlink=x": Ask,
		"pwd": Allow, "cat a.txt": Allow, "cat in.txt": Allow, "cat ./sub/../a.txt": Allow, "cat link.txt": Ask,
		"cat hidden.txt": Ask, "cat .env": Ask, "cat .e*": Ask, "cat .env.example": Allow, "cat sub/*": Allow,
		"cat *": Ask, "cat keys/server.pem": Ask, "cat private/x": Ask, "cat sub/b.txt private/x": Ask,
		"cat /etc/passwd": Ask, "cat -- a.txt": Allow, "cat -n a.txt": Allow, "cat a.txt | head -n 3 | wc -l": Allow,
		"cat a.txt > b": Ask, "cat a.txt 2>/dev/null": Allow, "cat a.txt && rm a.txt": Ask, "./cat a.txt": Ask,
		"A=1 cat a.txt": Ask,
		"head -5 a.txt": Allow, "tail -n +3 a.txt": Allow, "tail -f a.txt": Ask, "wc -l a.txt": Allow,
		"grep -n one a.txt": Allow, "grep -rn one .": Ask, "grep -f a.txt b": Ask, "grep one .env": Ask,
		"sort a.txt": Allow, "sort -o a.txt a.txt": Ask, "uniq a.txt b.txt": Ask, "diff a.txt sub/b.txt": Allow,
		"diff a.txt /etc/passwd": Ask,
		"find . -name '*.txt'":   Allow, "find . -type f -size +1k": Allow, "find . -delete": Ask,
		"find . -exec cat {} +": Ask, "find /": Ask, "find . -newerXY x": Ask, "find -L . -name x": Ask,
		"sed -n 1,5p a.txt": Allow, "sed -n '1,5p;7p' a.txt": Allow, "sed -n '1w x' a.txt": Ask,
		"sed -n 1p .env": Ask, "sed -i s/a/b/ a.txt": Ask, "sed s/a/b/ a.txt": Ask,
		"git status": Allow, "git log --oneline -3": Allow, "git diff HEAD~1": Allow, "git show HEAD:a.txt": Allow,
		"git show HEAD:.env": Ask, "git log --output=x": Ask, "git branch": Allow, "git branch new": Ask,
		"git branch -D x": Ask, "git tag": Allow, "git tag v1": Ask, "git stash": Ask, "git stash list": Allow,
		"git checkout .": Ask, "git remote -v": Allow,
		"git diff --no-index a.txt /etc/passwd": Ask, "git diff a.txt /etc/passwd": Ask, "git -C sub status": Ask,
		"git -C .. status": Ask, "git log --format=%G?": Ask, "git commit -m x": Ask, "git push": Ask, "git": Ask,
		"git -c a=b status":   Ask,
		"cd sub && cat b.txt": Allow, "cd sub && cat a.txt/../../.env": Ask, "cd sub; cat b.txt": Ask,
		"cd out && ls": Ask, "cd .. && ls": Ask, "cd sub && git status": Allow, "cd / && cat etc/passwd": Ask,
		"cd - && ls": Ask, "cd sub | cat b.txt": Ask,
		"echo hello": Allow, "echo $HOME": Ask, "echo x > y": Ask, "echo \"$(id)\"": Ask, "true": Allow, "date": Allow,
		"date -s x": Ask, "which go": Allow, "command -v go": Allow, "env": Ask, "printenv": Ask, "tee x": Ask,
		"xargs ls": Ask, "less a.txt": Ask, "python3 a.py": Ask, "tree -o x": Ask, "file a.txt": Allow,
		"file -C -m x": Ask,
		"ls # all":     Allow, "ls &": Ask, "! ls": Ask, "(ls)": Ask, "ls\n pwd": Allow, "ls\r": Ask, "type ls": Allow,
		"stat a.txt": Allow, "stat link.txt": Ask, "du -sh .": Allow, "test -f a.txt": Allow, "[ -f a.txt ]": Ask,
		"basename /a/b": Allow,
	} {
		if got := p.Decide(agent.Permission{Tool: "bash", Action: "run", Target: command, Inside: true}); got != want {
			t.Errorf("%q: got %s, want %s", command, got, want)
		}
	}
	if got := p.Decide(agent.Permission{Tool: "bash", Action: "run", Target: "ls",
		Folder: outside.folder}); got != Ask {
		t.Errorf("ls outside: got %s, want ask", got)
	}
	if got := p.Decide(agent.Permission{Tool: "bash", Action: "run", Target: "cat b.txt", Inside: true,
		Folder: b.at("sub")}); got != Allow {
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
		{nil, "a.go", Allow}, {nil, ".git/config", Ask}, {nil, "sub/.git/hooks/pre-commit", Ask},
		{nil, ".GIT/config", Ask}, {nil, ".git", Ask}, {nil, ".husky/pre-commit", Ask},
		{nil, ".vscode/tasks.json", Ask}, {nil, ".envrc", Ask}, {nil, ".npmrc", Ask}, {nil, "winnow.jsonc", Ask}, {nil, ".mcp.json", Ask},
		{nil, ".claude/settings.json", Ask},
		{nil, ".claude/skills/x/SKILL.md", Allow}, {nil, ".gitignore", Allow}, {nil, ".github/workflows/ci.yml", Allow},
		{nil, "bare/config", Ask}, {nil, "bare/hooks/post-checkout", Ask}, {nil, "plain/config", Allow},
		{nil, "docs/config", Allow},
		{all, "a.go", Allow}, {all, ".git/config", Ask}, {all, ".husky/x", Ask}, {all, "bare/config", Ask},
		{[]Rule{{Verdict: Allow}}, ".git/config", Ask},
		{[]Rule{{Action: "write", Target: ".git/hooks/pre-commit", Verdict: Allow}}, ".git/hooks/pre-commit",
			Allow}, {[]Rule{{Action: "write", Target: ".husky/**", Verdict: Allow}}, ".husky/pre-commit", Allow},
		{[]Rule{{Action: "write", Target: ".git/**", Verdict: Deny}}, ".git/config", Deny},
	} {
		p := Policy{Directory: b.folder, Rules: c.rules}
		if got := p.Decide(agent.Permission{Tool: "write", Action: "write", Target: b.at(c.name),
			Inside: true}); got != c.want {
			t.Errorf("%s with %+v: got %s, want %s", c.name, c.rules, got, c.want)
		}
	}
	for name, want := range map[string]Verdict{".env": Ask, "web/.env.local": Ask, ".env.example": Allow,
		"id_ed25519": Ask, "id_ed25519.pub": Allow, ".ssh/config": Ask, "tls/server.key": Ask, "a.go": Allow,
		"credentials.json": Ask} {
		if got := (Policy{Directory: b.folder}).Decide(agent.Permission{Tool: "read", Action: "read",
			Target: b.at(name), Inside: true}); got != want {
			t.Errorf("reading %s: got %s, want %s", name, got, want)
		}
	}
}
