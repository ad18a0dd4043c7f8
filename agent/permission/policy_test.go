package permission

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/winnowhq/winnow/agent"
	"github.com/winnowhq/winnow/plan/call"
	"github.com/winnowhq/winnow/session"
)

func TestPolicy_withoutRules(t *testing.T) {
	for _, c := range []struct {
		action, target string
		inside         bool
		want           Verdict
	}{
		{"read", "/repo/a.go", true, Allow},
		{"write", "/repo/a.go", true, Allow},
		{"write", "/repo/.git/hooks/pre-commit", true, Ask},
		{"write", "/repo/.GIT/config", true, Ask},
		{"read", "/repo/.git/HEAD", true, Allow},
		{"write", "/repo/.gitignore", true, Allow},
		{"read", "/etc/passwd", false, Ask},
		{"write", "/etc/passwd", false, Ask},
		{"run", "ls", true, Ask},
		{"run", "", true, Ask},
		{"fetch", "https://example.com", false, Ask},
		{"something new", "x", true, Ask},
		{"read", "relative", false, Ask},
		{"read", "", true, Ask},
	} {
		if got := (Policy{}).Decide(agent.Permission{Tool: "x", Action: c.action, Target: c.target,
			Inside: c.inside}); got != c.want {
			t.Errorf("%s %s, inside %v: got %s, want %s", c.action, c.target, c.inside, got, c.want)
		}
	}
}

func TestPolicy_pathsByGlob(t *testing.T) {
	rules := []Rule{
		{Action: "write", Target: "**/*.lock", Verdict: Ask},
		{Action: "*", Target: "secrets", Verdict: Deny},
		{Action: "read", Target: "/usr/include/**", Verdict: Allow},
		{Tool: "edit", Action: "write", Target: "docs/**", Verdict: Deny},
		{Action: "read", Target: "secrets/public.pem", Verdict: Allow},
		{Target: "**/.env*", Verdict: Deny},
	}
	p := Policy{Rules: rules, Directory: "/nowhere/repo"}
	if err := p.Validate(); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		tool, action, target string
		want                 Verdict
	}{
		{"read", "read", "/nowhere/repo/a.go", Allow},
		{"write", "write", "/nowhere/repo/deep/go.lock", Ask},
		{"read", "read", "/nowhere/repo/deep/go.lock", Allow},
		{"read", "read", "/nowhere/repo/secrets", Deny},
		{"read", "read", "/nowhere/repo/secrets/deep/key", Deny},
		{"read", "read", "/nowhere/repo/x/../secrets/key", Deny},
		{"read", "read", "secrets/key", Deny},
		{"read", "read", "/nowhere/repo/secrets/public.pem", Allow},
		{"write", "write", "/nowhere/repo/secrets/public.pem", Deny},
		{"read", "read", "/nowhere/repo/secrets2", Allow},
		{"read", "read", "/usr/include/stdio.h", Allow},
		{"read", "read", "/usr/include/../../etc/shadow", Ask},
		{"edit", "write", "/nowhere/repo/docs/a.md", Deny},
		{"write", "write", "/nowhere/repo/docs/a.md", Allow},
		{"read", "read", "/nowhere/repo/.env.local", Deny},
		{"read", "read", "/nowhere/repo/web/.env", Deny},
		{"read", "read", "/nowhere/repository/a", Ask},
	} {
		if got := p.Decide(agent.Permission{Tool: c.tool, Action: c.action, Target: c.target,
			Inside: strings.HasPrefix(c.target, "/nowhere/repo/")}); got != c.want {
			t.Errorf("%s: %s %s: got %s, want %s", c.tool, c.action, c.target, got, c.want)
		}
	}
}

func TestPolicy_aGlobInTheFolderAllowsNothingAboveIt(t *testing.T) {
	for _, c := range []struct {
		glob   string
		target string
		want   Verdict
	}{
		{"**", "/nowhere/repo/a", Allow},
		{"**", "/nowhere/other/a", Ask},
		{"**", "/nowhere", Ask},
		{"**/*.go", "/nowhere/a.go", Ask},
		{"../other/**", "/nowhere/other/a", Allow},
		{"../**", "/nowhere/other/a", Allow},
		{"../**", "/else/a", Ask},
		{"/nowhere/**", "/nowhere/other/a", Allow},
		{".", "/nowhere/repo", Allow},
	} {
		p := Policy{Directory: "/nowhere/repo", Rules: []Rule{{Action: "read", Target: c.glob, Verdict: Allow}}}
		if got := p.Decide(agent.Permission{Tool: "read", Action: "read", Target: c.target}); got != c.want {
			t.Errorf("%s allowed, %s: got %s, want %s", c.glob, c.target, got, c.want)
		}
	}
}

