package chat

import (
	"bytes"
	"image/color"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/winnowhq/winnow/agent"
	"github.com/winnowhq/winnow/agent/chat/internal/panel"
	"github.com/winnowhq/winnow/internal/llmtest"
)

func coloured(c *Config, _ *agent.Config) { c.NoColor = false }

// wheels turns the wheel.
func (b *bench) wheels(button tea.MouseButton, notches int) {
	for range notches {
		b.send(tea.MouseWheelMsg{Button: button})
	}
}

func TestWheel_scrollsTheTranscriptAndPanels(t *testing.T) {
	b := setUp(t, llmtest.Script{Answer: llmtest.Text("the first line\n\n" + strings.Repeat("line\n\n", 60) + "the last line")}, nil)
	b.says("one")
	b.shows("the last line")
	b.rests()
	b.wheels(tea.MouseWheelUp, 1)
	if got := b.look(); strings.Contains(got, "the last line") || !strings.Contains(got, "↓ more") {
		t.Errorf("after one notch up the screen is\n%s", got)
	}
	b.wheels(tea.MouseWheelUp, 60)
	b.shows("the first line")
	b.wheels(tea.MouseWheelDown, 60)
	b.shows("the last line")
	b.says("/help")
	b.shows("› /compact")
	b.wheels(tea.MouseWheelDown, 1)
	b.shows("› /undo")
}

func TestMouse_isGivenBackToTheTerminalOnRequest(t *testing.T) {
	b := setUp(t, llmtest.Script{}, nil)
	if got := b.draw().MouseMode; got != tea.MouseModeCellMotion {
		t.Errorf("the mouse mode is %v", got)
	}
	b.says("/mouse")
	b.shows("the mouse selects text")
	if got := b.draw().MouseMode; got != tea.MouseModeNone {
		t.Errorf("while somebody selects the mouse mode is %v", got)
	}
	b.says("/mouse")
	b.shows("hold shift")
	dumb := setUp(t, llmtest.Script{}, func(c *Config, _ *agent.Config) { c.Environ = []string{"TERM=dumb"} })
	if got := dumb.draw().MouseMode; got != tea.MouseModeNone {
		t.Errorf("on a dumb terminal the mouse mode is %v", got)
	}
}

// What is drawn follows the terminal's background; without colour nothing is asked or changed.
func TestBackground_isFollowed(t *testing.T) {
	b := setUp(t, llmtest.Script{Answer: llmtest.Text("see `code`")}, coloured)
	b.says("one")
	b.shows("see code")
	b.rests()
	lines, _ := b.screen()
	if got := strings.Join(lines, "\n"); !strings.Contains(got, "\x1b[36mcode") {
		t.Errorf("before the terminal answers:\n%q", got)
	}
	b.send(tea.BackgroundColorMsg{Color: color.White})
	lines, _ = b.screen()
	if got := strings.Join(lines, "\n"); !strings.Contains(got, "\x1b[38;5;24mcode") || strings.Contains(got, "\x1b[36m") {
		t.Errorf("on a light background:\n%q", got)
	}
	b.send(tea.BackgroundColorMsg{Color: color.Black})
	lines, _ = b.screen()
	if got := strings.Join(lines, "\n"); !strings.Contains(got, "\x1b[36mcode") {
		t.Errorf("on a dark background:\n%q", got)
	}
	plain := setUp(t, llmtest.Script{}, nil)
	plain.send(tea.BackgroundColorMsg{Color: color.White})
	if plain.style.Color || plain.askBackground() != nil {
		t.Error("without colour the background is asked for")
	}
}

func TestKnowsLinks(t *testing.T) {
	for env, want := range map[string]bool{
		"TERM=xterm-256color": false, "TERM=xterm-kitty": true, "TERM=foot": true, "TERM=xterm-256color VTE_VERSION=7600": true,
		"TERM=xterm VTE_VERSION=4000": false, "TERM_PROGRAM=iTerm.app": true, "TERM_PROGRAM=Apple_Terminal": false,
		"TERM=tmux-256color TERM_PROGRAM=tmux WT_SESSION=1": false, "TERM=xterm-kitty TMUX=/tmp/x": false, "": false,
	} {
		if got := knowsLinks(environment(Config{Environ: strings.Fields(env)})); got != want {
			t.Errorf("%s: %v, want %v", env, got, want)
		}
	}
}

// sent collects what the program would send to the terminal because of a message.
func (b *bench) sent(cmd tea.Cmd) (all []any) {
	if cmd == nil {
		return nil
	}
	switch msg := cmd().(type) {
	case tea.BatchMsg:
		for _, one := range msg {
			all = append(all, b.sent(one)...)
		}
	case nil:
	default:
		all = append(all, msg)
	}
	return all
}

