package chat

import (
	"context"
	"errors"
	"fmt"
	"github.com/winnowhq/winnow"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/winnowhq/winnow/agent"
	"github.com/winnowhq/winnow/agent/chat/internal/draw"
	"github.com/winnowhq/winnow/agent/chat/internal/drawtest"
	"github.com/winnowhq/winnow/agent/chat/internal/panel"
	"github.com/winnowhq/winnow/internal/llmtest"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store/edit"
)

// talked is a session of several turns with large outputs.
func talked(t *testing.T, turns int, change func(*Config, *agent.Config)) *bench {
	t.Helper()
	calls := 0
	b := setUp(t, llmtest.Script{Answer: func(r llmtest.Request) llmtest.Reply {
		if strings.HasPrefix(r.Last(), "turn ") {
			calls++
			return llmtest.Reply{Calls: []llmtest.Call{{Name: "read",
				Arguments: fmt.Sprintf(`{"filePath":"file%d.go"}`, calls)}}}
		}
		return llmtest.Reply{Text: fmt.Sprintf("answer %d", calls)}
	}}, change, tool{"read", func(_ context.Context, c agent.Call) (agent.Result, error) {
		return agent.Result{Title: "file.go", Output: strings.Repeat("func made() { return "+string(c.Input)+" }\n",
			700), Metadata: map[string]any{"lines": 700, "total": 700}}, nil
	}})
	for i := range turns {
		b.says(fmt.Sprintf("turn %d", i+1))
		b.shows(fmt.Sprintf("answer %d", i+1))
		b.rests()
	}
	return b
}

func TestCommand_unknownOnesNameTheNearest(t *testing.T) {
	for typed, want := range map[string]string{
		"compct": "/compact", "undoo": "/undo", "recipt": "/receipt", "mdoel": "/model", "con": "/context",
		"hlep":   "/help",
		"wombat": "/help lists", "": "/help lists",
	} {
		if got := unknownCommand(typed, commands()); !strings.Contains(got, want) {
			t.Errorf("/%s: %q, want %s in it", typed, got, want)
		}
	}
}

func TestCommand_aPathInTheBeginningIsAMessageWithTwoSlashes(t *testing.T) {
	b := setUp(t, llmtest.Script{Answer: llmtest.Text("seen")}, nil)
	b.says("//etc/hosts is where?")
	b.shows("seen")
	if !b.upstream.Records()[0].Contains("/etc/hosts is where?") || b.upstream.Records()[0].Contains("//etc") {
		t.Errorf("sent: %s", b.upstream.Records()[0].Body)
	}
}

func TestCompletion_offersWhatBeginsAlike(t *testing.T) {
	b := setUp(t, llmtest.Script{}, nil)
	b.types("/co")
	got := b.look()
	for _, want := range []string{"/compact [focus]", "/context", "/cost"} {
		if !strings.Contains(got, want) {
			t.Errorf("%s is not offered:\n%s", want, got)
		}
	}
	b.golden("completion")
	b.press("tab", "tab")
	b.shows("› /context")
	b.press("enter")
	b.shows("no session yet")
	b.types("/und")
	b.press("tab")
	if got := b.input.Value(); got != "/undo " {
		t.Errorf("tab makes %q of /und", got)
	}
}

func TestCompact_isPreviewedMadeUndoneAndRedone(t *testing.T) {
	b := talked(t, 4, nil)
	b.says("/compact the parser")
	b.shows("would stay word for word")
	b.golden("preview")
	b.press("enter")
	b.shows("≡ folded")
	b.rests()
	b.golden("folded")
	b.says("/undo")
	b.shows("undone: the folding of")
	b.says("/redo")
	b.shows("done again: the folding of")
	b.says("/receipt")
	b.shows("Receipts")
	b.press("esc")
}

func TestPrune_showsWhatWent(t *testing.T) {
	b := talked(t, 4, nil)
	b.says("/prune")
	b.shows("nothing to prune: ")
	request := edit.Request{Discard: []string{b.handle()}}
	if _, err := b.config.Engine.Edit(t.Context(), b.session.id, request); err != nil {
		t.Fatal(err)
	}
	b.shows("✂ pruned 1 part: ")
	b.rests()
	b.golden("pruned")
	b.says("/undo")
	b.shows("undone: the pruning of 1 part")
}

// handle names the first part that can be pruned.
func (b *bench) handle() string {
	b.t.Helper()
	all, err := winnow.Look(b.t.Context(), b.config.Engine, b.session.id, edit.Handles)
	if err != nil || len(all) == 0 {
		b.t.Fatalf("%d handles: %v", len(all), err)
	}
	return all[0].Handle
}

