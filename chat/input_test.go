package chat

import (
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"github.com/winnowhq/winnow/internal/llmtest"
)

// A key is drawn twenty thousand lines later still: what a paste costs is one look at its bytes.
func TestPaste_aMegabyteIsOneSignAndIsSentWhole(t *testing.T) {
	b := setUp(t, llmtest.Script{Answer: llmtest.Text("read it")}, nil)
	line := strings.Repeat("x", 51) + "\n"
	text := strings.Repeat(line, (1<<20)/len(line))
	text += strings.Repeat("y", 1<<20-len(text))
	b.types("look at ")
	b.send(tea.PasteMsg{Content: text})
	b.types(" well")
	if got := len(b.editor.text); got != len("look at  well")+1 {
		t.Errorf("the editor holds %d characters: a paste is one", got)
	}
	laid := b.transcript.laid
	if got := b.look(); !strings.Contains(got, "› look at [pasted 1,048,576 bytes, 20,165 lines] well") {
		t.Errorf("the screen is\n%s", got)
	}
	b.press("enter")
	b.shows("read it")
	b.rests()
	if got := b.upstream.Records()[0]; !got.Contains("look at " + text + " well") {
		t.Errorf("the request of %d bytes has not the whole text", len(got.Body))
	}
	if got := b.look(); !strings.Contains(got, "… 20,") {
		t.Errorf("the message is not folded:\n%s", got)
	}
	if n := b.transcript.laid - laid; n > 200 {
		t.Errorf("%d lines were laid out for a message of which %d are seen", n, saidLines)
	}
}

func TestPaste_aSmallOneIsText(t *testing.T) {
	var e editor
	e.paste("one\r\ntwo\rthree")
	if got, want := e.value(), "one\ntwo\nthree"; got != want {
		t.Errorf("the value is %q, want %q", got, want)
	}
	if len(e.pastes) != 0 {
		t.Errorf("%d pastes are kept aside", len(e.pastes))
	}
}

func TestPaste_isDeletedWithOneKey(t *testing.T) {
	var e editor
	e.insert("a")
	e.paste(strings.Repeat("long\n", 100))
	e.insert("b")
	e.key(keys["left"])
	e.key(keys["backspace"])
	if got := e.value(); got != "ab" {
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
			var e editor
			e.insert(c.typed)
			for _, k := range c.keys {
				if !e.key(keys[k]) {
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
		var e editor
		e.insert(c.text)
		rows, x, y := e.rows(c.width, c.most)
		if len(rows) != c.rows || x != c.x || y != c.y {
			t.Errorf("%q: %d rows, cursor %d,%d; want %d rows, %d,%d", c.text, len(rows), x, y, c.rows, c.x, c.y)
		}
	}
}

func TestEditor_historyOnAnEmptyLine(t *testing.T) {
	var e editor
	for _, text := range []string{"one", "two"} {
		e.insert(text)
		e.sent()
	}
	var got []string
	for _, k := range []string{"up", "up", "up", "down", "down"} {
		e.key(keys[k])
		got = append(got, e.value())
	}
	if got, want := strings.Join(got, ","), "two,one,one,two,"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	e.insert("new")
	e.key(keys["up"])
	if got := e.value(); got != "new" {
		t.Errorf("up on a line that is typed gives %q", got)
	}
}

func TestEditor_takesNoControlCharacters(t *testing.T) {
	var e editor
	e.paste("a\x1b[2Jb\x00\U000F0000c\td")
	if got, want := e.value(), "a[2Jbc\td"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// Terminals without bracketed paste send keys: they are taken in, and not each of them is drawn.
func TestPaste_asSingleKeysIsNotDrawnForEach(t *testing.T) {
	b := setUp(t, llmtest.Script{}, nil)
	drawn := 0
	for range 20_000 {
		b.Update(tea.KeyPressMsg{Code: 'x', Text: "x"}) // the clock stands still
		if b.due {
			drawn++
			b.View()
		}
	}
	if drawn > 1 {
		t.Errorf("20,000 keys in an instant were drawn %d times", drawn)
	}
	b.Update(redrawMsg{})
	if !b.due {
		t.Error("the last of them is not drawn in the end")
	}
	if got := len(b.editor.text); got != 20_000 {
		t.Errorf("the editor has %d characters", got)
	}
}
