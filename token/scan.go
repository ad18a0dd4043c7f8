package token

import "unicode/utf8"

// Scan counts the features of text, and the pairs of letters: what [Linear] adds up, told apart.
func Scan(text string) (f Features, pairs Pairs) {
	state, before := stateStart, uint16(noChar)
	count := func(column int) {
		m := &moves[state*columns+column]
		for _, feature := range m.counts {
			f[feature]++
		}
		state = m.next
	}
	for i := 0; i < len(text); {
		b := text[i]
		if b >= utf8.RuneSelf {
			r := runeAt(text, i)
			f[r.feature]++
			count(int(r.column))
			before = noChar
			i += r.size
			continue
		}
		column, letter := int(asciis[b]&(sameColumn-1)), asciis[b]>>charShift
		if i >= 2 && b == text[i-1] && b == text[i-2] {
			column += sameColumn
		} else if at := int(before<<6 | letter); IsPair(at) {
			pairs[at]++
		}
		count(column)
		before = letter
		i++
	}
	count(colEnd)
	return f, pairs
}

// A wideRune is a rune that is not ASCII, or a byte that belongs to none.
type wideRune struct {
	column, feature uint8
	size            int
}

func runeAt(text string, i int) wideRune {
	r, size := utf8.DecodeRuneInString(text[i:])
	if r == utf8.RuneError && size == 1 {
		return wideRune{colOther, featInvalid, 1}
	}
	if r > 0xFFFF {
		return wideRune{colOther, featPictures, size}
	}
	w := basic[r>>4&0xFFF]
	w.size = size
	if w.feature == featSymbols && i >= size && text[i-size:i] == text[i:i+size] {
		w.feature = featSameSymbol
	}
	return w
}

// basic says what the runes of the basic plane are, sixteen at once. It is constant after the
// program was loaded.
var basic = func() (t [4096]wideRune) {
	for i := range t {
		r := rune(i << 4)
		feature, letter := script(r)
		t[i] = wideRune{column: colOther, feature: uint8(feature)}
		switch {
		case feature == featLatin || feature == featVietnamese:
			t[i].column = colLatin
		case letter:
			t[i].column = colForeign
		}
	}
	return t
}()

// script says which feature a rune of the basic plane that is not ASCII counts for, and whether it
// is a letter.
func script(r rune) (kind int, letter bool) {
	switch {
	case r < 0xC0:
		return featMarks, false
	case r < 0x300:
		return featLatin, true
	case r < 0x370:
		return featVietnamese, true
	case r < 0x400:
		return featGreek, true
	case r >= 0x410 && r < 0x430:
		return featCyrillicUpper, true
	case r < 0x530:
		return featCyrillic, true
	case r < 0x590:
		return featGreek, true
	case r < 0x600:
		return featHebrew, true
	case r < 0x900:
		return featArabic, true
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
		return featVietnamese, true
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
