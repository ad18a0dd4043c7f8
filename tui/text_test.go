package tui

import (
	"math"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/winnowhq/winnow/quantity"
)

func TestClean_leavesNothingThatSteersTheTerminal(t *testing.T) {
	for in, want := range map[string]string{
		"plain words":                              "plain words",
		"two\nlines\r\n\tand a tab":                "two lines   and a tab",
		"\x1b[31mred\x1b[0m and \x1b[2Jwiped":      "red and wiped",
		"\x1b]0;a title\x07after":                  "␛]0;a title␇after",
		"\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\": `␛]8;;http://x␛\link␛]8;;␛\`,
		"\x1b]never ends":                          "␛]never ends",
		"\x1b[31":                                  "␛[31",
		"\x1bcreset":                               "␛creset",
		"\x1b":                                     "␛",
		"c1 \u009b31mred\u009d0;t\u009cafter":      "c1 ⟨U+009B⟩31mred⟨U+009D⟩0;t⟨U+009C⟩after",
		"a\u202eb\u2066c\u200fd":                   "a⟨U+202E⟩b⟨U+2066⟩c⟨U+200F⟩d",
		"zero\u200bwidth\ufeff":                    "zero⟨U+200B⟩width⟨U+FEFF⟩",
		"bell\a back\b del\x7f nul\x00":            "bell␇ back␈ del␡ nul␀",
		"bad \xff utf-8":                           "bad \ufffd utf-8",
		"家族 👨\u200d👩\u200d👧 ❤\ufe0f":               "家族 👨👩👧 ❤",
		"z" + strings.Repeat("\u0301", 40):         "z\u0301\u0301",
		"line\u2028sep":                            "line sep",
		"private \ue0b0":                           "private \ufffd",
	} {
		if got := clean(in); got != want {
			t.Errorf("clean(%q)\n got %q\nwant %q", in, got, want)
		}
	}
}

func TestClean_isPrintableAndDoneOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := hostile().Draw(t, "text")
		got := clean(in)
		for _, r := range got {
			if r != unicode.ReplacementChar && !unicode.IsPrint(r) {
				t.Fatalf("clean(%q) = %q has %U", in, got, r)
			}
		}
		if again := clean(got); again != got {
			t.Fatalf("clean(%q) = %q, cleaned again %q", in, got, again)
		}
	})
}

func TestCut_fitsAndKeepsWhatFits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text, width := clean(hostile().Draw(t, "text")), rapid.IntRange(0, 40).Draw(t, "width")
		for name, got := range map[string]string{"cut": cut(text, width), "cutFront": cutFront(text, width)} {
			if columns(got) > width {
				t.Fatalf("%s(%q, %d) = %q takes %d", name, text, width, got, columns(got))
			}
			if columns(text) <= width && got != text {
				t.Fatalf("%s(%q, %d) = %q although it fits", name, text, width, got)
			}
		}
		most := rapid.IntRange(1, 4).Draw(t, "lines")
		lines := wrap(text, max(1, width), most)
		if len(lines) > most {
			t.Fatalf("wrap(%q, %d, %d) has %d lines", text, width, most, len(lines))
		}
		for _, l := range lines {
			if columns(l) > max(1, width) {
				t.Fatalf("wrap(%q, %d, %d): %q takes %d", text, width, most, l, columns(l))
			}
		}
	})
}

func TestNumbers_readAsAPersonWritesThem(t *testing.T) {
	for _, c := range []struct{ name, got, want string }{
		{"percent, half", percent(1, 2), "50%"},
		{"percent, little is not none", percent(1, 1000), "<1%"},
		{"percent, nearly is not all", percent(999, 1000), ">99%"},
		{"percent, all", percent(7, 7), "100%"},
		{"percent, of nothing", percent(7, 0), "0%"},
		{"percent, more than all", percent(3, 2), "150%"},
		{"change, less", change(200, 50), "−75%"},
		{"change, more", change(100, 150), "+50%"},
		{"change, same", change(5, 5), "±0%"},
		{"count, one", count(1, "part"), "1 part"},
		{"count, many", count(1200, "part"), "1,200 parts"},
		{"dollars, small", dollars(0.0421), "$0.0421"},
		{"dollars, large", dollars(1234.5), "$1,234.50"},
		{"dollars, not a number", dollars(math.NaN()), "$0"},
		{"counted", quantity.Sentence("14729 tokens of 2000, in msg12345 of 2026-05-08"), "14,729 tokens of 2,000, in msg12345 of 2026-05-08"},
	} {
		if c.got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, c.got, c.want)
		}
	}
}

func TestWrap_breaksBetweenWords(t *testing.T) {
	if diff := cmp.Diff([]string{"keep the names", "as they are,", "all of them w…"}, wrap("keep the names as they are, all of them without exception", 14, 3)); diff != "" {
		t.Error("-want +got:\n" + diff)
	}
}

// A text of nothing but beginnings of sequences would take minutes if each of them were followed to the end of the text.
func TestClean_beginningsWithoutAnEndTakeNoLonger(t *testing.T) {
	for _, intro := range []string{"\x1b]", "\x1bP", "\u009d", "\x1b]x\x1b[", "\x1b_\x1b^"} {
		if got := clean(strings.Repeat(intro, 1<<20) + "\nend"); !strings.HasSuffix(got, " end") {
			t.Errorf("%q hides what follows: it ends with %q", intro, got[max(0, len(got)-9):])
		}
	}
	if got, want := clean("\x1b]a\x1b]b\nc\x1b]d\x07e"), "␛]a␛]b c␛]d␇e"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
