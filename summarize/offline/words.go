package offline

import (
	_ "embed"

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