func TestNotify_tellsOfTheEndOfALongTurn(t *testing.T) {
	for way, want := range map[string]string{NotifyBell: "\a", NotifyOSC9: "\x1b]9;winnow: done after 1m5s\a",
		NotifyOSC777: "\x1b]777;notify;winnow;winnow: done after 1m5s\a"} {
		b := setUp(t, llmtest.Script{}, func(c *Config, _ *agent.Config) { c.Notify = way })
		if got := b.sent(b.notify(65*time.Second + 300*time.Millisecond)); len(got) != 1 || got[0] != (tea.RawMsg{Msg: want}) {
			t.Errorf("%s: %q, want %q", way, got, want)
		}
		if b.notify(59*time.Second) != nil {
			t.Errorf("%s: a short turn is told", way)
		}
		b.session.title = "evil\a;title\x1b]0;x"
		if got := b.sent(b.notify(time.Minute))[0].(tea.RawMsg).Msg.(string); strings.Count(got, "\a") != 1 ||
			strings.Count(got, "\x1b") > 1 || way != NotifyBell && !strings.Contains(got, "evil␇,title␛]0,x") {
			t.Errorf("%s: with a hostile title: %q", way, got)
		}
	}
	b := setUp(t, llmtest.Script{}, nil)
	if b.notify(time.Hour) != nil {
		t.Error("it is told without being asked for")
	}
}

const twoBlocks = "Here:\n\n```go\nx := 1\n```\n\nor\n\n1. so\n\n   ```sh\n   ls\n     -l\n   ```\n"

func TestCopy_answersAndCode(t *testing.T) {
	b := setUp(t, llmtest.Script{Answer: llmtest.Text(twoBlocks)}, nil)
	b.says("/copy")
	b.shows("there is no session yet")
	b.press("ctrl+y")
	b.shows("there is no answer to copy yet")
	b.says("one")
	b.shows("  -l")
	b.rests()
	copied := func(what string) any {
		got := b.sent(b.copyCommand(what))
		if len(got) != 1 {
			t.Fatalf("/copy %s: %v", what, got)
		}
		return got[0]
	}
	if got, want := copied(""), tea.SetClipboard(strings.TrimSpace(twoBlocks))(); got != want {
		t.Errorf("/copy: %q, want %q", got, want)
	}
	if got, want := copied("code"), tea.SetClipboard("ls\n  -l\n")(); got != want {
		t.Errorf("/copy code: %q, want %q", got, want)
	}
	b.shows("copied: sh, 2 lines")
	b.press("ctrl+y")
	b.shows("── Copy ──")
	b.golden("copy")
	b.press("down", "down")
	p, cmd := panel.Updated(b.panel, tea.KeyPressMsg{Code: tea.KeyEnter})
	if got := cmd(); p != nil || got != (panel.CopyChosen{What: "go", Code: true, Text: "x := 1\n"}) {
		t.Errorf("enter on the third line: %v, %v", p, got)
	}
	b.copied(panel.Copy{What: "answer", Text: strings.Repeat("x", mostCopied+1)})
	b.press("esc")
	b.shows("too long for the clipboard")
}

func TestClear_keepsTheSession(t *testing.T) {
	b := setUp(t, llmtest.Script{Answer: llmtest.Text("an answer")}, nil)
	b.says("one")
	b.shows("an answer")
	b.rests()
	before := b.session.id
	b.says("/clear")
	b.shows("winnow inspect --log " + before)
	if got := b.look(); strings.Contains(got, "an answer") {
		t.Errorf("the old session is still shown:\n%s", got)
	}
	b.says("two")
	b.shows("an answer")
	b.rests()
	if b.session.id == before {
		t.Error("the session is the old one")
	}
	if _, err := b.store.State(t.Context(), before); err != nil {
		t.Errorf("the old session: %v", err)
	}
}

// At the end the transcript is left in the terminal, with no sequence but colours.
func TestLeave_leavesTheTranscript(t *testing.T) {
	b := setUp(t, llmtest.Script{Answer: llmtest.Text("**an** answer\x1b[2J")}, coloured)
	var out bytes.Buffer
	if err := b.leave(&out); err != nil || out.Len() > 0 {
		t.Errorf("without a message: %q, %v", out.String(), err)
	}
	b.says("one")
	b.shows("an answer")
	b.rests()
	b.config.Environ = []string{"TERM=xterm-256color", "CLICOLOR_FORCE=1"}
	if err := b.leave(&out); err != nil {
		t.Fatal(err)
	}
	if got, want := ansi.Strip(out.String()), "▌ one\n\n  an answer\n"; got != want || !strings.Contains(out.String(), "\x1b[1m") {
		t.Errorf("%q, want %q in colour", out.String(), want)
	}
	b.says("two " + strings.Repeat("\nline", 10))
	b.rests()
	lines, cut := b.transcript.Last(5)
	if len(lines) != 5 || !cut {
		t.Errorf("%d lines, cut %v", len(lines), cut)
	}
}
