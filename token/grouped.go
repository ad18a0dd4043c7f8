package token

import (
	"strconv"
	"strings"
)

// Grouped writes a size for people, with a comma between every three digits: 171,000.
func Grouped(n int) string {
	digits := strconv.Itoa(n)
	if n < 0 {
		return "-" + GroupDigits(digits[1:])
	}
	return GroupDigits(digits)
}

// Count says how many of a thing there are, for people: "1 line", "2,000 lines", "3 matches", "2 entries".
func Count(n int, one string) string {
	if n == 1 {
		return "1 " + one
	}
	rest, y := strings.CutSuffix(one, "y")
	switch {
	case strings.HasSuffix(one, "ch"):
		one += "es"
	case y && rest != "" && !strings.ContainsRune("aeiou", rune(rest[len(rest)-1])):
		one = rest + "ies"
	default:
		one += "s"
	}
	return Grouped(n) + " " + one
}

// AppendGrouped writes it behind a text.
func AppendGrouped(text []byte, n int) []byte {
	if n >= 0 && n < 1000 {
		return strconv.AppendInt(text, int64(n), 10)
	}
	return append(text, Grouped(n)...)
}

// GroupDigits puts a comma between every three digits of a number that is text already.
func GroupDigits(digits string) string {
	if len(digits) < 4 {
		return digits
	}
	var b strings.Builder
	for i, d := range []byte(digits) {
		if i > 0 && (len(digits)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteByte(d)
	}
	return b.String()
}

// GroupDigitsIn groups the digits of the large numbers in a sentence, those that stand alone: not in ids, versions or dates.
func GroupDigitsIn(sentence string) string {
	words := strings.Split(sentence, " ")
	for i, w := range words {
		bare := strings.TrimRight(w, ".,;:")
		if len(bare) >= 4 && strings.Trim(bare, "0123456789") == "" {
			words[i] = GroupDigits(bare) + w[len(bare):]
		}
	}
	return strings.Join(words, " ")
}
