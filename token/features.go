package token

// A text is described by counts of what is in it. The kinds follow how the byte-pair tokenizers of the
// GPT-4o family cut a text before they look at any vocabulary: a word takes the one space or sign before
// it, words end where lower case meets upper case, digits go in threes, signs go together with the line
// ends behind them, white space goes together but for the one space that a word takes.

// Words of ASCII letters, each kind in maxWord lengths.
const (
	featSpaced = iota * maxWord // lower case, after a space
	featGlued                   // lower case, at the start of a line or after a digit, a group of signs, a capital word
	featSigned                  // lower case, after one sign: .name (arg _id "key
	featTitled                  // one capital in front, after a space or sign
	featCamel                   // one capital in front, after neither
	featUpper                   // two capitals or more in front: API, HTTPServer
	featTabbed                  // any word after a tab
	featOther                   // where the other features begin
)

// maxWord is the length from which on words are told apart by featLetters alone.
const maxWord = 14

const (
	featLetters       = featOther + iota // letters beyond maxWord
	featRare                             // how likely the pairs of letters inside words are to be cut, in 255ths
	featDigits                           // groups of up to three digits
	featSign1                            // signs that stand alone: no word takes them
	featSign2                            // groups of two signs
	featSign3                            // groups of three and more signs
	featSigns                            // signs beyond the third in a group that differ from the one before
	featRepeat                           // signs beyond the third in a group that repeat the one before
	featLines                            // line ends, with all white space before them
	featIndent                           // groups of white space beyond the one space that a word takes
	featSpaces                           // sixteens of white space in such a group
	featControl                          // control characters
	featLatin                            // Latin letters with accents
	featCyrillic                         // letters: Cyrillic
	featCyrillicUpper                    // Cyrillic capitals, counted as Cyrillic letters too
	featGreek                            // Greek, Armenian, Georgian
	featHebrew                           // Hebrew, Arabic and their neighbours
	featIndic                            // the north of India
	featDravidian                        // the south of India
	featThai                             // Thai and the scripts east of India
	featKana                             // Japanese syllables
	featHan                              // Chinese characters
	featHangul                           // Korean syllables
	featMarks                            // general punctuation: dashes, quotes, bullets
	featWide                             // punctuation of East Asia and full-width forms
	featSymbols                          // arrows, mathematics, box drawing
	featSameSymbol                       // one of those that repeats the one before, and is not counted as one
	featPictures                         // everything outside the basic plane
	featForeign                          // runs of letters of other scripts
	featInvalid                          // bytes that are not UTF-8
	featNothing                          // groups that left nothing for the next: weighs nothing, saves a branch
	featCount
)

// Pairs says how likely the tokenizer is to cut between two small letters of a word, in 255ths, at
// first<<5|second.
type Pairs [1024]uint8

// Features counts what there is in a text, by kind; [FeatureName] says which.
type Features [featCount]int32

// FeatureName describes feature i, for reports of the program that fits the weights.
func FeatureName(i int) string {
	if i < featOther {
		kinds := [...]string{"spaced", "glued", "signed", "titled", "camel", "upper", "tabbed"}
		return kinds[i/maxWord] + " " + string(rune('a'+i%maxWord))
	}
	names := [...]string{"letters", "rare", "digits", "sign 1", "sign 2", "sign 3", "signs", "repeat", "lines",
		"indent", "spaces", "control", "latin", "cyrillic", "cyrillic capitals", "greek", "hebrew", "indic", "dravidian", "thai", "kana", "han", "hangul",
		"marks", "wide", "symbols", "same symbol", "pictures", "foreign", "invalid", "nothing"}
	return names[i-featOther]
}
