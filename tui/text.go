package tui

import (
	"math"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/mattn/go-runewidth"
	"github.com/winnowhq/winnow/token"
)

// mostMarks is how many combining marks may follow each other. More than two serve no script that a first line needs, and dozens
// are a way to paint over the neighbouring lines.
const mostMarks = 2

// clean makes a foreign text fit for one line of a terminal. Escape sequences go as a whole. Line breaks and tabs become one space.
// What cannot be seen goes: direction marks and overrides, zero-width characters, variation selectors, joiners (an emoji that they hold
// together falls into its parts, whose width is known). Anything else that cannot be printed becomes U+FFFD.
func clean(text string) string {
	if plain(text) {
		return text
	}
	var b strings.Builder
	b.Grow(len(text))
	marks, endless := 0, 0
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		if n, end := escape(text[i:], endless-i); n > 0 {
			endless = max(endless, i+end)
			i += n
			continue
		}
		i += size
		switch {
		case r == ' ' || unicode.IsSpace(r) || unicode.In(r, unicode.Zs, unicode.Zl, unicode.Zp):
			b.WriteByte(' ')
			marks = 0
		case unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Variation_Selector, r):
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

// escape is the length of the escape sequence that a text begins with, 0 when it begins with none. A sequence that never
// ends is as long as its introducer, so that it hides nothing that follows; endless is then how far an end was looked for in vain. A sequence
// that begins before one that was told is not looked at again: a text of nothing but beginnings takes no longer than another.
func escape(text string, known int) (length, endless int) {
	var body string
	var intro int
	var kind byte
	switch {
	case len(text) >= 2 && text[0] == 0x1b:
		kind, body, intro = text[1], text[2:], 2
	case len(text) >= 2 && text[0] == 0xc2 && text[1] >= 0x80 && text[1] <= 0x9f: // C1, in UTF-8
		kind, body, intro = text[1]-0x40, text[2:], 2
	default:
		return 0, 0
	}
	switch kind {
	case '[': // CSI: parameters, intermediates, one final byte
		for i := range len(body) {
			switch c := body[i]; {
			case c >= 0x40 && c <= 0x7e:
				return intro + i + 1, 0
			case c < 0x20 || c > 0x7e:
				return intro, 0
			}
		}
	case ']', 'P', 'X', '^', '_': // strings, up to BEL or ST
		if known > intro {
			return intro, 0
		}
		for i := range len(body) {
			switch {
			case body[i] == 0x07:
				return intro + i + 1, 0
			case body[i] == 0x1b && i+1 < len(body) && body[i+1] == '\\', body[i] == 0xc2 && i+1 < len(body) && body[i+1] == 0x9c:
				return intro + i + 2, 0
			case body[i] == '\n':
				return intro, intro + i
			}
		}
		return intro, len(text)
	default:
		if text[0] == 0x1b && (kind < 0x20 || kind > 0x7e) {
			return 1, 0
		}
	}
	return intro, 0
}

// letters are measured one by one, which is never less than what a terminal takes for them together.
var letters = runewidth.Condition{StrictEmojiNeutral: true}

func columns(text string) int {
	n := 0
	for _, r := range text {
		n += letters.RuneWidth(r)
	}
	return n
}

// cut shortens a text to a width, and ends it with "…" when something went.
func cut(text string, width int) string {
	if columns(text) <= width {
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

// cutFront shortens a path to a width: its end says more than its beginning.
func cutFront(text string, width int) string {
	if columns(text) <= width {
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

// wrap breaks a cleaned text between words. What does not fit in the lines allowed is cut with a mark.
func wrap(text string, width, most int) []string {
	var lines []string
	at := ""
	words := strings.Fields(text)
	for i, word := range words {
		switch {
		case at == "":
			at = word
		case columns(at)+1+columns(word) <= width:
			at += " " + word
		case len(lines) == most-1:
			return append(lines, cut(at+" "+strings.Join(words[i:], " "), width))
		default:
			lines, at = append(lines, cut(at, width)), word
		}
	}
	if at != "" {
		lines = append(lines, cut(at, width))
	}
	return lines
}

// percent of a whole. It does not round to 0% what is there, nor to 100% what is not all.
func percent(part, whole int) string {
	if whole <= 0 || part <= 0 {
		return "0%"
	}
	p := 100 * float64(part) / float64(whole)
	switch rounded := math.Round(p); {
	case rounded < 1:
		return "<1%"
	case rounded == 100 && part < whole:
		return ">99%"
	case rounded > 99_999:
		return ">99999%"
	default:
		return strconv.Itoa(int(rounded)) + "%"
	}
}

// change is the relative difference between two numbers, with its sign.
func change(before, after int) string {
	switch {
	case before <= 0 || before == after:
		return "±0%"
	case after < before:
		return "−" + percent(less(before, after), before)
	}
	return "+" + percent(less(after, before), before)
}

// count says how many of a thing there are, in the right number.
func count(n int, one string) string { return token.Count(n, one) }

func dollars(amount float64) string {
	switch {
	case amount <= 0 || math.IsNaN(amount) || math.IsInf(amount, 0):
		return "$0"
	case amount < 0.0001:
		return "under $0.0001"
	case amount < 0.1:
		return "$" + strconv.FormatFloat(amount, 'f', 4, 64)
	case amount > 1e12:
		return "$" + strconv.FormatFloat(amount, 'g', 3, 64)
	}
	whole, cents, _ := strings.Cut(strconv.FormatFloat(amount, 'f', 2, 64), ".")
	return "$" + token.GroupDigits(whole) + "." + cents
}

// plus adds two counts. A negative one counts as none, and the sum stops at the largest number.
func plus(a, b int) int {
	a, b = max(a, 0), max(b, 0)
	if a > math.MaxInt-b {
		return math.MaxInt
	}
	return a + b
}

// less is what is left of a when b is taken, at least nothing.
func less(a, b int) int { return max(0, max(a, 0)-max(b, 0)) }
