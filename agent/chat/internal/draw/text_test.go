package draw

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/winnowhq/winnow/agent/chat/internal/drawtest"
)

// An answer is laid out alike however it arrives, in the width that there is.
func FuzzProse(f *testing.F) {
	for _, seed := range []string{"# Title\n\nA list:\n\n- one\n- two\n\n```go\nx := 1\n```\n", "```\n\x1b[2J\n``",
		"> \n>> x\n- a\n   1. b\n|a|b|\n    code\n# H\n#", "~~~~\n~~~\n`\n", "日本語日本語日本語日本語日本語\u202e\x00\xff",
		"\t\t\tx\r\n\r", "**a [b](https://c.d/e_(f)) `g`** ~~h~~ <https://i> ***j*** _k_",
		"| a | b |\n|--:|:-:|\n| 日本 | `c|d` |\n|e\n", "- - - - -\n***\n1.\n1. \n>"} {
		f.Add(seed, uint8(20), uint8(7))
	}
	f.Fuzz(func(t *testing.T, text string, width, at uint8) {
		if len(text) > 1<<10 {
			return // the line that is being written is laid out again with each piece
		}
		wide := int(width)%120 + 12
		s := NewStyle(at%2 == 0)
		whole := Markdown(text, wide, s)
		for _, line := range whole {
			drawtest.Line(t, line, wide, text)
		}
		pieces := Prose{Width: wide, Style: s}
		for rest := text; rest != ""; {
			n := min(len(rest), int(at)%16+1)
			pieces.Write(rest[:n])
			pieces.All()
			rest = rest[n:]
		}
		pieces.end()
		if got, want := strings.Join(pieces.All(), "\n"), strings.Join(whole, "\n"); got != want {
			t.Errorf("in pieces of %d it is\n%q\nand at once\n%q", int(at)%16+1, got, want)
		}
		pieces.Resize(wide + 9)
		pieces.Resize(wide)
		pieces.end()
		if got, want := strings.Join(pieces.All(), "\n"), strings.Join(whole, "\n"); got != want {
			t.Errorf("after a resize it is\n%q\nand was\n%q", got, want)
		}
	})
}

// A text in pieces looks as it does whole.
func TestProse_inPiecesAsWhole(t *testing.T) {
	pieces := []string{"# Title\n", "```go\n", "x := 1\n", "```\n", "a **word ", "bold** ", "| a | b |\n", "|---|--:|\n", "`code ",
		"- item that is rather long for its line\n", "\n", "> quoted\n", "1. one\n", "\t tab", "日本語 "}
	rapid.Check(t, func(t *rapid.T) {
		var whole strings.Builder
		p := Prose{Width: rapid.IntRange(12, 60).Draw(t, "width"), Style: NewStyle(rapid.Bool().Draw(t, "colour"))}
		for range rapid.IntRange(1, 20).Draw(t, "pieces") {
			piece := rapid.SampledFrom(pieces).Draw(t, "piece")
			whole.WriteString(piece)
			p.Write(piece)
			p.All()
		}
		p.end()
		got, want := strings.Join(p.All(), "\n"), strings.Join(Markdown(whole.String(), p.Width, p.Style), "\n")
		if got != want {
			t.Fatalf("in pieces\n%s\nwhole\n%s", got, want)
		}
	})
}

func TestText_wrap(t *testing.T) {
	for _, c := range []struct {
		line  string
		width int
		hang  string
		want  string
	}{
		{"one two three", 8, "", "one two|three"},
		{"one two three", 7, "  ", "one two|  three"},
		{"onetwothree", 5, "", "onetw|othre|e"},
		{"    indented words here", 14, "    ", "    indented|    words here"},
		{"日本語日本語", 6, "", "日本語|日本語"},
		{"", 10, "", ""},
		{"exactly ten", 11, "", "exactly ten"},
	} {
		if got := strings.Join(Wrap(c.line, c.width, c.hang), "|"); got != c.want {
			t.Errorf("%q in %d: %q, want %q", c.line, c.width, got, c.want)
		}
	}
}
