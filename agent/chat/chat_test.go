package chat

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/google/go-cmp/cmp"

	"github.com/winnowhq/winnow/agent"
	"github.com/winnowhq/winnow/agent/chat/internal/drawtest"
	"github.com/winnowhq/winnow/internal/llmtest"
)

// golden compares the screen with the one that somebody looked at, at both sizes.
func (b *bench) golden(name string) {
	b.t.Helper()
	for _, size := range [][2]int{{80, 24}, {140, 40}, {40, 12}} {
		b.send(tea.WindowSizeMsg{Width: size[0], Height: size[1]})
		got := receiptID.ReplaceAllString(b.look(), "rcp_01234567890123456789012345") + "\n"
		file := filepath.Join("testdata", fmt.Sprintf("%s_%dx%d.txt", name, size[0], size[1]))
		if drawtest.Updates() {
			if err := os.MkdirAll("testdata", 0o755); err != nil {
				b.t.Fatal(err)
			}
			if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
				b.t.Fatal(err)
			}
			continue
		}
		want, err := os.ReadFile(file)
		if err != nil {
			b.t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), got); diff != "" {
			b.t.Errorf("%s (-want +got):\n%s", file, diff)
		}
	}
	b.send(tea.WindowSizeMsg{Width: 80, Height: 24})
}

var receiptID = regexp.MustCompile(`rcp_[0-9A-Za-z]{26}`)

// after answers by how many results of calls there are.
func after(replies ...llmtest.Reply) llmtest.Answer {
	return func(r llmtest.Request) llmtest.Reply { return replies[min(r.Results(), len(replies)-1)] }
}

const answer = `## What is wrong

The parser loses the last line of a file that does not end in a newline, because ` + "`next`" + ` looks for the newline before it looks for the end:

` + "```go\nfor r := range p.runes {\n\tif r == '\\n' {\n\t\tp.emit()\n\t}\n}\n```" + `

1. The loop ends without a last ` + "`emit`" + `, which is what loses the line that was begun.
2. The test has a newline at its end and does not see it.

> A line is ended by a newline, or by the end of the file.`

func job() []agent.Tool {
	return []agent.Tool{
		tool{"read", func(context.Context, agent.Call) (agent.Result, error) {
			return agent.Result{Title: "parse/next.go", Output: strings.Repeat("a line of the file\n", 120),
				Metadata: map[string]any{"lines": 120, "total": 120}}, nil
		}},
		tool{"edit", func(context.Context, agent.Call) (agent.Result, error) {
			return agent.Result{Title: "parse/next.go", Output: "done",
				Metadata: map[string]any{"added": 2, "removed": 1,
					"diff": "diff a b\n--- a/parse/next.go\n+++ b/parse/next.go\n@@ -1,3 +1,4 @@\n \tfor r := range " +
						"p.runes {\n-\tif r == '\\n' {\n+\tif r == '\\n' || r == end {\n+\t\tp.last = true\n " +
						"\t\tp.emit()\n"}}, nil
		}},
		tool{"bash", func(context.Context, agent.Call) (agent.Result, error) {
			return agent.Result{Title: "go test ./...",
				Output: "--- FAIL: TestNext\n\x1b[31mpanic\x1b[0m\x07: no\r\nFAIL\n", Failed: true,
				Metadata: map[string]any{"exit": 1}}, nil
		}},
	}
}

func working() llmtest.Script {
	return llmtest.Script{Answer: after(
		llmtest.Reply{Reasoning: "They want the parser mended.\nI look at it first.", Text: "I look at the parser.",
			Calls: []llmtest.Call{{Name: "read", Arguments: `{"filePath":"parse/next.go"}`}}},
		llmtest.Reply{Calls: []llmtest.Call{{Name: "edit",
			Arguments: `{"filePath":"parse/next.go","oldString":"a","newString":"b"}`}}},
		llmtest.Reply{Calls: []llmtest.Call{{Name: "bash", Arguments: `{"command":"go test ./..."}`}}},
		llmtest.Reply{Text: answer},
	)}
}

func TestScreen_aJobThatIsDone(t *testing.T) {
	b := setUp(t, working(), nil, job()...)
	b.golden("empty")
	b.says("mend the parser")
	b.shows("by the end of the file")
	b.rests()
	b.golden("done")
	b.press("ctrl+o")
	b.press("pgup", "pgup")
	b.golden("unfolded")
}

func TestScreen_noEscapeSequenceReachesIt(t *testing.T) {
	b := setUp(t, llmtest.Script{Answer: llmtest.Text("first\x1b[2J\x1b]0;owned\x07 \u202egnorw\u202c \x9b31m last")},
		nil)
	b.says("what")
	b.shows("last")
	lines, _ := b.screen()
	for i, l := range lines {
		for _, r := range l {
			if r < ' ' || r == 0x7f || r == 0x9b || r == 0x202e {
				t.Errorf("line %d has %q: %q", i, r, l)
			}
		}
	}
}

func TestQueue_whatIsSaidWhileItWorksIsShownUntilItIsInTheLog(t *testing.T) {
	hold := make(chan struct{})
	b := setUp(t, llmtest.Script{Answer: func(r llmtest.Request) llmtest.Reply {
		if r.Number == 1 {
			return llmtest.Reply{Text: "the first answer", Hold: hold}
		}
		return llmtest.Reply{Text: "the second answer"}
	}}, nil)
	b.says("one")
	b.shows("▌ one")
	b.says("and two")
	b.shows("↥ waits: and two")
	close(hold)
	b.shows("the second answer")
	b.rests()
	if screen := b.look(); strings.Contains(screen, "waits") || !strings.Contains(screen, "▌ and two") {
		t.Errorf("the second message is not in the transcript, or waits still:\n%s", screen)
	}
}

func TestEscape_stopsTheTurnAndEnterGoesOnWithIt(t *testing.T) {
	hold := make(chan struct{})
	defer close(hold)
	b := setUp(t, llmtest.Script{Answer: llmtest.Sequence(llmtest.Reply{Text: "never said", Hold: hold},
		llmtest.Reply{Text: "here it is"})}, nil)
	b.says("one")
	b.until("a request", func() bool { return len(b.upstream.Records()) > 0 })
	b.press("esc")
	b.shows("■ interrupted")
	b.rests()
	b.shows("enter goes on")
	b.press("enter")
	b.shows("here it is")
}

func TestQuit_takesTwo(t *testing.T) {
	b := setUp(t, llmtest.Script{}, nil)
	b.types("half a thought")
	b.press("ctrl+c")
	if got := b.look(); !strings.Contains(got, "ctrl+c again quits") || strings.Contains(got, "half a thought") {
		t.Errorf("after one ctrl+c the screen is\n%s", got)
	}
	b.press("ctrl+c")
	b.until("the end", func() bool { return b.quit })
}

func TestError_saysWhatToDo(t *testing.T) {
	b := setUp(t, llmtest.Script{Answer: llmtest.Text("well").Fails(llmtest.Unauthorized)}, nil)
	b.says("one")
	b.shows("enter on an empty line tries again")
	b.rests()
	b.golden("failed")
	b.press("enter")
	b.shows("  well")
}

func TestRun_needsAnEngineAndALoop(t *testing.T) {
	if err := Run(t.Context(), Config{}); err == nil || !strings.Contains(err.Error(), "Config.Engine") {
		t.Errorf("without an engine: %v", err)
	}
	b := setUp(t, llmtest.Script{}, nil)
	c := b.config
	c.Open = nil
	if err := Run(t.Context(), c); err == nil || !strings.Contains(err.Error(), "Config.Open") {
		t.Errorf("without a loop: %v", err)
	}
}
