package fact

import (
	"iter"
	"strings"
	"time"
)

// spread is how many bits say which texts have a word.
const spread = 256

// where is a set of texts: text n is the bit n mod 256.
type where [spread / 64]uint64

func everywhere() where { return where{^uint64(0), ^uint64(0), ^uint64(0), ^uint64(0)} }

func (w where) and(v where) where { return where{w[0] & v[0], w[1] & v[1], w[2] & v[2], w[3] & v[3]} }

func (w where) has(n int) bool { return w[n/64%len(w)]&(1<<(n%64)) != 0 }

// table says for each word, by its hash, which texts may have it. A phrase can only be in texts
// that have all of its words, so that most texts need not be searched.
type table map[uint64]where

// set records that text n has a word.
func (t table) set(word string, n int) {
	key := hash(word)
	w := t[key]
	w[n/64%len(w)] |= 1 << (n % 64)
	t[key] = w
}

// hash is FNV-1a.
func hash(word string) uint64 {
	h := uint64(14695981039346656037)
	for i := range len(word) {
		h = (h ^ uint64(word[i])) * 1099511628211
	}
	return h
}

// isWord reports whether a byte belongs to a word: ASCII letters, digits and the underscore.
// Other scripts may have no spaces: their letters end a word and are compared with the phrase.
func isWord(b byte) bool {
	return b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= '0' && b <= '9' || b == '_'
}

func isDigit(b byte) bool { return b >= '0' && b <= '9' }

func isAlpha(b byte) bool { return b|0x20 >= 'a' && b|0x20 <= 'z' }

// atoms yields the words of a text that have two bytes or more. A word after a backslash comes
// twice: "\nname" may be the word nname, or an escaped line break and name.
func atoms(text string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for i := 0; i < len(text); {
			if !isWord(text[i]) {
				i++
				continue
			}
			start := i
			for i < len(text) && isWord(text[i]) {
				i++
			}
			if i-start >= 2 && !yield(text[start:i]) {
				return
			}
			if i-start >= 3 && escaped(text, start+1) && !yield(text[start+1:i]) {
				return
			}
		}
	}
}

// escaped reports whether text[:i] ends in an escaped white space: \n, \t or \r.
func escaped(text string, i int) bool {
	return i >= 2 && text[i-2] == '\\' && (text[i-1] == 'n' || text[i-1] == 't' || text[i-1] == 'r')
}

// plain removes terminal colours from a text.
func plain(text string) string {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] != 0x1b {
			b.WriteByte(text[i])
			continue
		}
		if i+1 < len(text) && text[i+1] == '[' {
			for i += 2; i < len(text) && (text[i] < '@' || text[i] > '~'); i++ {
			}
		}
	}
	return b.String()
}

// whole returns the value of a word that is a whole number.
func whole(word string) (int, bool) {
	value := 0
	for i := range len(word) {
		if !isDigit(word[i]) || i > 15 {
			return 0, false
		}
		value = value*10 + int(word[i]-'0')
	}
	return value, word != ""
}

// dateOf returns the date of a day counted from 1970 UTC.
func dateOf(day int64) string {
	return time.Unix(day*86_400, 0).UTC().Format("2006-01-02, January 2 2006")
}

// slashes writes a path with slashes and without one at its end: C:\a\b\ becomes C:/a/b.
func slashes(path string) string {
	path = strings.ReplaceAll(strings.ReplaceAll(path, `\\`, `\`), `\`, "/")
	for len(path) > 1 && path[len(path)-1] == '/' {
		path = path[:len(path)-1]
	}
	return path
}
