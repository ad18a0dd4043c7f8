package tui

import (
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
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
		if got := Clean(in); got != want {
			t.Errorf("clean(%q)\n got %q\nwant %q", in, got, want)
		}
	}
}

func TestClean_isPrintableAndDoneOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := hostile().Draw(t, "text")
		got := Clean(in)
		for _, r := range got {
			if r != unicode.ReplacementChar && !unicode.IsPrint(r) {
				t.Fatalf("clean(%q) = %q has %U", in, got, r)
			}
		}
		if again := Clean(got); again != got {
			t.Fatalf("clean(%q) = %q, cleaned again %q", in, got, again)
		}
	})
}

func TestCut_fitsAndKeepsWhatFits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text, width := Clean(hostile().Draw(t, "text")), rapid.IntRange(0, 40).Draw(t, "width")
		for name, got := range map[string]string{"cut": Cut(text, width), "cutFront": CutFront(text, width)} {
			if Columns(got) > width {
				t.Fatalf("%s(%q, %d) = %q takes %d", name, text, width, got, Columns(got))
			}
			if Columns(text) <= width && got != text {
				t.Fatalf("%s(%q, %d) = %q although it fits", name, text, width, got)
			}
		}
		most := rapid.IntRange(1, 4).Draw(t, "lines")
		lines := Wrap(strings.Fields(text), max(1, width), most)
		if len(lines) > most {
			t.Fatalf("Wrap(%q, %d, %d) has %d lines", text, width, most, len(lines))
		}
		for _, l := range lines {
			if Columns(l) > max(1, width) {
				t.Fatalf("Wrap(%q, %d, %d): %q takes %d", text, width, most, l, Columns(l))
			}
		}
	})
}

func TestWrap_breaksBetweenWords(t *testing.T) {
	if diff := cmp.Diff([]string{"keep the names", "as they are,", "all of them w…"},
		Wrap(strings.Fields("keep the names as they are, all of them without exception"), 14, 3)); diff != "" {
		t.Error("-want +got:\n" + diff)
	}
}

// A text of nothing but beginnings of sequences would take minutes if each of them were followed to
// the end of the text.
func TestClean_beginningsWithoutAnEndTakeNoLonger(t *testing.T) {
	for _, intro := range []string{"\x1b]", "\x1bP", "\u009d", "\x1b]x\x1b[", "\x1b_\x1b^"} {
		if got := Clean(strings.Repeat(intro, 1<<20) + "\nend"); !strings.HasSuffix(got, " end") {
			t.Errorf("%q hides what follows: it ends with %q", intro, got[max(0, len(got)-9):])
		}
	}
	if got, want := Clean("\x1b]a\x1b]b\nc\x1b]d\x07e"), "␛]a␛]b c␛]d␇e"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
