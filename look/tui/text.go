package tui

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/mattn/go-runewidth"

	"github.com/winnowhq/winnow/text/visible"
)

// mostMarks is how many combining marks may follow each other. More than two serve no script that a
// first line needs, and dozens are a way to paint over the neighbouring lines.
const mostMarks = 2

// Clean makes a foreign text fit for one line of a terminal. Colours go; line breaks and tabs
// become one space. What a terminal would obey, and what changes the direction of what is around
// it, is written out as package visible does it. Joiners and variation selectors go (an emoji that
// they hold together falls into its parts, whose width is known). Anything else that cannot be
// printed becomes U+FFFD.
func Clean(text string) string {
	if plain(text) {
		return text
	}
	text = visible.WithoutColour(text)
	var b strings.Builder
	b.Grow(len(text))
	marks := 0
	for _, r := range text {
		switch {
		case r == ' ' || unicode.IsSpace(r) || unicode.In(r, unicode.Zs, unicode.Zl, unicode.Zp):
			b.WriteByte(' ')
			marks = 0
		case unicode.IsControl(r) || visible.Unseen(r):
			b.WriteString(visible.Text(string(r)))
			marks = 0
		case unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Variation_Selector, r):
		case unicode.In(r, unicode.Mn, unicode.Me):
			if marks++; marks <= mostMarks {
				b.WriteRune(r)
			}
		case !unicode.IsPrint(r):
			b.WriteRune(utf8.RuneError)
			marks = 0
		default:
			b.WriteRune(r)
			marks = 0
		}
	}
	return b.String()
}

func plain(text string) bool {
	for i := range len(text) {
		if text[i] < ' ' || text[i] > '~' {
			return false
		}
	}
	return true
}

// letters are measured one by one, which is never less than what a terminal takes for them
// together.
var letters = runewidth.Condition{StrictEmojiNeutral: true}

// Columns is how many columns a cleaned text takes.
func Columns(text string) int {
	n := 0
	for _, r := range text {
		n += letters.RuneWidth(r)
	}
	return n
}

// Rune is how many columns one character takes.
func Rune(r rune) int { return letters.RuneWidth(r) }

// Cut shortens a cleaned text to a width, and ends it with "…" when something went.
func Cut(text string, width int) string {
	if Columns(text) <= width {
		return text
	}
	if width <= 0 {
		return ""
	}
	n := 0
	for i, r := range text {
		w := letters.RuneWidth(r)
		if n+w > width-1 {
			return text[:i] + "…"
		}
		n += w
	}
	return text
}

// CutFront shortens a path to a width: its end says more than its beginning.
func CutFront(text string, width int) string {
	if Columns(text) <= width {
		return text
	}
	if width <= 0 {
		return ""
	}
	n := 0
	for i := len(text); i > 0; {
		r, size := utf8.DecodeLastRuneInString(text[:i])
		w := letters.RuneWidth(r)
		if n+w > width-1 {
			return "…" + text[i:]
		}
		n, i = n+w, i-size
	}
	return text
}

// Wrap puts cleaned words on lines. What does not fit in the lines allowed is cut with a mark.
func Wrap(words []string, width, most int) []string {
	var lines []string
	at := ""
	for i, word := range words {
		switch {
		case at == "":
			at = word
		case Columns(at)+1+Columns(word) <= width:
			at += " " + word
		case len(lines) == most-1:
			return append(lines, Cut(at+" "+strings.Join(words[i:], " "), width))
		default:
			lines, at = append(lines, Cut(at, width)), word
		}
	}
	if at != "" {
		lines = append(lines, Cut(at, width))
	}
	return lines
}
