package offline

import (
	_ "embed"
	"slices"
	"strings"

	"github.com/winnowhq/winnow/text/wordlist"
)

//go:embed words.txt
var wordsFile string

// The lists of words.txt, which says what each is for.
var (
	lists    = wordlist.Parse(wordsFile)
	openers  = lists.Of("openers")
	reported = lists.Of("reported")
	planned  = lists.Of("planned")
	goOn     = lists.Of("goOn")
)

// has reports whether a text has one of the words.
func has(text string, words []string) bool {
	return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(text, w) })
}
