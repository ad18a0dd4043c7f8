package call

import (
	"encoding/binary"
	"math/bits"
	"strings"
	"unsafe"
)

// words are looked for in a text all at once: one look at every few bytes of it, however many words
// there are. It is not changed once it was made.
//
// A word is a text of five bytes or more. It is looked for in whatever case, unless it is exact.
type words struct {
	list []wanted
	step int // how far apart the places are that are looked at: each word has a piece of four bytes at one of them
	// pieces says which of places those pieces may be of that have a hash in common, 0 for none.
	pieces [1 << pieceBits]uint8
	places [][]piece
}

type wanted struct {
	text  string // in small letters, unless it is exact
	exact bool
}

// piece is four bytes of a word in small letters.
type piece struct {
	bytes uint32
	word  int
	at    int // where in the word
}

const pieceBits = 12

// newWords makes a set of those in anyCase, which are in small letters and count in whatever case
// they are written, and of those that are exact. They are numbered in that order, and at most 64.
func newWords(anyCase []string, exact ...string) *words {
	w := &words{places: [][]piece{nil}}
	for _, text := range anyCase {
		w.list = append(w.list, wanted{text, false})
	}
	for _, text := range exact {
		w.list = append(w.list, wanted{text, true})
	}
	w.step = len(w.list[0].text) - 3
	for _, one := range w.list {
		w.step = min(w.step, len(one.text)-3)
	}
	for i, one := range w.list {
		for at := range w.step {
			bytes := binary.LittleEndian.Uint32([]byte(one.text[at:])) | lowerCase
			slot := &w.pieces[pieceHash(bytes)]
			if *slot == 0 {
				*slot = uint8(len(w.places))
				w.places = append(w.places, nil)
			}
			w.places[*slot] = append(w.places[*slot], piece{bytes, i, at})
		}
	}
	return w
}

// lowerCase makes small letters of four; of some signs it makes others, so that what was found
// is compared.
const lowerCase = 0x20202020

func pieceHash(bytes uint32) uint32 { return bytes * 0x9E3779B1 >> (32 - pieceBits) }

// in reports whether one of the words is in a text.
func (w *words) in(text string) bool { return w.next(text, 0) >= 0 }

// next is where the next of the words begins that is found from a place of a text on, -1 when there
// is none.
func (w *words) next(text string, from int) int {
	_, at := w.find(text, from, len(text), true)
	return at
}

// of says which of the words are in a text, a bit each by their number; those that count in any
// case only where they end within that many bytes.
func (w *words) of(text string, within int) uint64 {
	found, _ := w.find(text, 0, within, false)
	return found
}

func (w *words) find(text string, from, within int, one bool) (found uint64, at int) {
	b := unsafe.Slice(unsafe.StringData(text), len(text))
	for i := w.skip(b, from); i+4 <= len(b); i = w.skip(b, i+w.step) {
		bytes := binary.LittleEndian.Uint32(b[i:]) | lowerCase
		for _, p := range w.places[w.pieces[pieceHash(bytes)]] {
			if p.bytes != bytes || found>>p.word&1 != 0 || i-p.at < from {
				continue
			}
			switch word := &w.list[p.word]; {
			case word.exact && strings.HasPrefix(text[i-p.at:], word.text),
				!word.exact && i-p.at+len(word.text) <= within && hasPrefixFold(text[i-p.at:], word.text):
				if found |= 1 << p.word; one {
					return found, i - p.at
				}
			}
		}
	}
	return found, -1
}

// skip goes on from a place that is looked at to the next one that a piece may be at. Where they
// are near each other, several are looked at at once.
func (w *words) skip(b []byte, i int) int {
	switch w.step {
	case 2:
		for ; i+8 <= len(b); i += 6 {
			eight := eightAt(b, i) | lowerCase<<32 | lowerCase
			if w.pieces[pieceHash(uint32(eight))]|w.pieces[pieceHash(uint32(eight>>16))]|
				w.pieces[pieceHash(uint32(eight>>32))] != 0 {
				break
			}
		}
	case 3, 4:
		for shift := 8 * w.step; i+8 <= len(b); i += 2 * w.step {
			eight := eightAt(b, i) | lowerCase<<32 | lowerCase
			if w.pieces[pieceHash(uint32(eight))]|w.pieces[pieceHash(uint32(eight>>(shift&63)))] != 0 {
				break
			}
		}
	}
	for ; i+4 <= len(b); i += w.step {
		if w.pieces[pieceHash(binary.LittleEndian.Uint32(b[i:])|lowerCase)] != 0 {
			break
		}
	}
	return i
}

// hasPrefixFold reports whether a text begins with a word, which is in small letters, in whatever
// case it is written.
func hasPrefixFold(text, word string) bool {
	if len(text) < len(word) {
		return false
	}
	for i := range len(word) {
		c := text[i]
		if c >= 'A' && c <= 'Z' {
			c += 'a' - 'A'
		}
		if c != word[i] {
			return false
		}
	}
	return true
}

// low and high are the lowest and the highest bit of each of eight bytes.
const (
	low  = 0x0101010101010101
	high = 0x8080808080808080
)

// below marks the first byte of eight that is less than n, 1 to 128; what it marks behind that may
// be wrong.
func below(eight uint64, n uint64) uint64 { return (eight - low*n) &^ eight & high }

// equal marks the first byte of eight that is c; what it marks behind that may be wrong.
func equal(eight uint64, c byte) uint64 { return below(eight^low*uint64(c), 1) }

// first is the place of the first byte that is marked.
func first(marks uint64) int { return bits.TrailingZeros64(marks) / 8 }

// eightAt are eight bytes of a text as a number.
func eightAt(b []byte, i int) uint64 { return binary.LittleEndian.Uint64(b[i:]) }
