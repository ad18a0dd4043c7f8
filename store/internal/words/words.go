// Package words cuts text into words, in the same way for the index of a store, for a query and for
// the snippet of a hit, so that the three agree.
package words

import (
	"iter"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// longest is how many bytes of a word count. No word and no hash is longer; longer runs are data.
const longest = 128

// Word is a folded word of a text, and its place in bytes.
type Word struct {
	Text       []byte // valid until the next one
	Start, End int
}

// Of yields the words of a text. A word is a run of letters and digits, in lower case and without
// accents. A path, an identifier with underscores and a dotted name are several words: a phrase
// finds them side by side, and each can be found alone. In scripts without spaces every character
// is a word. Bytes that are not UTF-8 separate words.
func Of(text string) iter.Seq[Word] {
	return func(take func(Word) bool) {
		// Some characters fold to nothing but an accent: they are not words.
		yield := func(w Word) bool { return len(w.Text) == 0 || take(w) }
		var word []byte
		start := -1 // of the word that is being read, or -1
		for at, size := 0, 0; at < len(text); at += size {
			r := rune(text[at])
			if size = 1; r >= utf8.RuneSelf {
				r, size = utf8.DecodeRuneInString(text[at:])
			}
			kind := kindOf(r, size, start >= 0)
			if start >= 0 && (kind == none || kind == alone) {
				if !yield(Word{word, start, at}) {
					return
				}
				start = -1
			}
			if kind == inner || kind == alone {
				if start < 0 {
					word, start = word[:0], at
				}
				if len(word) < longest {
					word = appendFolded(word, r, text[at:at+size])
				}
			}
			if kind == alone {
				if !yield(Word{word, start, at + size}) {
					return
				}
				start = -1
			}
		}
		if start >= 0 {
			yield(Word{word, start, len(text)})
		}
	}
}

// kind is what a character is to the words around it.
type kind int

const (
	none  kind = iota // separates words
	inner             // a letter or a digit
	mark              // an accent within a word
	alone             // a word by itself
)

func kindOf(r rune, size int, within bool) kind {
	switch {
	case r < utf8.RuneSelf:
		if 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' {
			return inner
		}
		return none
	case r == utf8.RuneError && size == 1:
		return none
	case unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer,
		unicode.Myanmar):
		if spelled(r) {
			return alone
		}
		return none
	case spelled(r), unicode.Is(unicode.Co, r):
		return inner
	case unicode.IsMark(r) && within:
		return mark
	}
	return none
}

// spelled reports whether words are written with a rune.
func spelled(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) }

// appendFolded appends a character decomposed, in lower case and without accents.
func appendFolded(word []byte, r rune, text string) []byte {
	if r < utf8.RuneSelf {
		if 'A' <= r && r <= 'Z' {
			r += 'a' - 'A'
		}
		return append(word, byte(r))
	}
	d := norm.NFKD.PropertiesString(text).Decomposition()
	if d == nil {
		return appendLower(word, r)
	}
	for _, r := range string(d) {
		if spelled(r) || unicode.Is(unicode.Co, r) {
			word = appendLower(word, r)
		}
	}
	return word
}

// appendLower appends a character in lower case, the same for all that differ only in case: a final
// sigma is a sigma, and ß is ss, as it is in upper case.
func appendLower(word []byte, r rune) []byte {
	switch r = unicode.ToLower(r); r {
	case 'ß':
		return append(word, "ss"...)
	case 'ς':
		r = 'σ'
	}
	return utf8.AppendRune(word, r)
}

// border separates two texts in an index, so that no phrase matches across them. It is an accent
// without a letter, which is never a word.
const border = "\u0301 "

// Folded returns texts in the form that the index stores: each word followed by a space.
func Folded(texts ...string) string {
	size := 0
	for _, t := range texts {
		size += len(t) + 1
	}
	folded := make([]byte, 0, size)
	for i, t := range texts {
		if i > 0 {
			folded = append(folded, border...)
		}
		for w := range Of(t) {
			folded = append(append(folded, w.Text...), ' ')
		}
	}
	return string(folded)
}
