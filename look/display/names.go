package display

import (
	"strings"
	"unicode"
)

// letter is the n-th: A to Z, a to z, and # for all others.
func letter(n int) rune {
	switch {
	case n < 26:
		return 'A' + rune(n)
	case n < 52:
		return 'a' + rune(n-26)
	}
	return '#'
}

// distinct is what each of some names has that the others do not have: 40k and 60k of t=40k and
// t=60k. Names are cut only where a word ends.
func distinct(names []string) []string {
	word := func(r rune) bool {
		return unicode.IsLetter(r) || unicode.IsDigit(r) || r == '.' || r == '_' || r == '-'
	}
	first := names[0]
	if len(names) == 1 {
		if at := strings.LastIndexByte(first, '='); at >= 0 && at+1 < len(first) {
			return []string{first[at+1:]}
		}
		return []string{first}
	}
	runes := make([][]rune, len(names))
	for i, n := range names {
		runes[i] = []rune(n)
	}
	one := runes[0]
	before, after := len(one), len(one)
	for _, n := range runes[1:] {
		i := 0
		for i < min(before, len(n)) && n[i] == one[i] {
			i++
		}
		before = i
		i = 0
		for i < min(after, len(n)) && n[len(n)-1-i] == one[len(one)-1-i] {
			i++
		}
		after = i
	}
	for before > 0 && word(one[before-1]) {
		before--
	}
	for after > 0 && word(one[len(one)-after]) {
		after--
	}
	out := make([]string, len(names))
	for i, n := range runes {
		out[i] = names[i]
		if before+after < len(n) {
			out[i] = strings.TrimSpace(string(n[before : len(n)-after]))
		}
	}
	return out
}
