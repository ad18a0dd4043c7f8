package token

// A text is described by counts of what is in it. Tokenizers of the GPT-4o family cut a text into pieces before
// they look at any vocabulary: a word takes the one space or sign before it, words end where lower case meets
// upper case, digits go in threes, signs go together with the line ends behind them, white space goes together
// but for the one space that a word takes. A piece is one token or more, so some features begin a piece and
// weigh one token at least, and the others say how likely there is another token in it and weigh nothing at least.

// Kinds of words, by what stands before them and how they are written.
const (
	kindSpaced       = iota // small letters after a space
	kindGlued               // after nothing that a word takes: a line end, a digit, a group of signs
	kindSigned              // after one sign: .name (arg _id "key
	kindTabbed              // after a tab
	kindTitled              // one capital in front, after a space
	kindTitledGlued         // one capital in front, after nothing that a word takes
	kindTitledSigned        // one capital in front, after one sign or a tab
	kindCamel               // one capital in front, after a small letter
	kindMixed               // small letters after two capitals or more: HTTPServer
	kindUpper               // capitals from the second on
	kindCount
)

// maxWord is how many letters of a word are told apart; those beyond count as featLetters.
const maxWord = 12

// Feature kind*maxWord+n counts the words of a kind that have an n+1st letter.
const (
	featLetters       = kindCount*maxWord + iota // letters beyond maxWord
	featLetterRun                                // letters that repeat the two before them
	featContraction                              // 's and 'll behind a word
	featDigits                                   // groups of up to three digits
	featSign                                     // groups of signs; one sign that a word takes is none
	featSign2                                    // groups with a second sign
	featSign3                                    // groups with a third
	featSigns                                    // signs beyond the third
	featSignRun                                  // signs that repeat the two before them, in place of the two features above
	featSignLines                                // line ends behind signs
	featLines                                    // groups of white space that end in a line end
	featMoreLines                                // further line ends in them
	featLineRun                                  // line ends that repeat the two before them, in place of those
	featBlank                                    // one space or tab that nothing takes
	featIndent                                   // groups of white space within a line, less the one that a word takes
	featSpaceRun                                 // spaces and tabs that repeat the two before them
	featControl                                  // control characters
	featLatin                                    // Latin letters with accents
	featCyrillic                                 // letters: Cyrillic
	featCyrillicUpper                            // Cyrillic capitals
	featGreek                                    // Greek, Armenian, Georgian
	featHebrew                                   // Hebrew, Arabic and their neighbours
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
	featCuts                                     // how likely the pairs of small letters are to be cut, in 255ths
	featCutsOver                                 // the same, of what is over cutsOver
	featCutsFar                                  // the same, of what is over cutsFar
	featCount
)

// A pair that is hardly ever cut says little; one that is often cut says that the word is not of the vocabulary.
const (
	cutsOver = 24
	cutsFar  = 80
)

// Pairs says how likely the tokenizer is to cut between two small letters of a word, in 255ths, at
// first<<5|second.
type Pairs [1024]uint8

// Features counts what there is in a text, by kind; [FeatureName] says which.
type Features [featCount]int32

// FeatureName describes feature i, for reports of the program that fits the weights.
func FeatureName(i int) string {
	if i < featLetters {
		kinds := [...]string{"spaced", "glued", "signed", "tabbed", "titled", "titled glued", "titled signed", "camel", "mixed", "upper"}
		return kinds[i/maxWord] + " " + string(rune('a'+i%maxWord))
	}
	names := [...]string{"letters", "letter run", "contraction", "digits", "sign", "sign 2", "sign 3", "signs", "sign run", "sign lines",
		"lines", "more lines", "line run", "blank", "indent", "space run", "control",
		"latin", "cyrillic", "cyrillic capitals", "greek", "hebrew", "indic", "dravidian", "thai", "kana", "han", "hangul",
		"marks", "wide", "symbols", "same symbol", "pictures", "foreign", "invalid", "cuts", "cuts over", "cuts far"}
	return names[i-featLetters]
}

// LeastWeight returns the weight that feature i cannot be below, in tokens: what begins a piece is one token.
func LeastWeight(i int) float64 {
	switch {
	case i < featLetters:
		kind, letter := i/maxWord, i%maxWord
		if letter == 0 && kind != kindMixed && kind != kindUpper {
			return 1
		}
		return 0
	}
	switch i {
	case featDigits, featSign, featLines, featBlank, featIndent, featInvalid, featControl:
		return 1
	case featForeign:
		return 0.5
	case featLetterRun, featSignRun, featLineRun:
		return 1. / 64
	case featLatin, featCyrillic, featCyrillicUpper, featGreek, featHebrew, featIndic, featDravidian, featThai, featKana, featHan, featHangul:
		return 0.05
	case featMarks, featWide, featSymbols, featPictures:
		return 0.5
	case featSameSymbol:
		return 1. / 64
	}
	return 0
}