func TestPolicy_asksAPersonWhereItIsNotSure(t *testing.T) {
	p := Policy{Rules: []Rule{{Action: "run", Target: "ls", Verdict: Allow},
		{Action: "run", Target: "rm", Verdict: Deny}}}
	no := errors.New("no")
	asked := 0
	person := func(context.Context, agent.Permission) error { asked++; return no }
	var refused *Refused
	for _, c := range []struct {
		command string
		person  func(context.Context, agent.Permission) error
		ok      func(error) bool
		asked   int
	}{
		{"ls", person, func(err error) bool { return err == nil }, 0},
		{"rm x", person, func(err error) bool { return errors.As(err, &refused) }, 0},
		{"make", person, func(err error) bool { return errors.Is(err, no) }, 1},
		{"make", nil, func(err error) bool { return errors.As(err, &refused) }, 0},
	} {
		asked = 0
		err := p.Asker(c.person)(t.Context(), agent.Permission{Tool: "bash", Action: "run", Target: c.command,
			Inside: true})
		if !c.ok(err) || asked != c.asked {
			t.Errorf("%s: got %v, asked %d times, want %d", c.command, err, asked, c.asked)
		}
	}
}

func TestPolicy_linksAreJudgedByWhereTheyLead(t *testing.T) {
	b, outside := newBench(t, "a.txt", "", "secret/key", ""), newBench(t, "b.txt", "")
	for name, target := range map[string]string{"out": outside.folder, "in": "a.txt", "key": "secret/key",
		"round": "round"} {
		if err := os.Symlink(target, b.at(name)); err != nil {
			t.Fatal(err)
		}
	}
	p := Policy{Directory: b.folder, Rules: []Rule{{Target: "secret/**", Verdict: Deny},
		{Target: "out/**", Verdict: Allow}}}
	for name, want := range map[string]Verdict{"a.txt": Allow, "in": Allow, "out/b.txt": Ask, "out/new.txt": Ask,
		"key": Deny, "round": Ask} {
		if got := p.Decide(agent.Permission{Tool: "read", Action: "read", Target: b.at(name),
			Inside: true}); got != want {
			t.Errorf("%s: got %s, want %s", name, got, want)
		}
	}
	linked := newBench(t)
	if err := os.Symlink(b.folder, linked.at("repo")); err != nil {
		t.Fatal(err)
	}
	p = Policy{Directory: linked.at("repo"), Rules: []Rule{{Target: "secret/**", Verdict: Deny}}}
	for name, want := range map[string]Verdict{"a.txt": Allow, "secret/key": Deny} {
		for _, at := range []string{b.at(name), linked.at("repo/" + name)} {
			if got := p.Decide(agent.Permission{Tool: "read", Action: "read", Target: at}); got != want {
				t.Errorf("in a folder that is a link, %s: got %s, want %s", at, got, want)
			}
		}
	}
}

func TestPolicy_commandsByTheirFirstWords(t *testing.T) {
	p := Policy{Directory: t.TempDir(), Rules: []Rule{
		{Action: "run", Target: "git status", Verdict: Allow},
		{Action: "run", Target: "git log *", Verdict: Allow},
		{Action: "run", Target: "go test", Verdict: Allow},
		{Action: "run", Target: "ls", Verdict: Allow},
		{Action: "run", Target: "cat", Verdict: Allow},
		{Action: "run", Target: "npm run test:*", Verdict: Allow},
		{Action: "run", Target: "make > log 2>&1 &", Verdict: Allow},
		{Action: "run", Target: "rm", Verdict: Deny},
		{Action: "run", Target: "git push", Verdict: Deny},
	}}
	for command, want := range map[string]Verdict{
		"git status":                             Allow,
		"  git   status --short ":                Allow,
		"git log":                                Allow,
		"git log -3 --oneline":                   Allow,
		"git stash":                              Ask,
		"git statusx":                            Ask,
		"git":                                    Ask,
		"go test ./... 2>&1":                     Allow,
		"go test ./... | cat":                    Allow,
		"go test ./... | tail":                   Allow,
		"go test ./... | tee log":                Ask,
		"go test ./... && git status; ls\nls -l": Allow,
		"npm run test:unit":                      Allow,
		"npm run build":                          Ask,
		"make > log 2>&1 &":                      Allow,
		"make > log2 2>&1 &":                     Ask,
		"git log 'a && rm b'":                    Allow,
		"git log 'a (rm b)'":                     Allow,
		"eval 'rm x'":                            Deny,
		"echo \"$(rm x)\"":                       Deny,
		"ls `rm x`":                              Deny,
		"(cd x && rm y)":                         Deny,
		"ls $(touch x)":                          Ask,
		"ls `touch x`":                           Ask,
		"ls $HOME":                               Ask,
		"ls > x":                                 Ask,
		"ls & touch x":                           Ask,
		"ls # '\ntouch x":                        Ask,
		"ls 'a\nb'":                              Allow,
		"cat <<X\nls\nX":                         Ask,
		"cat <(touch x)":                         Ask,
		"PATH=/evil git status":                  Ask,
		"./git status":                           Ask,
		"if ls; then touch x; fi":                Ask,
		"ls \\\n; touch x":                       Ask,
		"ls 'unclosed":                           Ask,
		"ls \"a\\\"; touch x; \"":                Allow,
		"":                                       Ask,
		"rm -rf /":                               Deny,
		"ls; rm x":                               Deny,
		"git status && rm x":                     Deny,
		"sudo rm x":                              Deny,
		"sudo -u root /bin/rm x":                 Deny,
		"A=1 rm x":                               Deny,
		"bash -c 'ls && rm x'":                   Deny,
		"ls $(rm x)":                             Deny,
		"find . | xargs -n 1 rm":                 Deny,
		"find . -exec rm {} +":                   Deny,
		"if true; then rm x; fi":                 Deny,
		"echo rm":                                Allow,
		"git push origin main":                   Deny,
		"git -C /x push":                         Deny,
		"git commit -m 'push'":                   Ask,
		"cat rm":                                 Allow,
	} {
		if got := p.Decide(agent.Permission{Tool: "bash", Action: "run", Target: command, Inside: true}); got != want {
			t.Errorf("%q: got %s, want %s", command, got, want)
		}
	}
	if got := p.Decide(agent.Permission{Tool: "bash", Action: "run", Target: "ls", Inside: false}); got != Ask {
		t.Errorf("ls outside: got %s, want ask", got)
	}
}

