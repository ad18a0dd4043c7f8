package editor

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/winnowhq/winnow/agent/chat/internal/drawtest"
)

func TestPaste_aSmallOneIsText(t *testing.T) {
	var e Editor
	e.Paste("one\r\ntwo\rthree")
	if got, want := e.Value(), "one\ntwo\nthree"; got != want {
		t.Errorf("the value is %q, want %q", got, want)
	}
	if len(e.pastes) != 0 {
		t.Errorf("%d pastes are kept aside", len(e.pastes))
	}
}

func TestPaste_isDeletedWithOneKey(t *testing.T) {
	var e Editor
	e.Insert("a")
	e.Paste(strings.Repeat("long\n", 100))
	e.Insert("b")
	e.Key(drawtest.Keys["left"])
	e.Key(drawtest.Keys["backspace"])
	if got := e.Value(); got != "ab" {
		t.Errorf("the value is %q, want ab", got)
	}
}

func TestEditor_keys(t *testing.T) {
	for _, c := range []struct {
		name  string
		typed string
		keys  []string
		want  string // | is the cursor
	}{
		{"a new line", "one", []string{"alt+enter"}, "one\n|"},
		{"a new line with ctrl+j", "one", []string{"ctrl+j"}, "one\n|"},
		{"left and delete", "one", []string{"left", "left", "delete"}, "o|e"},
		{"backspace at the beginning", "one", []string{"home", "backspace"}, "|one"},
		{"a word is deleted", "one two", []string{"ctrl+w"}, "one |"},
		{"a word back", "one two", []string{"ctrl+left"}, "one |two"},
		{"to the end of the line", "one two", []string{"ctrl+left", "ctrl+k"}, "one |"},
		{"to its beginning", "one two", []string{"ctrl+left", "ctrl+u"}, "|two"},
		{"beginning and end of a line", "one\ntwo", []string{"ctrl+a"}, "one\n|two"},
		{"up", "one\ntwo", []string{"up"}, "one|\ntwo"},
		{"up to a shorter line", "o\ntwo", []string{"up"}, "o|\ntwo"},
		{"up and down", "one\ntwo", []string{"up", "left", "down"}, "one\ntw|o"},
		{"down on the last line", "one", []string{"home", "down"}, "one|"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var e Editor
			e.Insert(c.typed)
			for _, k := range c.keys {
				if !e.Key(drawtest.Keys[k]) {
					t.Fatalf("%s is no key of the editor", k)
				}
			}
			got := string(e.text[:e.cursor]) + "|" + string(e.text[e.cursor:])
			if got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestEditor_theCursorIsWhereTheNextCharacterComes(t *testing.T) {
	for _, c := range []struct {
		text        string
		width, most int
		rows        int
		x, y        int
	}{
		{"", 10, 5, 1, 0, 0},
		{"abc", 10, 5, 1, 3, 0},
		{"abcdefghij", 10, 5, 2, 0, 1},
		{"abcdefghijk", 10, 5, 2, 1, 1},
		{"日本語日本", 10, 5, 2, 0, 1},
		{"a\nb\nc\nd", 10, 2, 2, 1, 1},
		{"a\n", 10, 5, 2, 0, 1},
	} {
		var e Editor
		e.Insert(c.text)
		rows, x, y := e.Rows(c.width, c.most)
		if len(rows) != c.rows || x != c.x || y != c.y {
			t.Errorf("%q: %d rows, cursor %d,%d; want %d rows, %d,%d", c.text, len(rows), x, y, c.rows, c.x, c.y)
		}
	}
}

func TestEditor_historyOnAnEmptyLine(t *testing.T) {
	var e Editor
	for _, text := range []string{"one", "two"} {
		e.Insert(text)
		e.Sent()
	}
	var got []string
	for _, k := range []string{"up", "up", "up", "down", "down"} {
		e.Key(drawtest.Keys[k])
		got = append(got, e.Value())
	}
	if got, want := strings.Join(got, ","), "two,one,one,two,"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	e.Insert("new")
	e.Key(drawtest.Keys["up"])
	if got := e.Value(); got != "new" {
		t.Errorf("up on a line that is typed gives %q", got)
	}
}

func TestEditor_takesNoControlCharacters(t *testing.T) {
	var e Editor
	e.Paste("a\x1b[2Jb\x00\U000F0000c\td")
	if got, want := e.Value(), "a[2Jbc\td"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// Whatever is typed, pasted and deleted, the line is drawn in its width with the cursor in it, and
// what is sent is what is there.
func FuzzEditor(f *testing.F) {
	names := []string{"left", "right", "up", "down", "home", "end", "backspace", "delete", "ctrl+w", "ctrl+u", "ctrl+k",
		"ctrl+left", "ctrl+right", "alt+enter", "ctrl+a", "ctrl+e", "ctrl+j"}
	f.Add("one two\nthree", []byte{0, 1, 2, 3, 4, 5, 6, 7, 8}, uint8(20))
	f.Add("日本\t\u0301👩‍👧\xff\x1b[2J\U000F0000\U0010FFFF", []byte{20, 0, 6, 20, 10}, uint8(8))
	f.Add(strings.Repeat("long\r\n", 1000), []byte{21, 0, 21, 6, 21, 8, 9}, uint8(60))
	f.Fuzz(func(t *testing.T, text string, pressed []byte, width uint8) {
		var e Editor
		wide := int(width)%120 + 8
		for _, b := range pressed[:min(len(pressed), 200)] {
			switch n := int(b) % (len(names) + 3); {
			case n < len(names):
				if k, ok := drawtest.Keys[names[n]]; ok {
					e.Key(k)
				}
			case n == len(names):
				e.Insert(text)
			case n == len(names)+1:
				e.Paste(text)
			default:
				e.Set(text)
			}
			if len(e.text) > 1<<16 {
				return
			}
			if e.cursor < 0 || e.cursor > len(e.text) {
				t.Fatalf("the cursor is at %d of %d", e.cursor, len(e.text))
			}
			rows, x, y := e.Rows(wide, 6)
			if len(rows) == 0 || len(rows) > 6 || y < 0 || y >= len(rows) || x < 0 || x > wide {
				t.Fatalf("the cursor is in column %d of row %d of %q, %d wide", x, y, rows, wide)
			}
			for _, row := range rows {
				drawtest.Line(t, row, wide, text)
			}
			if value := e.Value(); utf8.ValidString(text) && !utf8.ValidString(value) {
				t.Fatalf("what is sent is %q", value)
			}
		}
	})
}
