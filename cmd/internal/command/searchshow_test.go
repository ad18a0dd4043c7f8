package command

import (
	"strings"
	"testing"

	"github.com/mattn/go-runewidth"
	"pgregory.net/rapid"
)

func TestSnippet_breaksBetweenWordsOnly(t *testing.T) {
	for text, want := range map[string]string{
		"…the lamp of the tower is out": "…the lamp\nof the\ntower is\nout",
		"a verylongwordindeed here":     "a\nverylongwordindeed\nhere",
		"ten chars. ok":                 "ten chars.\nok",
		"窯の 温度計 が壊れた":                   "窯の\n温度計\nが壊れた",
	} {
		if got := brokenAtWords(text, 10); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		text, columns := rapid.StringOf(rapid.SampledFrom([]rune("ab 窯é"))).Draw(t, "text"), rapid.IntRange(0, 12).Draw(t, "columns")
		got := brokenAtWords(text, columns)
		if strings.ReplaceAll(got, "\n", " ") != text {
			t.Fatalf("%q is %q", text, got)
		}
		for _, line := range strings.Split(got, "\n") {
			if columns > 0 && runewidth.StringWidth(line) > columns && strings.Contains(line, " ") {
				t.Fatalf("%q has the line %q of more than %d columns", text, line, columns)
			}
		}
	})
}
