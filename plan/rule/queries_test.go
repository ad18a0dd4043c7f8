package rule_test

import (
	"strings"
	"testing"

	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/plan/rule/ruletest"
)

var pebbleListing = strings.Repeat("drwxr-xr-x pebbles\n", 30)

func TestQueries_anOlderAnswerToTheSameQuestionGoes(t *testing.T) {
	for _, c := range []struct {
		first, again string
		goes         bool
	}{
		{"ls src", "ls src", true},
		{"ls src", "ls docs", false},
		{"ls  -la\tsrc", " ls -la src\n", true},
		{"ls", "ls -la", false},
		{`ls "a  b"`, `ls "a b"`, false},
		{"ls '*.go'", "ls *.go", false},
		{"ls src/*.go 2>/dev/null", "ls src/*.go", true},
		{"git status", "git status --short", false},
		{"git log -p f", "git log --oneline", false},
		{"git log --oneline -5", "git log --oneline -5", true},
		{"find . -name '*.go'", "find . -name '*.go'", true},
	} {
		l := ruletest.New()
		first := l.Call("bash", ruletest.Args{"command": c.first}, pebbleListing)
		l.Call("bash", ruletest.Args{"command": c.again, "description": "Once more"}, pebbleListing)
		if _, is := l.Found(t, &rule.Queries{})[first]; is != c.goes {
			t.Errorf("%q goes because of %q: %v, want %v", c.first, c.again, is, c.goes)
		}
	}
}

func TestQueries_onlyCommandsThatDoNothingButAskAreQuestions(t *testing.T) {
	for command, is := range map[string]bool{
		"pwd": true, "tree -L 2": true, "tree --noreport": true, "fd -e go": true, "stat a": true, "wc -l a": true, "du -sh .": true, "df -h": true,
		"ps aux": true, "pgrep -l go": true, "printenv": true, "docker ps -a": true, "docker compose ps": true, "docker images": true, "kubectl get pods": true,
		"git status": true, "git --no-pager log": true, "git -C sub status": true, "git branch": true, "git branch -a": true, "git branch --show-current": true,
		"git branch --list 'x*'": true, "git branch --contains HEAD": true, "git branch --sort=-committerdate": true, "git tag": true, "git tag --list 'v*'": true,
		"git remote -v": true, "git stash list": true, "git worktree list": true, "git diff --stat": true, "git diff --name-only main": true,

		"ls -la && cat notes.md": false, "ls; rm a": false, "cd /repo && ls": true, "cd /repo && ls && rm a": false, "cd /repo; ls": false, "cd $(x) && ls": false, "ls | head": false, "ls > files": false, "ls $(cat f)": false, "ls $HOME": false, "ls\nrm a": false,
		"find . -delete": false, "find . -exec rm {} +": false, "find . -execdir rm {} +": false, "find . -ok rm {} ';'": false, "find . -fprint f": false, "find . -fls f": false,
		"fd -x rm": false, "fd -Hx rm": false, "fd --exec rm": false, "tree -o f": false, "tree -ao f": false,
		"git branch -D x": false, "git branch -d x": false, "git branch -m x": false, "git branch -M x y": false, "git branch x": false, "git branch --list -D x": false,
		"git branch --set-upstream-to=origin/main": false, "git branch -u origin/main": false, "git branch -f x": false, "git branch -c x": false,
		"git tag v1": false, "git tag -d v1": false, "git stash": false, "git stash pop": false, "git worktree add x": false, "git remote add o u": false,
		"git log --output=f": false, "git diff": false, "git diff --stat -p": false, "git diff --stat --output=f": false, "git show": false, "git commit": false, "git": false,
		"git -c core.pager=x log": false, "git statusfoo": false,
		"docker run x": false, "docker": false, "kubectl delete pod x": false, "kubectl get pods -w": false,
		"cat a": false, "grep a b": false, "env": false, "env A=b make": false, "sudo ls": false, "A=b ls": false, "npm test": false, "date": false, "lsof": false,
	} {
		l := ruletest.New()
		first := l.Call("bash", ruletest.Args{"command": command}, pebbleListing)
		l.Call("bash", ruletest.Args{"command": command}, pebbleListing)
		if _, goes := l.Found(t, &rule.Queries{})[first]; goes != is {
			t.Errorf("%q is a question: %v, want %v", command, goes, is)
		}
	}
}

