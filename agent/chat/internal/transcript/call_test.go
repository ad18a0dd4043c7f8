package transcript

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/agent/chat/internal/draw"
	"github.com/winnowhq/winnow/look/tui"
	"github.com/winnowhq/winnow/session"
)

func TestCall_oneLineWithItsOutcome(t *testing.T) {
	took := func(ms int) *session.Span {
		return &session.Span{Start: 1_000, End: session.Millis(1_000 + ms)}
	}
	for _, c := range []struct {
		name, tool, input, metadata, result string
		status                              session.Status
		title                               string
		time                                *session.Span
		want                                string
	}{
		{"a whole file", "read", `{"filePath":"src/a.go"}`, `{"lines":120,"total":120}`, "x", session.Completed,
			"src/a.go", took(40), "✓ read src/a.go · 120 lines"},
		{"a piece of one", "read", `{"filePath":"src/a.go"}`, `{"lines":12,"total":1200}`, "x", session.Completed,
			"src/a.go", nil, "✓ read src/a.go · 12 of 1,200 lines"},
		{"a command that failed", "bash", `{"command":"go test ./..."}`, `{"exit":1}`, "FAIL", session.Failed,
			"go test ./...", took(3_200), "✗ bash go test ./... · exit 1 · 3.2 s"},
		{"one that took long", "bash", `{"command":"make"}`, `{"exit":0}`, "a\nb\n", session.Completed, "make",
			took(125_000), "✓ bash make · 2 lines · 2 min 5 s"},
		{"one that timed out", "bash", `{"command":"make"}`, `{"exit":-1,"timedOut":true}`, "", session.Failed, "make",
			nil, "✗ bash make · timed out"},
		{"one that says nothing", "bash", `{"command":"true"}`, `{"exit":0}`, "", session.Completed, "true", nil,
			"✓ bash true · no output"},
		{"one that was interrupted", "bash", `{"command":"make"}`, `{"interrupted":true}`, "x", session.Failed, "make",
			nil, "■ bash make · interrupted"},
		{"a search", "grep", `{"pattern":"emit"}`, `{"matches":12,"files":3}`, "x", session.Completed, "emit", nil,
			"✓ grep emit · 12 matches in 3 files"},
		{"one match", "grep", `{"pattern":"emit"}`, `{"matches":1,"files":1}`, "x", session.Completed, "emit", nil,
			"✓ grep emit · 1 match in 1 file"},
		{"names", "glob", `{"pattern":"*.go"}`, `{"matches":4}`, "x", session.Completed, "*.go", nil,
			"✓ glob *.go · 4 files"},
		{"a folder", "list", `{"path":"."}`, `{"entries":1}`, "x", session.Completed, ".", nil, "✓ list . · 1 entry"},
		{"a new file", "write", `{"filePath":"a"}`, `{"created":true,"added":3,"removed":0}`, "x", session.Completed,
			"a", nil, "✓ write a · +3 −0 · new"},
		{"a tool of somebody's", "mcp__x__y", `{"q":"tides"}`, `{"lines":"many"}`, "it is high", session.Completed, "",
			nil, "✓ mcp__x__y tides · it is high"},
		{"one that was refused", "read", `{"filePath":"/etc/x"}`, ``, "nothing was done\nmore", session.Failed, "", nil,
			"✗ read /etc/x · nothing was done"},
		{"one with an escape sequence", "read\x1b[2J", "{\"filePath\":\"a\\u001b]0;x\\u0007b\"}", ``,
			"\x1b[31mred\x1b[0m", session.Completed, "", nil, "✓ read a␛]0;x␇b · red"},
	} {
		t.Run(c.name, func(t *testing.T) {
			tr := New(draw.NewStyle(false))
			tr.Resize(80, 20)
			p := session.Part{Type: session.ToolPart, CallID: "c", Tool: c.tool, State: &session.ToolState{
				Status: c.status, Input: jsontext.Value(c.input), Title: c.title, Metadata: jsontext.Value(c.metadata),
				Time: c.time}}
			if c.status == session.Failed {
				p.State.Error = c.result
			} else {
				p.State.Output = c.result
			}
			lines, moving := tr.layCall(&p, false)
			if len(lines) != 1 || lines[0] != c.want || moving {
				t.Errorf("got %q (moving: %v), want %q", lines, moving, c.want)
			}
		})
	}
}

func TestCall_thatRunsShowsHowFarItIs(t *testing.T) {
	tr := New(draw.NewStyle(false))
	tr.Resize(60, 20)
	tr.Spinner = "◐"
	p := session.Part{Type: session.ToolPart, CallID: "c", Tool: "bash",
		State: &session.ToolState{Status: session.Running, Input: jsontext.Value(`{"command":"make"}`)}}
	for _, c := range []struct {
		change func()
		want   string
	}{
		{func() {}, "◐ bash make · waits for the one before"},
		{func() { tr.Started["c"] = true }, "◐ bash make · running"},
		{func() { tr.Progress["c"] = "compiling a\ncompiling b\n" }, "◐ bash make · compiling b"},
		{func() { tr.Asking["bash"] = true }, "◐ bash make · waits for your answer"},
	} {
		c.change()
		lines, moving := tr.layCall(&p, false)
		if lines[0] != c.want || !moving {
			t.Errorf("got %q (moving: %v), want %q", lines[0], moving, c.want)
		}
	}
}

func TestDiff_ofArgumentsWhereNoToolGivesOne(t *testing.T) {
	tr := New(draw.NewStyle(false))
	tr.Resize(60, 20)
	p := session.Part{Type: session.ToolPart, CallID: "c", Tool: "edit",
		State: &session.ToolState{Status: session.Completed, Output: "done", Title: "a.go",
			Input: jsontext.Value(`{"filePath":"a.go","oldString":"one\ntwo\nthree","newString":"one\n2\n2b\nthree"}`)}}
	lines, _ := tr.layCall(&p, false)
	got, want := strings.Join(lines, "\n"), "✓ edit a.go · +2 −1\n    - two\n    + 2\n    + 2b"
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestDiff_aLongOneIsCutWithACount(t *testing.T) {
	tr := New(draw.NewStyle(false))
	tr.Resize(60, 20)
	p := session.Part{Type: session.ToolPart, CallID: "c", Tool: "write",
		State: &session.ToolState{Status: session.Completed, Title: "a",
			Input: jsontext.Value(`{"filePath":"a","content":"` + strings.Repeat(`x\n`, 500) + `"}`)}}
	folded, _ := tr.layCall(&p, false)
	if len(folded) != 1+diffLines || !strings.Contains(folded[diffLines], "… 495 more lines") {
		t.Errorf("folded it is %d lines, the last %q", len(folded), folded[len(folded)-1])
	}
	open, _ := tr.layCall(&p, true)
	if len(open) < openDiff || len(open) > openDiff+10 {
		t.Errorf("unfolded it is %d lines", len(open))
	}
}

func TestCall_fitsItsLine(t *testing.T) {
	for _, name := range []string{"bash", strings.Repeat("a_tool_", 9)} {
		for width := 20; width < 90; width++ {
			tr := New(draw.NewStyle(false))
			tr.width = width
			p := &session.Part{Type: session.ToolPart, Tool: name,
				State: &session.ToolState{Status: session.Failed, Title: "go test ./... -run TestOfEverything",
					Error:    "no",
					Metadata: jsontext.Value(`{"exit":1,"title":"go test ./..."}`)}}
			lines, _ := tr.layCall(p, false)
			if got := tui.Columns(lines[0]); got > width {
				t.Errorf("at %d columns the line takes %d: %q", width, got, lines[0])
			}
		}
	}
}