func TestPolicy_theLastRuleCounts(t *testing.T) {
	p := Policy{Rules: []Rule{{Target: "*", Verdict: Allow}, {Action: "run", Target: "rm", Verdict: Deny},
		{Tool: "bash", Action: "run", Target: "rm -i", Verdict: Ask}}}
	for command, want := range map[string]Verdict{"anything $(at all) > x": Allow, "rm x": Deny, "rm -i x": Ask,
		"rm -i x; rm y": Deny} {
		if got := p.Decide(agent.Permission{Tool: "bash", Action: "run", Target: command}); got != want {
			t.Errorf("%s: got %s, want %s", command, got, want)
		}
	}
	fetch := Policy{Rules: []Rule{{Action: "fetch", Target: "https://pkg.go.dev/*", Verdict: Allow}}}
	for url, want := range map[string]Verdict{"https://pkg.go.dev/fmt": Allow, "https://pkg.go.dev.evil.com/": Ask,
		"http://pkg.go.dev/fmt": Ask} {
		if got := fetch.Decide(agent.Permission{Tool: "webfetch", Action: "fetch", Target: url}); got != want {
			t.Errorf("%s: got %s, want %s", url, got, want)
		}
	}
}

func TestPolicy_validates(t *testing.T) {
	for _, p := range []Policy{{Rules: []Rule{{Verdict: "perhaps"}}},
		{Rules: []Rule{{Action: "read", Target: "[a", Verdict: Allow}}}, {Directory: "relative"}} {
		if p.Validate() == nil {
			t.Errorf("%+v: no error", p)
		}
	}
	if got := (Policy{Rules: []Rule{{Verdict: "perhaps"}}}).Decide(agent.Permission{Action: "read", Target: "/x",
		Inside: true}); got != Ask {
		t.Errorf("an unknown verdict: got %s, want ask", got)
	}
}

func TestRefused_isSeenAsRefusedInALog(t *testing.T) {
	var err error = &Refused{agent.Permission{Tool: "bash", Action: "run", Target: "rm -rf /"}}
	var refused *Refused
	if !errors.As(err, &refused) {
		t.Fatal("no Refused")
	}
	p := &session.Part{Type: session.ToolPart, Tool: "bash",
		State: &session.ToolState{Status: session.Failed, Input: []byte(`{"command":"rm -rf /"}`), Error: err.Error()}}
	if got := call.Of(p, "").Outcome; !got.Refused {
		t.Errorf("%q: package call understands %+v, want it refused", err, got)
	}
}