func TestQueries_ofAnotherFolderAreOtherQuestions(t *testing.T) {
	type args = ruletest.Args
	ls := args{"command": "ls"}
	for _, c := range []struct {
		name  string
		write func(l *ruletest.Log) (first string)
		goes  bool
	}{
		{"the log moved on", func(l *ruletest.Log) string {
			first := l.Call("bash", ls, pebbleListing)
			l.Cwd = "/repo/sub"
			l.Call("bash", ls, pebbleListing)
			return first
		}, false},
		{"the call names another", func(l *ruletest.Log) string {
			first := l.Call("shell", args{"command": []string{"bash", "-lc", "ls"}, "workdir": "/repo"}, pebbleListing)
			l.Call("shell", args{"command": []string{"bash", "-lc", "ls"}, "workdir": "/repo/sub"}, pebbleListing)
			return first
		}, false},
		{"the call names the same in another way", func(l *ruletest.Log) string {
			first := l.Call("shell", args{"command": "ls", "workdir": "/repo/sub/"}, pebbleListing)
			l.Call("shell", args{"command": "ls", "workdir": "./sub"}, pebbleListing)
			return first
		}, true},
		{"the shell went to another", func(l *ruletest.Log) string {
			first := l.Call("bash", ls, pebbleListing)
			l.Call("bash", args{"command": "cd sub && make"}, "made")
			l.Call("bash", ls, pebbleListing)
			return first
		}, false},
		{"the shell went to a plain one and is there still", func(l *ruletest.Log) string {
			l.Call("bash", args{"command": "cd /repo/sub && make"}, "made")
			first := l.Call("bash", ls, pebbleListing)
			l.Call("bash", args{"command": "cd /repo/sub && make test"}, "made")
			l.Call("bash", ls, pebbleListing)
			return first
		}, true},
		{"the shell could not go there at first", func(l *ruletest.Log) string {
			l.Fail("bash", args{"command": "cd /repo/sub"}, "cd: no such file or directory: /repo/sub")
			first := l.Call("bash", ls, pebbleListing)
			l.Call("bash", args{"command": "mkdir /repo/sub"}, "")
			l.Call("bash", args{"command": "cd /repo/sub"}, "")
			l.Call("bash", ls, pebbleListing)
			return first
		}, false},
		{"the command says where", func(l *ruletest.Log) string {
			first := l.Call("bash", args{"command": "cd /repo/sub && ls"}, pebbleListing)
			l.Call("bash", args{"command": "cd /tmp"}, "")
			l.Call("bash", args{"command": "cd /repo/sub/ &&  ls"}, pebbleListing)
			return first
		}, true},
		{"the command says another", func(l *ruletest.Log) string {
			first := l.Call("bash", args{"command": "cd /repo/sub && ls"}, pebbleListing)
			l.Call("bash", args{"command": "cd /repo && ls"}, pebbleListing)
			return first
		}, false},
		{"the command says it from where it is", func(l *ruletest.Log) string {
			first := l.Call("bash", args{"command": "cd sub && ls"}, pebbleListing)
			l.Call("bash", args{"command": "cd sub && ls"}, pebbleListing)
			return first
		}, false},
		{"a shell in the shell went to another", func(l *ruletest.Log) string {
			l.Call("bash", args{"command": "(cd /repo/sub && make)"}, "made")
			first := l.Call("bash", ls, pebbleListing)
			l.Call("bash", args{"command": "cd /repo/sub"}, "")
			l.Call("bash", ls, pebbleListing)
			return first
		}, false},
		{"the shell went to where it was", func(l *ruletest.Log) string {
			first := l.Call("bash", ls, pebbleListing)
			l.Call("bash", args{"command": "cd /repo && make"}, "made")
			l.Call("bash", ls, pebbleListing)
			return first
		}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := ruletest.New()
			first := c.write(l)
			if _, goes := l.Found(t, &rule.Queries{})[first]; goes != c.goes {
				t.Errorf("the first answer goes: %v, want %v", goes, c.goes)
			}
		})
	}
}

