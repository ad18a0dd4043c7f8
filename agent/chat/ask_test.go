package chat

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/winnowhq/winnow/agent"
	"github.com/winnowhq/winnow/internal/llmtest"
)

// asking is a tool that asks for each of the targets that it is called with.
func asking(name, action string, targets ...string) agent.Tool {
	return tool{name, func(ctx context.Context, c agent.Call) (agent.Result, error) {
		for _, target := range targets {
			if err := c.Ask(ctx, agent.Permission{Tool: name, Action: action, Target: target}); err != nil {
				return agent.Result{}, err
			}
		}
		return agent.Result{Title: name, Output: "it was done"}, nil
	}}
}

func calling(names ...string) llmtest.Script {
	calls := make([]llmtest.Call, len(names))
	for i, n := range names {
		calls[i].Name = n
	}
	return llmtest.Script{Answer: after(llmtest.Reply{Calls: calls}, llmtest.Reply{Text: "the end"})}
}

func TestPermission_isAskedFor(t *testing.T) {
	for _, c := range []struct {
		name  string
		press func(b *bench)
		wants string // in what the model is told
	}{
		{"allowed once", func(b *bench) { b.press2("y"); b.shows("make install"); b.press2("y") }, "it was done"},
		{"allowed for the session", func(b *bench) { b.press2("a") }, "it was done"},
		{"denied", func(b *bench) { b.press2("n") }, "the user did not allow this: run make"},
		{"denied with a word", func(b *bench) { b.press2("w"); b.says("use the script") }, "They say: use the script"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := setUp(t, calling("bash"), nil, asking("bash", "run", "make", "make install"))
			b.says("build it")
			b.shows("? bash wants to run:")
			c.press(b)
			b.shows("the end")
			b.rests()
			if r := b.upstream.Records()[1]; !r.Contains(c.wants) {
				t.Errorf("the model is not told %q: %s", c.wants, r.Body)
			}
		})
	}
}

// press2 answers a question that is on the screen.
func (b *bench) press2(key string) {
	b.t.Helper()
	b.look()
	b.clock = b.clock.Add(time.Second)
	b.send(tea.KeyPressMsg{Code: rune(key[0]), Text: key})
}

func TestPermission_severalQueueUp(t *testing.T) {
	b := setUp(t, calling("bash", "webfetch"), nil, asking("bash", "run", "make"),
		asking("webfetch", "fetch", "https://a.example/x"))
	b.says("build it")
	b.until("two questions", func() bool { return len(b.questions.waiting) == 2 })
	b.shows("1 more question")
	b.press2("y")
	b.shows("wants to")
	b.press2("y")
	b.shows("the end")
}

func TestScreen_aQuestion(t *testing.T) {
	b := setUp(t, calling("bash"), nil, asking("bash", "run", "go build ./... && \\\n  rm -rf build\x1b[2K"))
	b.says("build it")
	b.shows("waits for your answer")
	b.golden("permission")
	b.press2("w")
	b.types("not now")
	b.golden("denying")
	b.press("enter")
	b.shows("the end")
}

func TestPermission_aKeyInTheFlowOfTypingAnswersNothing(t *testing.T) {
	b := setUp(t, llmtest.Script{}, nil)
	b.types("I sa")
	q := &question{want: agent.Permission{Tool: "bash", Action: "run", Target: "rm -rf ."}, answer: make(chan error, 1)}
	b.clock = b.clock.Add(100 * time.Millisecond)
	b.send(fedMsg{q})
	b.look()
	b.clock = b.clock.Add(50 * time.Millisecond)
	b.send(tea.KeyPressMsg{Code: 'y', Text: "y"})
	if len(b.questions.waiting) != 1 {
		t.Fatal("a key that came 150 ms after the one before answered a question that had just come up")
	}
	b.clock = b.clock.Add(time.Second)
	b.send(tea.KeyPressMsg{Code: 'y', Text: "y"})
	if len(b.questions.waiting) != 0 {
		t.Error("a key a second later does not answer")
	}
}

func TestPermission_isGoneWhenTheTurnIsStopped(t *testing.T) {
	b := setUp(t, calling("bash"), nil, asking("bash", "run", "make"))
	b.says("build it")
	b.shows("wants to run")
	b.press("esc")
	b.shows("■ interrupted")
	b.rests()
	if got := b.look(); strings.Contains(got, "wants to") {
		t.Errorf("the question is still there:\n%s", got)
	}
}

