// Package words answers: what is looked for, and where does it stand? It cuts text into words, in one way for the index of a
// store, for what a person asks and for what is shown of a hit, so that the three agree.
package words

import (
	"iter"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// longest is how many bytes of a word count: no word and no hash is longer, and what is longer is data.
const longest = 128

// Word is a word of a text: folded, and where it stands, in bytes.
type Word struct {
	Text       []byte // valid until the next one
	Start, End int
}

// Of yields the words of a text. A word is a run of letters and digits, in lower case and without accents: a path, an identifier
// with underscores, a dotted name are several, which a phrase finds side by side, and each of them is found alone. Scripts that
// put no spaces between words give a word for each character. Bytes that are no UTF-8 separate.
func Of(text string) iter.Seq[Word] {
	return func(take func(Word) bool) {
		yield := func(w Word) bool { return len(w.Text) == 0 || take(w) } // of some characters nothing is left but an accent
		var word []byte
		start := -1
		for at := 0; at < len(text); {
			b := text[at]
			size, kind := 1, none
			switch {
			case 'a' <= b && b <= 'z', '0' <= b && b <= '9':
				kind = inner
			case 'A' <= b && b <= 'Z':
				b, kind = b+'a'-'A', inner
			case b >= utf8.RuneSelf:
				var r rune
				r, size = utf8.DecodeRuneInString(text[at:])
				if kind = kindOf(r, size, start >= 0); kind == alone && start >= 0 {
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
				at += size
				if kind == inner || kind == mark {
					continue
				}
				if start >= 0 && kind == alone {
					if !yield(Word{word, start, at}) {
						return
					}
					start = -1
				} else if start >= 0 {
					if !yield(Word{word, start, at - size}) {
						return
					}
					start = -1
				}
				continue
			}
			if kind == inner {
				if start < 0 {
					word, start = word[:0], at
				}
				if len(word) < longest {
					word = append(word, b)
				}
			} else if start >= 0 {
				if !yield(Word{word, start, at}) {
					return
				}
				start = -1
			}
			at++
		}
		if start >= 0 {
			yield(Word{word, start, len(text)})
		}
	}
}

// kind is what a character is to the words around it.
type kind int

const (
	none  kind = iota // it separates
	inner             // a letter or a digit
	mark              // an accent within a word
	alone             // a word by itself
)

func kindOf(r rune, size int, within bool) kind {
	switch {
	case r == utf8.RuneError && size == 1:
		return none
	case unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar):
		if unicode.IsLetter(r) || unicode.IsNumber(r) {
			return alone
		}
		return none
	case unicode.IsLetter(r), unicode.IsNumber(r), unicode.Is(unicode.Co, r):
		return inner
	case unicode.IsMark(r) && within:
		return mark
	}
	return none
}

// appendFolded appends a character in lower case, taken apart, without its accents.
func appendFolded(word []byte, r rune, text string) []byte {
	d := norm.NFKD.PropertiesString(text).Decomposition()
	if d == nil {
		return appendLower(word, r)
	}
	for _, r := range string(d) {
		if unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.Is(unicode.Co, r) {
			word = appendLower(word, r)
		}
	}
	return word
}

// appendLower appends a character in lower case: one for all that differ in case alone, such as the sigma at the end of a word, and the two letters
// that ß is in upper case.
func appendLower(word []byte, r rune) []byte {
	switch r = unicode.ToLower(r); r {
	case 'ß':
		return append(word, "ss"...)
	case 'ς':
		r = 'σ'
	}
	return utf8.AppendRune(word, r)
}

// border stands between two texts in an index, so that nothing is side by side with what is in another one. It is an accent without a letter, which no
// word is.
const border = "\u0301 "

// Folded are texts as an index takes them: their words with a space after each.
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
