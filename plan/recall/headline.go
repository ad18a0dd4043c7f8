package recall

import (
	"strings"

	"github.com/winnowhq/winnow/token"
)

// Headline returns the first sentence of a text, for people: at most the given number of tokens by
// a linear estimate, cut between words, without surrounding quotes. A text without sentences yields
// its first line, an empty one "".
func Headline(text string, tokens int) string {
	first := ""
	if all := Sentences(Prose(text)); len(all) > 0 {
		first = all[0]
	} else {
		first, _, _ = strings.Cut(strings.TrimSpace(text), "\n")
	}
	return upTo(strings.Trim(first, "\"“”„"), tokens)
}

// Gist returns the beginning of a text, for people: as many whole sentences as fit into the tokens,
// or the beginning of the first.
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
	// Words if there are any, else characters.
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
