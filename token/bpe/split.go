package bpe

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// A splitter returns how long the first piece of a text is, in bytes. The text is not empty, and
// neither is the piece. No token goes beyond the end of a piece.
//
// The pieces of a vocabulary are published as a regular expression of alternatives, of which the
// first that matches counts. Here each alternative is a function that says how long its match is, 0
// if there is none. None looks further than a piece and the white space behind it, so that the time
// is in proportion to the text.
type splitter func(text string) int

// splitO200k is
//
//	[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+
//	    (?i:'s|'t|'re|'ve|'m|'ll|'d)?|
//	[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*
//	    (?i:'s|'t|'re|'ve|'m|'ll|'d)?|
//	\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+
func splitO200k(text string) int {
	if n := casedWord(text); n > 0 {
		return n + contraction(text[n:])
	}
	if n := digits(text); n > 0 {
		return n
	}
	if n := signs(text); n > 0 {
		for n < len(text) && (text[n] == '\r' || text[n] == '\n' || text[n] == '/') {
			n++
		}
		return n
	}
	return space(text)
}

// splitCl100k is
//
//	(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|
//	\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+
func splitCl100k(text string) int {
	if n := contraction(text); n > 0 {
		return n
	}
	if n := word(text); n > 0 {
		return n
	}
	if n := digits(text); n > 0 {
		return n
	}
	if n := signs(text); n > 0 {
		return n + run(text[n:], lineEnd)
	}
	return space(text)
}

// contraction is (?i:'s|'t|'re|'ve|'m|'ll|'d). To a pattern that ignores case, the long s is an s.
func contraction(text string) int {
	if text == "" || text[0] != '\'' {
		return 0
	}
	for _, ending := range [...]string{"'s", "'t", "'re", "'ve", "'m", "'ll", "'d", "'ſ"} {
		if n := len(ending); n <= len(text) && strings.EqualFold(text[:n], ending) {
			return n
		}
	}
	return 0
}

// casedWord is the first two alternatives of o200k, without the contraction: a word, in which a
// capital behind a small letter begins the next.
func casedWord(text string) int {
	before := signBefore(text)
	n, found := cased(text[before:])
	if !found && before > 0 {
		// A mark is a sign and a part of words. With no word behind it, it is one itself.
		if n, found := cased(text); found {
			return n
		}
	}
	if n == 0 {
		return 0
	}
	return before + n
}

// cased is the following, and whether it is found:
//
//	[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+
//
// If it is not, the length is that of the capitals that the text begins with, which is all that the
// second alternative finds then.
func cased(text string) (length int, found bool) {
	capitals, lastCaseless := 0, 0
	for capitals < len(text) {
		c, size := classAt(text[capitals:])
		if c&(upper|caseless|mark) == 0 {
			break
		}
		capitals += size
		if c&upper == 0 {
			lastCaseless = capitals
		}
	}
	switch lower := run(text[capitals:], lower|caseless|mark); {
	case lower > 0:
		return capitals + lower, true
	case lastCaseless > 0: // the greedy first half gives back as little as the second half needs
		return lastCaseless, true
	default:
		return capitals, false
	}
}

// word is [^\r\n\p{L}\p{N}]?\p{L}+.
func word(text string) int {
	before := signBefore(text)
	if n := run(text[before:], letter); n > 0 {
		return before + n
	}
	return 0
}

// signBefore is [^\r\n\p{L}\p{N}]?.
func signBefore(text string) int {
	if c, size := classAt(text); c&(letter|number|lineEnd) == 0 {
		return size
	}
	return 0
}

// digits is \p{N}{1,3}.
func digits(text string) int {
	n := 0
	for range 3 {
		if n == len(text) {
			break
		}
		c, size := classAt(text[n:])
		if c != number {
			break
		}
		n += size
	}
	return n
}

// signs is " ?[^\s\p{L}\p{N}]+".
func signs(text string) int {
	before := 0
	if text[0] == ' ' {
		before = 1
	}
	if n := run(text[before:], sign|mark); n > 0 {
		return before + n
	}
	return 0
}

// space is \s*[\r\n]+|\s+(?!\S)|\s+: all up to the last line end, else all but the last, which goes
// with the word behind it.
func space(text string) int {
	n, last, lines := 0, 0, 0
	for n < len(text) {
		c, size := classAt(text[n:])
		if c&(blank|lineEnd) == 0 {
			break
		}
		last = n
		n += size
		if c == lineEnd {
			lines = n
		}
	}
	switch {
	case lines > 0:
		return lines
	case n < len(text) && last > 0:
		return last
	default:
		return n
	}
}

// run is how long the text stays within classes.
func run(text string, within class) int {
	n := 0
	for n < len(text) {
		c, size := classAt(text[n:])
		if c&within == 0 {
			break
		}
		n += size
	}
	return n
}

// A class is what the patterns distinguish of a character. Each character has one.
type class uint8

const (
	upper    class = 1 << iota // \p{Lu}, \p{Lt}
	lower                      // \p{Ll}
	caseless                   // \p{Lm}, \p{Lo}
	mark                       // \p{M}
	number                     // \p{N}
	blank                      // \s without line ends
	lineEnd                    // \r, \n
	sign                       // all others
	letter   = upper | lower | caseless
)

var ascii = func() (classes [utf8.RuneSelf]class) {
	for i := range classes {
		classes[i] = classOf(rune(i))
	}
	return classes
}()

// classAt is the class of the first character, and its length in bytes.
func classAt(text string) (c class, size int) {
	if first := text[0]; first < utf8.RuneSelf {
		return ascii[first], 1
	}
	r, size := utf8.DecodeRuneInString(text)
	return classOf(r), size
}

func classOf(r rune) class {
	switch {
	case r == '\r' || r == '\n':
		return lineEnd
	case unicode.In(r, unicode.Lo, unicode.Lm):
		return caseless
	case unicode.Is(unicode.Ll, r):
		return lower
	case unicode.In(r, unicode.Lu, unicode.Lt):
		return upper
	case unicode.IsSpace(r):
		return blank
	case unicode.IsNumber(r):
		return number
	case unicode.IsMark(r):
		return mark
	default:
		return sign
	}
}
