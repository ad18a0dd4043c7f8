package recall

import (
	_ "embed"
	"strings"

	"github.com/winnowhq/winnow/text/wordlist"
)

//go:embed words.txt
var wordsFile string

// The lists of words.txt, which says what each is for.
var (
	lists = wordlist.Parse(wordsFile)

	rules     = phrasesOf("rules")
	wishes    = phrasesOf("wishes")
	innocent  = phrasesOf("innocent")
	replacing = phrasesOf("replacing")
	becoming  = phrasesOf("becoming")
	revoking  = phrasesOf("revoking")

	permitting = phrasesOf("permitting")

	bounds    = phrasesOf("bounds")
	untouched = phrasesOf("untouched")
	occasions = phrasesOf("occasions")
	recurring = phrasesOf("recurring")

	unspaced = lists.Of("unspaced")
	changing = lists.Of("changing")

	states   = lists.Set("states")
	subjects = lists.Set("subjects")
	joints   = lists.Set("joints")
	deeds    = lists.Set("deeds")
	noRule   = lists.Set("noRule")
	noStatus = lists.Set("noStatus")

	links    = lists.Set("links")
	setting  = lists.Set("setting")
	joining  = lists.Set("joining")
	empty    = lists.Set("empty")
	from     = lists.Set("from")
	to       = lists.Set("to")
	denying  = lists.Set("denying")
	asWords  = lists.Set("asWords")
	numbered = lists.Set("numbered")
	measured = lists.Set("measured")
	units    = lists.Set("units")
	renewing = lists.Set("renewing")
	placing  = lists.Set("placing")
	articles = lists.Set("articles")
	using    = lists.Set("using")

	numerals  = lists.Set("numerals")
	habits    = lists.Set("habits")
	speaking  = lists.Set("speaking")
	languages = lists.Set("languages")
	demanding = lists.Set("demanding")
	wanting   = lists.Set("wanting")
	kinds     = lists.Set("kinds")
	givers    = lists.Set("givers")
	giving    = lists.Set("giving")
	commands  = lists.Set("commands")
	onlyOnce  = lists.Set("onlyOnce")

	conditions = phrasesOf("conditions")

	qualities = lists.Set("qualities")
)

// phrases holds phrases of one or more words by their first word.
type phrases map[string][][]string

func phrasesOf(list string) phrases {
	all := phrases{}
	for _, text := range lists.Of(list) {
		words := strings.Fields(text)
		all[words[0]] = append(all[words[0]], words)
	}
	return all
}

// longest returns the number of words of the longest phrase that begins at word i of n, 0 if none
// does.
func (p phrases) longest(i, n int, word func(int) string) (most int) {
	for _, phrase := range p[word(i)] {
		if len(phrase) <= most || i+len(phrase) > n {
			continue
		}
		same := true
		for k, w := range phrase {
			same = same && word(i+k) == w
		}
		if same {
			most = len(phrase)
		}
	}
	return most
}