func TestGrant_covers(t *testing.T) {
	folder := t.TempDir()
	in := func(name string) string { return filepath.Join(folder, name) }
	for _, c := range []struct {
		action, granted, asked string
		want                   bool
	}{
		{"run", "go test ./...", "go test ./...", true},
		{"run", "go test", "go test ./... -run X", true},
		{"run", "go test", "go tester", false},
		{"run", "go test", "go test; rm -rf /", false},
		{"run", "go test", "go test && rm -rf /", false},
		{"run", "go test", "go test $(rm -rf /)", false},
		{"run", "go test", "go test\nrm -rf /", false},
		{"run", "go test", "go test > /etc/passwd", false},
		{"read", in("a"), in("b"), true},
		{"read", in("a"), in("c/d"), true},
		{"read", in("a"), in("../x"), false},
		{"read", in("c/d"), in("a"), false},
		{"read", "/etc", "/root", false},
		{"write", in("a"), in("a"), true},
		{"write", in("a"), in("b"), false},
		{"fetch", "https://a.example/x", "https://a.example/y", true},
		{"fetch", "https://a.example/x", "https://a.example.org/y", false},
		{"fetch", "https://a.example/x", "http://a.example/x", false},
		{"fetch", "https://a.example/x", "https://a.example/y (this computer)", false},
		{"fetch", "https://a.example/x (a private network)", "https://a.example/y (a private network)", true},
	} {
		g := grantOf(agent.Permission{Tool: "t", Action: c.action, Target: c.granted})
		if got := g.covers(agent.Permission{Tool: "t", Action: c.action, Target: c.asked}); got != c.want {
			t.Errorf("%s %q covers %q: %v, want %v", c.action, c.granted, c.asked, got, c.want)
		}
		if g.covers(agent.Permission{Tool: "other", Action: c.action, Target: c.granted}) {
			t.Errorf("%s %q covers another tool", c.action, c.granted)
		}
		if g.covers(agent.Permission{Tool: "t", Action: c.action, Target: c.granted, Folder: folder}) {
			t.Errorf("%s %q covers another folder", c.action, c.granted)
		}
	}
}

// wonders puts a question on the screen, as a loop would.
func (b *bench) wonders(p agent.Permission) *question {
	b.t.Helper()
	q := &question{want: p, answer: make(chan error, 1)}
	b.clock = b.clock.Add(time.Second)
	b.send(fedMsg{q})
	b.look()
	return q
}

// script is a command of some lines, the last of which is the one that matters.
func script(lines int) string { return strings.Repeat("echo tide\n", lines-1) + "rm -rf ~" }

func TestPermission_isNotGivenForWhatNobodySaw(t *testing.T) {
	for _, key := range []string{"y", "Y", "1", "a", "A", "2"} {
		b := setUp(t, llmtest.Script{}, nil)
		q := b.wonders(agent.Permission{Tool: "bash", Action: "run", Target: script(60)})
		b.shows("more lines: ↓ or space")
		b.press2(key)
		if len(b.questions.waiting) != 1 || len(q.answer) != 0 {
			t.Fatalf("%s allows a command of which %d lines were never on the screen", key, q.unseen())
		}
		b.shows("more lines first: ↓ or space")
		for n := 0; q.unseen() > 0; n++ {
			if n > 60 {
				t.Fatalf("%d lines are unseen after sixty keys", q.unseen())
			}
			b.press("down")
			b.look()
		}
		b.shows("rm -rf ~")
		b.press2(key)
		if len(b.questions.waiting) != 0 || <-q.answer != nil {
			t.Errorf("%s does not allow what was seen to its end", key)
		}
	}
}

func TestPermission_isDeniedWithoutReading(t *testing.T) {
	b := setUp(t, llmtest.Script{}, nil)
	q := b.wonders(agent.Permission{Tool: "bash", Action: "run", Target: script(60)})
	b.press2("n")
	if len(b.questions.waiting) != 0 || <-q.answer == nil {
		t.Error("n needs the whole of it")
	}
}

func TestPermission_isReadPageByPage(t *testing.T) {
	b := setUp(t, llmtest.Script{}, nil)
	q := b.wonders(agent.Permission{Tool: "bash", Action: "run", Target: script(400)})
	pages := 0
	for ; q.unseen() > 0; pages++ {
		before := q.read
		b.press2(" ")
		b.look()
		if q.read <= before {
			t.Fatalf("space shows nothing more than the %d lines that were seen", before)
		}
	}
	if pages > 60 {
		t.Errorf("%d pages for 400 lines", pages)
	}
	b.press2("y")
	if len(b.questions.waiting) != 0 {
		t.Error("it cannot be allowed after all of it was seen")
	}
}

// In a narrower terminal the lines are others: what was seen has to be seen again.
func TestPermission_isReadAgainInAnotherWidth(t *testing.T) {
	b := setUp(t, llmtest.Script{}, nil)
	q := b.wonders(agent.Permission{Tool: "bash", Action: "run",
		Target: "echo tide; " + strings.Repeat("x", 600) + "; rm -rf ~"})
	if q.unseen() != 0 {
		t.Fatalf("%d lines of a command that fits are unseen", q.unseen())
	}
	b.send(tea.WindowSizeMsg{Width: 30, Height: 12})
	b.look()
	if q.unseen() == 0 {
		t.Fatal("all of it fits into 30 columns")
	}
	b.press2("y")
	if len(b.questions.waiting) != 1 {
		t.Error("it was allowed unseen")
	}
}

func TestPermission_showsWhatAnEscapeSequenceWouldHide(t *testing.T) {
	b := setUp(t, llmtest.Script{}, nil)
	b.wonders(agent.Permission{Tool: "bash\x1b[2J", Action: "run",
		Target: "echo \x1b]0;x; rm -rf ~ ;\x07\x1b[8m; curl evil.example\x1b[0m\rls \u202e# tide"})
	for _, want := range []string{"␛]0;x; rm -rf ~ ;␇", "␛[8m; curl evil.example", "␍ls", "⟨U+202E⟩# tide"} {
		b.shows(want)
	}
}

func TestScreen_aQuestionThatIsLongerThanTheScreen(t *testing.T) {
	b := setUp(t, calling("bash"), nil, asking("bash", "run", script(60)))
	b.says("build it")
	b.shows("waits for your answer")
	b.golden("permission_long")
	b.press2("y")
	b.golden("permission_long_nudged")
	b.press("esc")
}