func TestQueries_toolsThatListFilesAreQuestions(t *testing.T) {
	type args = ruletest.Args
	for _, c := range []struct {
		name         string
		tool         string
		first, again args
		goes         bool
	}{
		{"equal arguments", "list", args{"path": "src"}, args{"path": "src"}, true},
		{"a server's tool", "mcp__files__list_directory", args{"path": "src"}, args{"path": "src"}, true},
		{"another folder", "list", args{"path": "src"}, args{"path": "docs"}, false},
		{"another pattern", "glob", args{"pattern": "*.go"}, args{"pattern": "*.md"}, false},
		{"what reads contents is none", "grep", args{"pattern": "x"}, args{"pattern": "x"}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := ruletest.New()
			first := l.Call(c.tool, c.first, pebbleListing)
			l.Call(c.tool, c.again, pebbleListing)
			if _, goes := l.Found(t, &rule.Queries{})[first]; goes != c.goes {
				t.Errorf("it goes: %v, want %v", goes, c.goes)
			}
			if len(l.Found(t, formOf(true, &rule.Queries{}))) > 0 {
				t.Error("it goes by the letter, which knows commands alone")
			}
		})
	}
}

func TestQueries_whatFailedAnswersNothing(t *testing.T) {
	ls := ruletest.Args{"command": "ls src"}
	l := ruletest.New()
	l.Call("bash", ls, pebbleListing)
	l.Fail("bash", ls, "permission denied"+pebbleListing)
	l.Call("bash", ls, "ls: cannot access 'src': No such file or directory")
	l.Running("bash", ls)
	onlyElides(t, l, &rule.Queries{})
}

func TestQueries_ofOneStepStay(t *testing.T) {
	ls := ruletest.Args{"command": "ls src"}
	for _, letter := range []bool{false, true} {
		l := ruletest.New()
		first := l.Call("bash", ls, pebbleListing)
		second := l.Beside("bash", ls, pebbleListing)
		onlyElides(t, l, formOf(letter, &rule.Queries{}))
		l.Call("bash", ls, pebbleListing)
		onlyElides(t, l, formOf(letter, &rule.Queries{}), first, second)
	}
}

func TestQueries_byTheLetterTheFirstWordIsTheQuestion(t *testing.T) {
	for _, c := range []struct {
		first, again string
		goes         bool
	}{
		{"ls src", "ls docs && cat a", true},
		{"ls", "ls -la", true},
		{"find . -delete", "find src", true},
		{"tree", "tree -L 1", true},
		{"pwd", "pwd", true},
		{"git branch -D x", "git  branch", true},
		{"git log -p f", "git log --oneline", true},
		{"git status", "git log", false},
		{"git status", "ls -la", false},
		{"git diff --stat", "git diff --stat", false},
		{"cd x && ls", "cd x && ls", false},
		{" ls", "ls", false},
		{"pwd -P", "pwd -P", false},
		{"find", "find", false},
		{"lsof", "lsof", false},
	} {
		l := ruletest.New()
		first := l.Call("bash", ruletest.Args{"command": c.first}, pebbleListing)
		again := l.Call("bash", ruletest.Args{"command": c.again}, pebbleListing)
		e, is := l.Found(t, formOf(true, &rule.Queries{}))[first]
		if is != c.goes {
			t.Errorf("%q goes because of %q: %v, want %v", c.first, c.again, is, c.goes)
		}
		if is && (e.Shown != rule.Superseded || e.By != again) {
			t.Errorf("%q becomes %q because of %s, want %q because of %s", c.first, e.Shown, e.By, rule.Superseded, again)
		}
	}
}

func TestQueries_thePlaceholderNamesTheQuestion(t *testing.T) {
	l := ruletest.New()
	first := l.Call("bash", ruletest.Args{"command": "ls src"}, pebbleListing)
	l.Call("bash", ruletest.Args{"command": "ls src"}, pebbleListing)
	shown := l.Found(t, &rule.Queries{})[first].Shown
	if !strings.HasPrefix(shown, "[winnow ") || !strings.HasSuffix(shown, ": bash ls src, 30 lines left out; asked again below]") || !rule.ContainsPlaceholder(shown) {
		t.Errorf("got %q", shown)
	}
}
