package token

import (
	"math/bits"
	"unicode/utf8"
)

// The classes of a byte.
const (
	classLower = iota
	classUpper
	classDigit
	classSign
	classSpace // space, tab
	classLine  // \n, \r
	classControl
	classHigh // not ASCII
)

// classes maps a byte to its class. It is constant after the program was loaded.
var classes = func() (t [256]uint8) {
	for b := range t {
		switch {
		case b >= 'a' && b <= 'z':
			t[b] = classLower
		case b >= 'A' && b <= 'Z':
			t[b] = classUpper
		case b >= '0' && b <= '9':
			t[b] = classDigit
		case b == ' ' || b == '\t' || b == '\v' || b == '\f':
			t[b] = classSpace
		case b == '\n' || b == '\r':
			t[b] = classLine
		case b < ' ' || b == 0x7F:
			t[b] = classControl
		case b >= utf8.RuneSelf:
			t[b] = classHigh
		default:
			t[b] = classSign
		}
	}
	return t
}()

// What stands before the next group and may be taken by it.
const (
	leadNone = iota
	leadSpace
	leadTab
	leadSign
)

// Scan counts the features of text in one pass.
func Scan(text string, pairs *Pairs) Features {
	s := scanner{text: text}
	s.f[featRare] = rare(text, pairs)
	for s.i < len(text) {
		switch classes[text[s.i]] {
		case classLower, classUpper:
			s.word()
		case classDigit:
			s.digits()
		case classSign:
			s.signs()
		case classSpace, classLine:
			s.white()
		case classControl:
			s.drop()
			s.f[featControl]++
			s.i++
		default:
			s.high()
		}
	}
	s.drop()
	s.f[featNothing] = 0
	return s.f
}

type scanner struct {
	text    string
	i       int
	lead    int  // what was left for the next group to take
	foreign bool // the rune before was a letter of another script
	symbol  rune // the symbol before
	f       Features
}

// dropped is what a thing that was left for the next group counts as when that group does not take it.
var dropped = [4]int{leadNone: featNothing, leadSpace: featIndent, leadTab: featIndent, leadSign: featSign1}

// drop counts what was left for the next group when that group does not take it.
func (s *scanner) drop() {
	s.f[dropped[s.lead]]++
	s.lead, s.foreign = leadNone, false
}

// kinds is what a word is, by what stands before it and how many capitals it begins with, two being many.
var kinds = [4][3]int{
	leadNone:  {featGlued, featCamel, featUpper},
	leadSpace: {featSpaced, featTitled, featUpper},
	leadTab:   {featTabbed, featTabbed, featTabbed},
	leadSign:  {featSigned, featTitled, featUpper},
}

// word counts capitals followed by small letters: one word of camelCase.
func (s *scanner) word() {
	text, i := s.text, s.i
	start := i
	for i < len(text) && classes[text[i]] == classUpper {
		i++
	}
	capitals, extra := min(i-start, 2), 0
	for i < len(text) {
		if i+8 <= len(text) {
			n := smallRun(word(text[i : i+8]))
			if i += n; n == 8 {
				continue
			}
		}
		b := text[i]
		if classes[b] == classLower {
			i++
			continue
		}
		// A Latin letter with an accent is two bytes, C3 80 to C9 8F, and belongs to the word.
		if b < 0xC3 || b > 0xC9 || i+1 >= len(text) || text[i+1]&0xC0 != 0x80 {
			break
		}
		i, extra = i+2, extra+1
	}
	length := i - start - extra
	kind := kinds[s.lead][capitals]
	if length > maxWord {
		s.f[featLetters] += int32(length - maxWord)
		length = maxWord
	}
	s.f[kind+length-1]++
	s.f[featLatin] += int32(extra)
	s.i, s.lead, s.foreign = i, leadNone, false
}

// smallRun returns how many of eight bytes, from the first on, are small letters. The top bit of each byte
// becomes whether it is one: at least 'a', not more than 'z', and ASCII.
func smallRun(eight uint64) int {
	const ones = 0x0101010101010101
	low := eight &^ highBits
	small := (low + ones*(0x80-'a')) &^ (low + ones*(0x80-'z'-1)) &^ eight & highBits
	return bits.TrailingZeros64(small^highBits) / 8
}

// rare adds up the chances of a cut between small letters, over the whole text: a pass of its own, without
// a branch, takes less time than a look at each letter inside the words.
func rare(text string, pairs *Pairs) int32 {
	sum, before := int32(0), uint32(31)
	for i := range len(text) {
		letter := uint32(letters[text[i]])
		sum += int32(pairs[(before<<5|letter)&1023])
		before = letter
	}
	return sum
}

// letters maps a small letter to its number, and every other byte to 31, in whose row and column pairs are 0.
var letters = func() (t [256]uint8) {
	for b := range t {
		t[b] = 31
		if b >= 'a' && b <= 'z' {
			t[b] = uint8(b - 'a')
		}
	}
	return t
}()