func TestCommands_work(t *testing.T) {
	reverted := ""
	b := talked(t, 2, func(c *Config, _ *agent.Config) {
		c.Export = func(_ context.Context, id, file string) (string, error) {
			if file == "" {
				return "", errors.New("no file was named")
			}
			return "/tmp/" + file, nil
		}
		c.Revert = func(_ context.Context, id, message string) (string, string, error) {
			reverted = message
			return id, "went back to before “turn 2”", nil
		}
	})
	for _, c := range []struct{ typed, want string }{
		{"/help", "fold the past into a summary"},
		{"/cost", "came from the cache"},
		{"/context", "parts, largest first"},
		{"/sessions", "turn 1"},
		{"/model", "acme/reader"},
	} {
		b.says(c.typed)
		b.until(c.typed, func() bool { return b.panel != nil })
		b.shows(c.want)
		b.press("esc")
		if b.panel != nil {
			t.Errorf("%s is not closed with esc", c.typed)
		}
	}
	b.says("/pin never touch the migrations")
	b.shows("pinned: never touch the migrations")
	b.says("/later")
	b.shows("no more warnings in this session until the window is full")
	b.says("/export out.json")
	b.shows("exported to /tmp/out.json")
	b.says("/export")
	b.shows("nothing was exported: no file was named")
	b.says("/model acme/reader")
	b.shows("acme/reader answers from now on")
	b.says("/title  Mending the parser")
	b.shows("── Mending the parser ──")
	if got := b.View().WindowTitle; got != "Mending the parser · winnow" {
		t.Errorf("the terminal's title is %q", got)
	}
	b.says("/wombat")
	b.shows("there is no /wombat")
	b.says("/revert")
	b.shows("2 messages of yours, newest first")
	b.press("enter")
	b.shows("went back to before")
	b.rests()
	if reverted == "" {
		t.Error("no message was named to go back to")
	}
	if got := b.input.Value(); got != "turn 2" {
		t.Errorf("the message that was taken back is not in the line to be changed, but %q", got)
	}
	b.press("ctrl+u")
	b.says("/new")
	b.shows("begins with your next message")
	if b.session.id != "" {
		t.Error("the session is still the old one")
	}
	b.says("/quit")
	b.until("the end", func() bool { return b.quit })
}

func TestCommands_whileItWorks(t *testing.T) {
	hold := make(chan struct{})
	b := setUp(t, llmtest.Script{Answer: func(r llmtest.Request) llmtest.Reply {
		return llmtest.Reply{Text: "said at " +
			"last", Hold: hold}
	}}, nil)
	b.says("one")
	b.until("a request", func() bool { return len(b.upstream.Records()) > 0 })
	for typed, want := range map[string]string{
		"/model acme/reader": "waits until the turn has ended", "/new": "waits until the turn has ended",
		"/pin a text": "pinned: a text", "/prune": "nothing to prune",
	} {
		b.says(typed)
		b.shows(want)
	}
	close(hold)
	b.shows("said at last")
}

func TestResume_showsTheSessionThatWas(t *testing.T) {
	b := talked(t, 3, nil)
	b.says("/compact")
	b.shows("would stay word for word")
	b.press("enter")
	b.shows("≡ folded")
	b.rests()
	want, id := b.look(), b.session.id
	again := &bench{t: t, store: b.store, upstream: b.upstream, messages: make(chan tea.Msg, 1<<12), clock: b.clock,
		clock0: b.clock0.Add(time.Minute)}
	again.start(llmtest.Script{}, func(c *Config, _ *agent.Config) { c.Session = id })
	again.shows("≡ folded")
	again.rests()
	if got := again.look(); got != want {
		t.Errorf("the session that was resumed looks like\n%s\nwant\n%s", got, want)
	}
	again.press("home")
	again.shows("▌ turn 1")
	again.press("end")
	again.press("up")
	if got := again.input.Value(); got != "turn 3" {
		t.Errorf("up gives %q, want what was said last", got)
	}
}

// A way back may end after the files were brought back and before there is a session to go on with.
func TestCommands_aRevertThatFailsSaysWhatItDid(t *testing.T) {
	b := talked(t, 1, func(c *Config, _ *agent.Config) {
		c.Revert = func(context.Context, string, string) (string, string, error) {
			return "", "To have the files as they were: winnow revert x", errors.New("the store is full")
		}
	})
	id := b.session.id
	b.says("/revert")
	b.shows("newest first")
	b.press("enter")
	b.shows("the session was not reverted: the store is full")
	b.shows("To have the files as they were: winnow revert x")
	if b.session.id != id {
		t.Errorf("it went on with %q, want %q", b.session.id, id)
	}
}

// cannot takes no snapshot.
type cannot struct{}

func (cannot) Take(context.Context) (string, error) { return "", errors.New("the disk is full") }
func (cannot) Diff(context.Context, string, string) ([]session.FileDiff, error) {
	return nil, errors.New("no snapshots")
}

func TestChat_showsWhatTheLoopWorksOnWithout(t *testing.T) {
	b := talked(t, 1, func(_ *Config, a *agent.Config) { a.Snapshots = cannot{} })
	b.shows("! No snapshot of the files could be taken")
	b.shows("the disk is full")
}

func TestGrants_areOfOneSession(t *testing.T) {
	b := talked(t, 1, nil)
	p := agent.Permission{Tool: "bash", Action: "run", Target: "go test"}
	b.questions.grants.add(p)
	if !b.questions.grants.allow(p) {
		t.Fatal("what was granted is not allowed")
	}
	b.says("/new")
	b.shows("begins with your next message")
	if b.questions.grants.allow(p) {
		t.Error("what was granted for the session before is allowed in the next one")
	}
}

// What /help shows at three sizes, without colour.
func TestHelp_look(t *testing.T) {
	var all []panel.Command
	for _, c := range commands() {
		all = append(all, c.Command)
	}
	p := panel.NewHelp(all, [][2]string{{"enter", "send"}, {"esc", "stop the turn"},
		{"ctrl+o", "unfold what was done: the newest turn, all, nothing"}}, draw.NewStyle(false))
	p.View(80, 24)
	p.Update(drawtest.Keys["down"])
	for _, size := range [][2]int{{80, 24}, {40, 12}, {140, 40}} {
		lines := drawtest.Fits(t, p.View(size[0], size[1]), size[0], size[1])
		drawtest.Golden(t, fmt.Sprintf("help-%dx%d", size[0], size[1]), strings.Join(lines, "\n")+"\n")
	}
}
