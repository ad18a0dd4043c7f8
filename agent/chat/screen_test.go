package chat

import (
	"slices"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
	"pgregory.net/rapid"

	"github.com/winnowhq/winnow/agent"
	"github.com/winnowhq/winnow/agent/chat/internal/drawtest"
	"github.com/winnowhq/winnow/internal/llmtest"
)

// Whatever is pressed at whatever size, the screen is full and nothing is wider than it.
func TestScreen_fitsWhateverHappens(t *testing.T) {
	b := setUp(t, working(), nil, job()...)
	b.says("mend the parser 日本語 " + strings.Repeat("long", 60))
	b.shows("the end of the file")
	b.rests()
	names := slices.Sorted(func(yield func(string) bool) {
		for name := range drawtest.Keys {
			if name != "ctrl+c" && name != "enter" && !yield(name) {
				return
			}
		}
	})
	rapid.Check(t, func(t *rapid.T) {
		b.Update(tea.WindowSizeMsg{Width: rapid.IntRange(1, 160).Draw(t, "width"),
			Height: rapid.IntRange(1, 50).Draw(t, "height")})
		for range rapid.IntRange(0, 6).Draw(t, "keys") {
			b.clock = b.clock.Add(time.Second)
			switch rapid.IntRange(0, 5).Draw(t, "kind") {
			case 0:
				b.Update(tea.PasteMsg{Content: strings.Repeat("paste 日本\n", rapid.IntRange(1, 60).Draw(t, "lines"))})
			case 1:
				b.Update(tea.KeyPressMsg{Code: '/', Text: "/"})
			case 2:
				b.transcript.Delta(9, "a **piece**\n```\n\tcode\n")
			case 3:
				b.questions.waiting = nil
				if rapid.Bool().Draw(t, "asked") {
					b.questions.waiting = []*question{{want: agent.Permission{Tool: "bash", Action: "run", Target: strings.Repeat("rm -rf /\n", 30)}, answer: make(chan error, 1)}}
				}
			default:
				b.Update(drawtest.Keys[rapid.SampledFrom(names).Draw(t, "key")])
			}
		}
		lines, cursor := b.screen()
		if len(lines) != b.height {
			t.Fatalf("%d×%d: %d lines", b.width, b.height, len(lines))
		}
		for i, l := range lines {
			if w := ansi.StringWidth(l); w > b.width {
				t.Fatalf("%d×%d: line %d is %d columns wide: %q", b.width, b.height, i, w, l)
			}
		}
		if cursor != nil && (cursor.X < 0 || cursor.X >= b.width || cursor.Y < 0 || cursor.Y >= b.height) {
			t.Fatalf("%d×%d: the cursor is at %d,%d", b.width, b.height, cursor.X, cursor.Y)
		}
	})
	b.questions.waiting = nil
}

// Colour repeats what is said already: without it the words and signs are the same, and the marks
// of Markdown stay.
func TestScreen_colourSaysNothingMore(t *testing.T) {
	b := setUp(t, working(), func(c *Config, _ *agent.Config) { c.NoColor = false }, job()...)
	b.says("mend the parser")
	b.shows("the end of the file")
	b.rests()
	lines, _ := b.screen()
	coloured := strings.Join(lines, "\n")
	if !strings.Contains(coloured, "\x1b[") {
		t.Error("there is no colour")
	}
	plain := setUp(t, working(), nil, job()...)
	plain.says("mend the parser")
	plain.shows("the end of the file")
	plain.rests()
	lines, _ = plain.screen()
	without := strings.Join(lines, "\n")
	if strings.Contains(without, "\x1b") {
		t.Errorf("without colour there are escape sequences: %q", without)
	}
	marks := strings.NewReplacer("`", "", "## ", "")
	if got := ansi.Strip(coloured); got != marks.Replace(without) || !strings.Contains(without, "`next`") {
		t.Errorf("with colour\n%s\nwithout\n%s", got, without)
	}
}

func TestAnswer_thatBreaksOffIsAskedForAgain(t *testing.T) {
	b := setUp(t, llmtest.Script{Answer: llmtest.Text("here is all of it, to the end").Fails(llmtest.CutClean)}, nil)
	b.says("one")
	b.shows("it is asked for again")
	b.shows("to the end")
	b.rests()
	if got := b.look(); strings.Count(got, "here is") != 1 {
		t.Errorf("what broke off is still there:\n%s", got)
	}
}

func TestPrompt_ofTheConfigurationIsSaidToTheSessionThatIsResumed(t *testing.T) {
	b := setUp(t, llmtest.Script{Answer: llmtest.Text("an answer")}, nil)
	b.says("first")
	b.shows("an answer")
	b.rests()
	again := &bench{t: t, store: b.store, upstream: b.upstream, messages: make(chan tea.Msg, 1<<12), clock: b.clock, clock0: b.clock0.Add(time.Minute)}
	again.start(llmtest.Script{}, func(c *Config, _ *agent.Config) { c.Session, c.Prompt = b.session.id, "and then" })
	again.shows("▌ and then")
	again.until("two answers", func() bool { return strings.Count(again.look(), "an answer") == 2 })
	again.rests()
	if got := again.look(); strings.Index(got, "▌ first") > strings.Index(got, "▌ and then") {
		t.Errorf("the order is not that of the log:\n%s", got)
	}
}

func TestSession_thatStoppedInTheMiddleOffersToGoOn(t *testing.T) {
	hold := make(chan struct{})
	defer close(hold)
	b := setUp(t, llmtest.Script{Answer: llmtest.Sequence(llmtest.Reply{Text: "never said", Hold: hold}, llmtest.Reply{Text: "here it is"})}, nil)
	b.says("one")
	b.until("a request", func() bool { return len(b.upstream.Records()) > 0 })
	b.press("esc")
	b.rests()
	again := &bench{t: t, store: b.store, upstream: b.upstream, messages: make(chan tea.Msg, 1<<12), clock: b.clock, clock0: b.clock0.Add(time.Minute)}
	again.start(llmtest.Script{}, func(c *Config, _ *agent.Config) { c.Session = b.session.id })
	again.shows("stopped in the middle of a turn")
	again.press("enter")
	again.shows("here it is")
}
