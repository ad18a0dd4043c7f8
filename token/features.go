package token

// A text is described by counts of what is in it. Tokenizers of the GPT-4o family cut a text into
// pieces before they look at any vocabulary: a word takes the one space or sign before it, words
// end where lower case meets upper case, digits go in threes, signs go together with the line ends
// behind them, white space goes together but for the one space that a word takes. A piece is one
// token or more, so some features begin a piece and weigh one token at least, and the others say
// how likely there is another token in it and weigh nothing at least.

// Kinds of words, by what is before them and how they are written.
const (
	kindSpaced       = iota // small letters after a space
	kindGlued               // after nothing that a word takes: a line end, a digit, a group of signs
	kindTabbed              // after a tab
	kindSigned              // after one sign: "key @param
	kindDotted              // after one sign that often begins a word of the vocabulary: .name (arg -flag /path
	kindScored              // after an underscore
	kindTitled              // one capital in front, after a space; the next five as the first six
	kindTitledGlued         //
	kindTitledTabbed        //
	kindTitledSigned        //
	kindTitledDotted        //
	kindTitledScored        //
	kindCamel               // one capital in front, after a small letter
	kindMixed               // small letters after two capitals or more: HTTPServer
	kindUpper               // capitals from the second on
	kindUpperSpaced         // the same, after a space
	kindUpperScored         // the same, after an underscore
	kindCount
)

// maxWord is how many letters of a word are told apart; those beyond count as featRest.
const maxWord = 12

// Feature kind*maxWord+n counts the words of a kind that have an n+1st letter.
const (
	featRest          = kindCount*maxWord + iota // letters beyond maxWord
	featRepeat                                   // letters that repeat the two before them
	featContraction                              // 's and 'll behind a word
	featDigits                                   // groups of up to three digits
	featSign                                     // groups of signs; but not the one sign that a word takes
	featSign2                                    // groups with a second sign
	featSign3                                    // groups with a third
	featSigns                                    // signs beyond the third
	featSignTriple                               // third signs that repeat the two before them, in place of featSign3
	featSignRun                                  // signs beyond the third that do, in place of featSigns
	featSignLines                                // line ends behind signs
	featLines                                    // groups of white space that end in a line end
	featMoreLines                                // further line ends in them
	featLineRun                                  // line ends that repeat the two before them, in place of those
	featBlank                                    // one space or tab that nothing takes
	featIndent                                   // groups of white space within a line, less the one that a word takes
	featSpaceRun                                 // spaces that repeat the two before them
	featTabRun                                   // tabs that do
	featControl                                  // control characters
	featLatin                                    // Latin letters with accents
	featVietnamese                               // those with two accents, and accents that stand alone
	featCyrillic                                 // letters: Cyrillic
	featCyrillicUpper                            // Cyrillic capitals
	featGreek                                    // Greek, Armenian, Georgian
	featHebrew                                   // Hebrew
	featArabic                                   // Arabic and its neighbours
	featIndic                                    // the north of India
	featDravidian                                // the south of India
	featThai                                     // Thai and the scripts east of India
	featKana                                     // Japanese syllables
	featHan                                      // Chinese characters
	featHangul                                   // Korean syllables
	featMarks                                    // general punctuation: dashes, quotes, bullets
	featWide                                     // punctuation of East Asia and full-width forms
	featSymbols                                  // arrows, mathematics, box drawing
	featSameSymbol                               // one of those that repeats the one before
	featPictures                                 // everything outside the basic plane
	featForeign                                  // runs of letters of other scripts
	featInvalid                                  // bytes that are not UTF-8
	featCount
)

// Pairs counts the pairs of letters within pieces, at first<<6|second, a small letter being its
// place in the alphabet and a capital 26 more. A capital behind a small letter begins a piece and
// makes no pair.
type Pairs [64 * 64]int32

// IsPair says whether a place in [Pairs] is that of a pair that is counted.
func IsPair(at int) bool {
	first, second := at>>6, at&63
	return first < 52 && second < 52 && (first >= 26 || second < 26)
}

// Features counts what there is in a text, by kind; [FeatureName] says which.
type Features [featCount]int32

// FeatureName describes feature i, for reports of the program that fits the weights.
func FeatureName(i int) string {
	if i < featRest {
		kinds := [...]string{"spaced", "glued", "tabbed", "signed", "dotted", "scored", "titled", "titled glued",
			"titled tabbed", "titled signed",
			"titled dotted", "titled scored", "camel", "mixed", "upper", "upper spaced", "upper scored"}
		return kinds[i/maxWord] + " " + string(rune('a'+i%maxWord))
	}
	names := [...]string{"letters", "letter run", "contraction", "digits", "sign", "sign 2", "sign 3", "signs",
		"sign triple", "sign run", "sign lines",
		"lines", "more lines", "line run", "blank", "indent", "space run", "tab run", "control",
		"latin", "vietnamese", "cyrillic", "cyrillic capitals", "greek", "hebrew", "arabic", "indic", "dravidian",
		"thai", "kana", "han", "hangul",
		"marks", "wide", "symbols", "same symbol", "pictures", "foreign", "invalid"}
	return names[i-featRest]
}

// Bounds returns what feature i can weigh, in tokens. What begins a piece is one token or more; the
// rest of it cannot make it less. A run of one sign or of spaces is in the vocabulary by the dozen.
func Bounds(i int) (least, most float64) {
	if i < featRest {
		if i%maxWord == 0 && i/maxWord < kindMixed {
			return 1, 3
		}
		return 0, 3
	}
	switch i {
	case featDigits, featSign, featLines, featBlank, featIndent, featInvalid, featControl:
		return 1, 3
	case featMarks, featWide, featSymbols, featPictures, featForeign:
		return 0.5, 3
	case featCyrillic, featCyrillicUpper, featGreek, featHebrew, featArabic, featIndic, featDravidian, featThai,
		featKana, featHan, featHangul:
		return 0.05, 3
	case featRepeat:
		return 1. / 8, 1. / 4
	case featSignRun:
		return 1. / 64, 1. / 32
	case featLineRun, featTabRun:
		return 1. / 64, 1. / 8
	case featSpaceRun:
		return 0, 1. / 100
	case featSameSymbol:
		return 1. / 64, 1
	}
	return 0, 3
}