// What is allowed is judged by a real shell: whatever is put together from its signs, a program
// that no rule allows does not run.
func TestPolicy_whatIsAllowedRunsNothingElse(t *testing.T) {
	b := newBench(t, "bin/ls", "#!/bin/sh\nexit 0\n", "bin/evil", "#!/bin/sh\nprintf x >> \"$RAN\"\n")
	for _, name := range []string{"bin/ls", "bin/evil"} {
		if err := os.Chmod(b.at(name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	signs := []string{"ls", "ls", "ls ", "evil", "evil", " ", " ", ";", "&&", "||", "|", "&", "\n", "'", "'", "\"", "\"", "\\", "$(", ")", "`", "#", "<", ">", "<<X\n", "X\n", "{", "}", "!", "A=",
		"$A", "(", "*", "\r", "\t", "if ", "then ", "fi", "2>&1", ">&", "2>/dev/null", "$'", "\\\n", "eval ", ".", "~", "[", "é"}
	p := Policy{Rules: []Rule{{Action: "run", Target: "ls", Verdict: Allow}}}
	ran := 0
	random := rand.New(rand.NewPCG(1, 2))
	for range 60_000 {
		command := "ls "
		for range 1 + random.IntN(9) {
			command += signs[random.IntN(len(signs))]
		}
		if !strings.Contains(command, "evil") || p.Decide(agent.Permission{Tool: "bash", Action: "run", Target: command, Inside: true}) != Allow {
			continue
		}
		if ran++; ran > 500 {
			break
		}
		cmd := exec.Command("/bin/sh", "-c", command)
		cmd.Dir, cmd.Env = b.at("bin"), []string{"PATH=" + b.at("bin") + ":.", "RAN=" + b.at("ran")}
		cmd.Run() // that it fails is nothing
		if _, err := os.Stat(b.at("ran")); err == nil {
			t.Fatalf("%q is allowed, and ran another program", command)
		}
	}
	if ran < 100 {
		t.Errorf("only %d commands were allowed: the test shows little", ran)
	}
	t.Logf("%d commands were run", ran)
}

func FuzzDecide(f *testing.F) {
	for _, s := range []string{"ls", "ls; rm x", "ls 'a", "ls \\", "a && b || c | d", "$(", "``", "ls \"\\", "&&", ";;", "\n", "sudo sudo sudo rm"} {
		f.Add(s)
	}
	all := Policy{Rules: []Rule{{Action: "run", Target: "ls", Verdict: Allow}, {Action: "run", Target: "rm", Verdict: Deny}}}
	f.Fuzz(func(t *testing.T, command string) {
		got := all.Decide(agent.Permission{Tool: "bash", Action: "run", Target: command, Inside: true})
		if got != Allow {
			return
		}
		for _, s := range call.Steps(command) {
			if len(s.Words) > 0 && s.Words[0] != "ls" || s.Writes {
				t.Errorf("%q is allowed, and runs %q", command, s.Words)
			}
		}
	})
}

// Names of one file in capital and in small letters are the same to some file systems.
func TestPolicy_whatIsDeniedIsSoInCapitalsToo(t *testing.T) {
	p := Policy{Directory: "/nowhere/repo", Rules: []Rule{{Target: "docs/**", Verdict: Ask}, {Action: "write", Target: "Docs/mine/**", Verdict: Allow}, {Target: "secrets/**", Verdict: Deny}}}
	for name, want := range map[string]Verdict{"Secrets/KEY": Deny, "secrets/key": Deny, "DOCS/a": Ask, "Docs/mine/a": Allow, "docs/MINE/a": Ask, "secretsx": Allow} {
		if got := p.Decide(agent.Permission{Tool: "write", Action: "write", Target: "/nowhere/repo/" + name}); got != want {
			t.Errorf("%s: got %s, want %s", name, got, want)
		}
	}
}

// The owner of a name decides where it leads.
func TestPolicy_aNearAddressIsAllowedByItsHostAlone(t *testing.T) {
	for _, c := range []struct {
		verdict      Verdict
		rule, target string
		want         Verdict
	}{
		{Allow, "https://*", "https://a.example/x", Allow},
		{Allow, "https://*", "https://a.example/x (this computer)", Ask},
		{Allow, "https://*.example/*", "https://a.example/x (a private network)", Ask},
		{Allow, "https://* (a private network)", "https://a.example/x (a private network)", Allow},
		{Allow, "https://a.example/*", "https://a.example/x (a private network)", Allow},
		{Allow, "http://localhost:80/x", "http://localhost:80/x (this computer)", Allow},
		{Allow, "*", "http://localhost:80/x (this computer)", Allow},
		{Deny, "http://localhost:80/x", "http://localhost:80/x (this computer)", Deny},
		{Deny, "*(this computer)", "http://a.example/x (this computer)", Deny},
	} {
		p := Policy{Rules: []Rule{{Action: "fetch", Target: c.rule, Verdict: c.verdict}}}
		if got := p.Decide(agent.Permission{Tool: "webfetch", Action: "fetch", Target: c.target}); got != c.want {
			t.Errorf("%s %q of %q: got %s, want %s", c.verdict, c.rule, c.target, got, c.want)
		}
	}
}
