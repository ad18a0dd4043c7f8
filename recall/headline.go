package recall

import (
	"strings"

	"github.com/winnowhq/winnow/token"
)

// Headline is the first sentence of a text, for people: at most so many tokens by a linear
// estimate, cut between words. A text without sentences gives its first line, an empty one "".
// Quotes around it go.
func Headline(text string, tokens int) string {
	first := ""
	if all := Sentences(Prose(text)); len(all) > 0 {
		first = all[0]
	} else {
		first, _, _ = strings.Cut(strings.TrimSpace(text), "\n")
	}
	return upTo(strings.Trim(first, "\"“”„"), tokens)
}

// Gist is the beginning of a text, for people: whole sentences, as many as fit into so many tokens;
// of a first one that does not, its beginning.
func Gist(text string, tokens int) string {
	gist := ""
	for _, s := range Sentences(Prose(text)) {
		longer := strings.TrimSpace(gist + " " + s)
		if (token.Linear{}).Count(longer) > tokens {
			if gist == "" {
				return upTo(s, tokens)
			}
			break
		}
		gist = longer
	}
	return gist
}

// upTo cuts a text between words.
func upTo(text string, tokens int) string {
	text = strings.Join(strings.Fields(strings.ToValidUTF8(text, "\uFFFD")), " ")
	if (token.Linear{}).Count(text) <= tokens {
		return text
	}
	const most = 20 // characters that a token has at most, more or less
	if runes := []rune(text[:min(len(text), 4*most*tokens)]); len(runes) > most*tokens {
		text = string(runes[:most*tokens])
	}
	// Words where there are such, else characters.
	pieces, between := strings.Fields(text), " "
	if (token.Linear{}).Count(pieces[0]) > tokens {
		pieces, between = strings.Split(text, ""), ""
	}
	fits := ""
	for _, p := range pieces {
		longer := fits + between + p
		if (token.Linear{}).Count(strings.TrimPrefix(longer, between)+"…") > tokens {
			break
		}
		fits = longer
	}
	return strings.TrimRight(strings.TrimPrefix(fits, between), " .,;:") + "…"
}
