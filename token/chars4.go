package token

import "unicode/utf8"

// Chars4 counts four UTF-16 code units as one token, rounded half up: (n+2)/4. It is the estimate
// of the specification that the classic policy follows, reproduced exactly, empty text being 0.
type Chars4 struct{}

// Name returns "chars4".
func (Chars4) Name() string { return "chars4" }

// Count returns (n+2)/4 for a text of n UTF-16 code units.
func (Chars4) Count(text string) int { return (UTF16Len(text) + 2) / 4 }

// highBits has the top bit of each of eight bytes set: none of them is set in eight bytes of ASCII.
const highBits = 0x8080808080808080

// UTF16Len returns the length of text in UTF-16 code units, which is what JavaScript calls its
// length. A rune outside the basic plane counts 2. Bytes that are not UTF-8, lone surrogates among
// them, count 1 for each replacement rune that Go reads in their place.
func UTF16Len(text string) int {
	n := 0
	for i := 0; i < len(text); {
		for i+8 <= len(text) && word(text[i:i+8])&highBits == 0 {
			i, n = i+8, n+8
		}
		if i == len(text) {
			break
		}
		if text[i] < utf8.RuneSelf {
			i, n = i+1, n+1
			continue
		}
		r, size := utf8.DecodeRuneInString(text[i:])
		if i, n = i+size, n+1; r > 0xFFFF {
			n++
		}
	}
	return n
}

// word reads eight bytes as one number; the compiler makes a single load of it.
func word(s string) uint64 {
	_ = s[7]
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}
