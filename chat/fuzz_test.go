package chat

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/tui"
	"github.com/winnowhq/winnow/visible"
)

// colour is what the screen itself writes into a line: colours and weights, and nothing else.
var colour = regexp.MustCompile("\x1b\\[[0-9;]*m")

// lineOf checks a line of the screen: as wide as it is said to be, and nothing in it that a terminal obeys.
func lineOf(t *testing.T, line string, width int, of string) {
	t.Helper()
	plain := colour.ReplaceAllString(line, "")
	if bad := obeyed(line); bad != "" {
		t.Fatalf("a line has %s: %q of %q", bad, line, of)
	}
	if n := tui.Columns(plain); n > width {
		t.Fatalf("a line has %d columns of %d: %q of %q", n, width, plain, of)
	}
}

// obeyed is what in a line of the screen a terminal would obey beside our colours, "" for nothing.
func obeyed(line string) string {
	line = colour.ReplaceAllString(line, "")
	if !utf8.ValidString(line) {
		return "bytes that are no UTF-8"
	}
	for _, r := range line {
		if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || visible.Unseen(r) {
			return fmt.Sprintf("%U", r)
		}
	}
	return ""
}

// An answer is laid out alike however it arrives, in the width that there is.
func FuzzProse(f *testing.F) {
	for _, seed := range []string{answer, "```\n\x1b[2J\n``", "> \n>> x\n- a\n   1. b\n|a|b|\n    code\n# H\n#", "~~~~\n~~~\n`\n", "日本語日本語日本語日本語日本語\u202e\x00\xff", "\t\t\tx\r\n\r", "- - - - -\n***\n1.\n1. \n>"} {
		f.Add(seed, uint8(20), uint8(7))
	}
	f.Fuzz(func(t *testing.T, text string, width, at uint8) {
		if len(text) > 1<<10 {
			return // the line that is being written is laid out again with each piece
		}
		wide := int(width)%120 + 12
		s := newStyle(false)
		whole := markdown(text, wide, s)
		for _, line := range whole {
			lineOf(t, line, wide, text)
		}
		pieces := prose{width: wide, style: s}
		for rest := text; rest != ""; {
			n := min(len(rest), int(at)%16+1)
			pieces.write(rest[:n])
			pieces.all()
			rest = rest[n:]
		}
		if got, want := strings.Join(pieces.all(), "\n"), strings.Join(whole, "\n"); got != want {
			t.Errorf("in pieces of %d it is\n%q\nand at once\n%q", int(at)%16+1, got, want)
		}
		pieces.resize(wide + 9)
		pieces.resize(wide)
		if got, want := strings.Join(pieces.all(), "\n"), strings.Join(whole, "\n"); got != want {
			t.Errorf("after a resize it is\n%q\nand was\n%q", got, want)
		}
	})
}

// A call, whatever its tool, its arguments and its result are, takes lines that fit.
func FuzzCall(f *testing.F) {
	for _, seed := range [][5]string{
		{"read", `{"filePath":"src/a.go"}`, `{"lines":120,"total":120}`, "x", "a.go"}, {"edit", `{"filePath":"a","oldString":"x","newString":"y"}`, `{"diff":"@@ -1 +1 @@\n-x\n+y\n","added":1}`, "done", ""},
		{"bash", `{"command":"go test"}`, `{"exit":1,"timedOut":true}`, "FAIL\x1b[31m\n\r\x00", "go test"}, {"x\x1b[2J", `[`, `{"diff":5,"lines":"many"}`, "\xff", "\u202e"}, {"", "", "", "", ""},
	} {
		f.Add(seed[0], seed[1], seed[2], seed[3], seed[4], uint8(40), uint8(1))
	}
	f.Fuzz(func(t *testing.T, tool, input, metadata, output, title string, width, status uint8) {
		wide := int(width)%120 + 20
		tr := newTranscript(newStyle(false))
		tr.resize(wide, 20)
		p := session.Part{Type: session.ToolPart, CallID: "c", Tool: tool, State: &session.ToolState{
			Status: []session.Status{session.Completed, session.Failed, session.Running, session.Pending}[status%4],
			Input:  jsontext.Value(input), Metadata: jsontext.Value(metadata), Output: output, Error: output, Title: title}}
		m := session.Message{MessageInfo: session.MessageInfo{ID: "m", Role: session.Assistant}, Parts: []session.Part{p, {Type: session.ReasoningPart, Text: output}, {Type: session.TextPart, Text: title}}}
		for _, open := range []bool{false, true} {
			lines, _ := tr.layCall(&p, open)
			if !open && len(lines) == 0 {
				t.Error("a call is not shown")
			}
			for _, line := range append(lines, tr.layMessage(&item{message: &m}, open)...) {
				lineOf(t, line, wide, output)
			}
		}
	})
}

// Whatever is typed, pasted and deleted, the line is drawn in its width with the cursor in it, and what is sent is what is there.
func FuzzEditor(f *testing.F) {
	names := []string{"left", "right", "up", "down", "home", "end", "backspace", "delete", "ctrl+w", "ctrl+u", "ctrl+k", "ctrl+left", "ctrl+right", "alt+enter", "ctrl+a", "ctrl+e", "ctrl+j"}
	f.Add("one two\nthree", []byte{0, 1, 2, 3, 4, 5, 6, 7, 8}, uint8(20))
	f.Add("日本\t\u0301👩‍👧\xff\x1b[2J\U000F0000\U0010FFFF", []byte{20, 0, 6, 20, 10}, uint8(8))
	f.Add(strings.Repeat("long\r\n", 1000), []byte{21, 0, 21, 6, 21, 8, 9}, uint8(60))
	f.Fuzz(func(t *testing.T, text string, pressed []byte, width uint8) {
		var e editor
		wide := int(width)%120 + 8
		for _, b := range pressed[:min(len(pressed), 200)] {
			switch n := int(b) % (len(names) + 3); {
			case n < len(names):
				if k, ok := keys[names[n]]; ok {
					e.key(k)
				}
			case n == len(names):
				e.insert(text)
			case n == len(names)+1:
				e.paste(text)
			default:
				e.set(text)
			}
			if len(e.text) > 1<<16 {
				return
			}
			if e.cursor < 0 || e.cursor > len(e.text) {
				t.Fatalf("the cursor is at %d of %d", e.cursor, len(e.text))
			}
			rows, x, y := e.rows(wide, 6)
			if len(rows) == 0 || len(rows) > 6 || y < 0 || y >= len(rows) || x < 0 || x > wide {
				t.Fatalf("the cursor is in column %d of row %d of %q, %d wide", x, y, rows, wide)
			}
			for _, row := range rows {
				lineOf(t, row, wide, text)
			}
			if value := e.value(); utf8.ValidString(text) && !utf8.ValidString(value) {
				t.Fatalf("what is sent is %q", value)
			}
		}
	})
}
