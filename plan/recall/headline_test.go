package recall

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/winnowhq/winnow/token"
)

func TestHeadline_isTheFirstSentence(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"two sentences":      {"Add logging to the server. Never touch the store.", "Add logging to the server."},
		"over lines":         {"\n\n  - Mend the lamp\n  - Then the door", "Mend the lamp"},
		"a block first":      {"```go\nfunc main() {}\n```\nWhy does this not print?", "Why does this not print?"},
		"quotes":             {`"Add logging. Now."`, "Add logging."},
		"no sentence":        {"42 17\n8", "42 17"},
		"nothing":            {" \n", ""},
		"what a program put": {"<system-reminder>Be quiet.</system-reminder>Fix the door.", "Fix the door."},
		"abbreviations":      {"Use e.g. the blue lamp. Not the red one.", "Use e.g. the blue lamp."},
	} {
		if got := Headline(c.text, 20); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestHeadline_isNeverTooLong(t *testing.T) {
	for name, text := range map[string]string{
		"words":        strings.Repeat("the tide comes in ", 1000),
		"one word":     strings.Repeat("x", 1<<20),
		"chinese":      strings.Repeat("把灯点亮", 500),
		"no UTF-8":     strings.Repeat("\xff\xfe a", 500),
		"many marks":   strings.Repeat("?!", 1<<18),
		"a long first": strings.Repeat("ab", 200) + " and then words that follow it.",
	} {
		for _, most := range []int{1, 20, 100} {
			for which, got := range map[string]string{"headline": Headline(text, most), "gist": Gist(text, most)} {
				if n := (token.Linear{}).Count(got); n > max(most, 2) || !utf8.ValidString(got) ||
					strings.Contains(got, "\n") {
					t.Errorf("the %s of %s in %d tokens has %d: %.80q", which, name, most, n, got)
				}
			}
		}
	}
}

func TestGist_hasWholeSentences(t *testing.T) {
	text := "The lamp burns again. " + strings.Repeat("It was the wick, which was worn. ", 30)
	got := Gist(text, 40)
	if !strings.HasPrefix(got, "The lamp burns again. It was the wick, which was worn.") ||
		!strings.HasSuffix(got, "worn.") {
		t.Errorf("got %q", got)
	}
}
