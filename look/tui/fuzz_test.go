package tui

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

// A foreign text leaves nothing in a line that moves a terminal, and takes the columns that it is
// said to.
func FuzzClean(f *testing.F) {
	for _, seed := range []string{"", "plain", "a\x1b[2Jb", "\x1b]0;owned\x07 \u202egnorw\u202c \x9b31m",
		"\xc2\x9b31mx", "e\u0301\u0302\u0303\u0304\u0305", "日本\t\r\n語", "👩‍👩‍👧", "\xff\xfe", "\x1b\x1b[\x1b]x\x1b\\",
		"\x1bP\x1b]\x1b["} {
		f.Add(seed, 20)
	}
	f.Fuzz(func(t *testing.T, text string, width int) {
		width = 1 + max(width, -width)%200
		line := Clean(text)
		if !utf8.ValidString(line) {
			t.Fatalf("%q is no UTF-8", line)
		}
		for _, r := range line {
			if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == '\u2028' || r == '\u2029' {
				t.Fatalf("%q has %U", line, r)
			}
		}
		if again := Clean(line); again != line {
			t.Errorf("cleaned twice %q is %q", line, again)
		}
		for what, short := range map[string]string{"the beginning": Cut(line, width),
			"the end": CutFront(line, width)} {
			if n := Columns(short); n > width {
				t.Errorf("%s of %q has %d columns, not %d", what, line, n, width)
			}
		}
		if Columns(line) <= width && Cut(line, width) != line {
			t.Errorf("%q fits into %d and was cut", line, width)
		}
		lines := Wrap(strings.Fields(line), width, 5)
		if len(lines) > 5 {
			t.Errorf("%d lines where five may be", len(lines))
		}
		for _, l := range lines {
			if Columns(l) > width {
				t.Errorf("%q is wider than %d", l, width)
			}
		}
		if whole := Wrap(strings.Fields(line), 1<<20, 5); strings.Join(whole, "") != strings.Join(strings.Fields(line),
			" ") {
			t.Errorf("%q was wrapped as %q", line, whole)
		}
	})
}
