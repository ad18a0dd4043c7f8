package page

import (
	"unicode"
	"unicode/utf8"
)

// drawable says that a figure can be drawn.
func drawable(v float64) bool { return v >= 0 && v < 1e9 }

// sentence begins a text with a capital letter.
func sentence(text string) string {
	first, size := utf8.DecodeRuneInString(text)
	if first == utf8.RuneError {
		return text
	}
	return string(unicode.ToUpper(first)) + text[size:]
}