func (s *scanner) digits() {
	s.drop()
	start := s.i
	for s.i < len(s.text) && classes[s.text[s.i]] == classDigit {
		s.i++
	}
	s.f[featDigits] += int32((s.i - start + 2) / 3)
}

// signs counts a group of signs, with the line ends behind it. One sign before a letter is left for the word.
func (s *scanner) signs() {
	text, start := s.text, s.i
	i := start + 1
	var repeat, differ int32
	for i < len(text) && classes[text[i]] == classSign {
		if i-start >= 3 {
			if text[i] == text[i-1] {
				repeat++
			} else {
				differ++
			}
		}
		i++
	}
	spaced := s.lead == leadSpace
	if !spaced {
		s.drop()
	}
	s.lead, s.foreign, s.i = leadNone, false, i
	if i-start == 1 && !spaced && i < len(text) {
		if c := classes[text[i]]; c <= classUpper || c == classHigh {
			s.lead = leadSign
			return
		}
	}
	switch i - start {
	case 1:
		s.f[featSign1]++
	case 2:
		s.f[featSign2]++
	default:
		s.f[featSign3]++
		s.f[featSigns] += differ
		s.f[featRepeat] += repeat
	}
	for s.i < len(text) && classes[text[s.i]] == classLine {
		s.i++
	}
}

// white counts white space: what ends in a line end is one group, what follows is another, less its last
// character, which is left for the next word.
func (s *scanner) white() {
	s.drop()
	text, start, i := s.text, s.i, s.i
	tail := start // after the last line end
	for i < len(text) {
		c := classes[text[i]]
		if c == classLine {
			tail = i + 1
		} else if c != classSpace {
			break
		}
		i++
	}
	if tail > start {
		s.f[featLines]++
		s.f[featSpaces] += int32((tail - start) / 16)
	}
	s.i = i
	if i == tail {
		return
	}
	if i-tail > 1 {
		s.f[featIndent]++
		s.f[featSpaces] += int32((i - tail) / 16)
	}
	s.lead = leadTab
	if text[i-1] == ' ' {
		s.lead = leadSpace
	}
}

// high counts one rune that is not ASCII.
func (s *scanner) high() {
	r, size := utf8.DecodeRuneInString(s.text[s.i:])
	if r == utf8.RuneError && size == 1 {
		s.drop()
		s.f[featInvalid]++
		s.i++
		return
	}
	if r >= 0xC0 && r < 0x250 { // a word that begins with an accent
		if s.lead != leadNone || !s.foreign {
			s.f[featForeign]++
		}
		s.lead, s.foreign = leadNone, true
		s.f[featLatin]++
		s.i += size
		return
	}
	kind, letter := script(r)
	if kind == featSymbols {
		if at := s.i - size; r == s.symbol && at >= 0 && s.text[at:s.i] == s.text[s.i:s.i+size] {
			kind = featSameSymbol
		}
		s.symbol = r
	}
	if letter {
		if !s.foreign || s.lead != leadNone {
			s.f[featForeign]++
		}
		s.lead, s.foreign = leadNone, true
	} else {
		if s.lead == leadSpace {
			s.lead = leadNone
		}
		s.drop()
	}
	if r >= 0x410 && r < 0x430 {
		s.f[featCyrillicUpper]++
	}
	s.f[kind]++
	s.i += size
}

// script says which feature a rune that is not ASCII counts for, and whether it is a letter.
func script(r rune) (kind int, letter bool) {
	switch {
	case r < 0x250:
		return featMarks, false
	case r < 0x370:
		return featLatin, true
	case r < 0x400:
		return featGreek, true
	case r < 0x530:
		return featCyrillic, true
	case r < 0x590:
		return featGreek, true
	case r < 0x900:
		return featHebrew, true
	case r < 0xC00:
		return featIndic, true
	case r < 0xE00:
		return featDravidian, true
	case r < 0x10A0:
		return featThai, true
	case r < 0x1100:
		return featGreek, true
	case r < 0x1200:
		return featHangul, true
	case r < 0x1E00:
		return featThai, true
	case r < 0x1F00:
		return featLatin, true
	case r < 0x2000:
		return featGreek, true
	case r < 0x2070:
		return featMarks, false
	case r < 0x2E80:
		return featSymbols, false
	case r < 0x3000:
		return featHan, true
	case r < 0x3040:
		return featWide, false
	case r < 0x3130:
		return featKana, true
	case r < 0x3190:
		return featHangul, true
	case r < 0xA000:
		return featHan, true
	case r < 0xAC00:
		return featThai, true
	case r < 0xD7B0:
		return featHangul, true
	case r >= 0xF900 && r < 0xFB00:
		return featHan, true
	case r >= 0xFE00 && r < 0x10000:
		return featWide, false
	default:
		return featPictures, false
	}
}
