package lab

import (
	"iter"
	"strings"
)

// rows calls found with the hash of each row of six words of a text, and of the shorter rows that
// are wanted, with the line, from 0, where it begins. The numbers that readers print before the
// lines of a file are no words of a numbered text.
func rows(text string, numbered bool, wanted *short, found func(hash uint64, line int32)) {
	var row [Words]uint64
	var lines [Words]int32
	n, line := 0, int32(0)
	var numbers numbering
	i := 0
	if numbered {
		i = numbers.width(text)
	}
	for i < len(text) {
		c := text[i]
		if !wordBytes[c] {
			if i++; c == '\n' {
				if line++; numbered {
					i += numbers.width(text[i:])
				}
			}
			continue
		}
		start, h := i, uint64(fnvOffset)
		for ; i < len(text) && wordBytes[text[i]]; i++ {
			h = (h ^ uint64(text[i])) * fnvPrime
		}
		row[n%Words], lines[n%Words] = h, line
		n++
		if wanted != nil {
			wanted.find(&row, &lines, n, text[start:i], found)
		}
		if n >= Words {
			found(join(&row, n, Words), lines[n%Words])
		}
	}
}

const fnvOffset, fnvPrime = 14695981039346656037, 1099511628211

// join is the hash of the newest words of a ring in which n were written.
func join(row *[Words]uint64, n, words int) uint64 {
	sum := uint64(words)
	for j := n - words; j < n; j++ {
		sum = (sum ^ row[j%Words]) * 0x9E3779B97F4A7C15
		sum ^= sum >> 29
	}
	return sum
}

// whole is the hash of all words of a text that has fewer than six, and their number; else 0, 0.
func whole(text string) (hash uint64, words int) {
	var row [Words]uint64
	for i := 0; i < len(text); {
		if !wordBytes[text[i]] {
			i++
			continue
		}
		if words++; words >= Words {
			return 0, 0
		}
		start := i
		for i < len(text) && wordBytes[text[i]] {
			i++
		}
		row[words-1] = hashWord(text[start:i])
	}
	if words == 1 {
		return oneWord(strings.TrimFunc(text, func(c rune) bool { return c > 127 || !wordBytes[byte(c)] })), 1
	}
	return join(&row, words, words), words
}

func hashWord(word string) uint64 {
	h := uint64(fnvOffset)
	for i := range len(word) {
		h = (h ^ uint64(word[i])) * fnvPrime
	}
	return h
}

// oneWord is the hash of a row of one word, without the punctuation around it.
func oneWord(word string) uint64 {
	row := [Words]uint64{hashWord(bareWord(word))}
	return join(&row, 1, 1)
}

// bareWord is a word without what a sentence or a flag puts around it.
func bareWord(word string) string {
	if c, d := word[0], word[len(word)-1]; c != '-' && c != '.' && d != '.' && d != '-' && d != '/' {
		return word
	}
	for before := ""; word != before; {
		before = word
		word = strings.TrimPrefix(strings.TrimLeft(word, "-"), "./")
	}
	return strings.TrimRight(word, ".-/")
}

// short are the rows of fewer than six words that are wanted.
type short struct {
	wanted  map[uint64]bool // nil when all that is wanted was learned
	bits    [1 << 10]uint64 // of the hashes of wanted, to look few of others up
	lengths [Words]bool     // of the rows
}

func (s *short) want(hash uint64, length int) {
	s.wanted[hash], s.lengths[length] = true, true
	s.bits[hash>>6&1023] |= 1 << (hash & 63)
}

// find calls found for the wanted rows that end with the newest word.
func (s *short) find(row *[Words]uint64, lines *[Words]int32, n int, word string, found func(uint64, int32)) {
	for length := 1; length < Words && length <= n; length++ {
		if !s.lengths[length] {
			continue
		}
		hash := uint64(0)
		if length > 1 {
			hash = join(row, n, length)
		} else {
			hash = oneWord(word)
		}
		if s.bits[hash>>6&1023]&(1<<(hash&63)) != 0 && (s.wanted == nil || s.wanted[hash]) {
			found(hash, lines[(n-length)%Words])
		}
	}
}

// names yields the identifiers and paths of a text: words of four bytes or more with a letter, that
// have a digit, a slash, a dot or an underscore in them, or change from small letters to large
// ones.
func names(text string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for i := 0; i < len(text); {
			start := i
			for i < len(text) && wordBytes[text[i]] {
				i++
			}
			if i == start {
				i++
				continue
			}
			if word := bareWord(text[start:i]); len(word) >= 4 && isName(word) && !yield(word) {
				return
			}
		}
	}
}

// isName reports whether a word is an identifier or a path.
func isName(word string) bool {
	letter, mark, small := false, false, false
	for i := range len(word) {
		c := word[i]
		switch {
		case c >= 'a' && c <= 'z':
			letter, small = true, true
		case c >= 'A' && c <= 'Z':
			letter, mark = true, mark || small
			small = false
		default:
			mark = mark || c != '-'
			small = false
		}
	}
	return letter && mark
}

// numbering finds the numbers that readers print before the lines of a file: "   12→", "12\t",
// "12|", "12: ". They count up, line by line.
type numbering struct{ last int }

// width is how many bytes the number before the first line of a text takes, 0 without a number.
func (n *numbering) width(text string) int {
	number, width := lineNumber(text)
	if width == 0 {
		return 0
	}
	if number != n.last+1 {
		_, next, more := strings.Cut(text, "\n")
		if following, wide := lineNumber(next); !more || wide == 0 || following != number+1 {
			return 0
		}
	}
	n.last = number
	return width
}

// lineNumber reads the number before a line, and how many bytes it takes with what stands behind
// it.
func lineNumber(line string) (number, width int) {
	i := 0
	for i < len(line) && line[i] == ' ' {
		i++
	}
	start := i
	for ; i < len(line) && line[i] >= '0' && line[i] <= '9' && i-start < 7; i++ {
		number = number*10 + int(line[i]-'0')
	}
	if i == start || i == len(line) {
		return 0, 0
	}
	switch rest := line[i:]; {
	case rest[0] == '\t', rest[0] == '|':
		return number, i + 1
	case strings.HasPrefix(rest, "→"):
		return number, i + len("→")
	case strings.HasPrefix(rest, ": "):
		return number, i + 2
	}
	return 0, 0
}

// wordBytes are the bytes of words: letters, digits and the punctuation of paths, versions and
// flags.
var wordBytes = func() (is [256]bool) {
	for b := range is {
		c := byte(b)
		is[b] = c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '.' ||
			c == '/' || c == '-'
	}
	return is
}()
