package fact

import (
	_ "embed"

	"github.com/winnowhq/winnow/text/wordlist"
)

//go:embed words.txt
var wordsFile string

// The lists of words.txt, which says what each is for.
var (
	lists      = wordlist.Parse(wordsFile)
	famous     = lists.Set("famous")
	extensions = lists.Set("extensions")
	programs   = lists.Set("programs")
	shells     = lists.Set("shells")
	owners     = lists.Of("owners")
	declaring  = lists.Of("declaring")
	units      = lists.Set("units")
	vagueWords = lists.Of("vague")
)
