// Package bpe counts the tokens of models whose vocabulary is public, exactly.
//
// It counts with the byte-pair vocabularies of OpenAI, which are embedded: nothing is downloaded.
// They add about twelve megabytes to a binary and count a few megabytes a second, so programs that
// can live with a few per cent use token.Linear instead and keep this package out.
package bpe

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/tiktoken-go/tokenizer"

	"github.com/winnowhq/winnow/token"
)

// The vocabularies. O200k is that of GPT-4o and everything after it, Cl100k that of GPT-4 and 3.5.
const (
	O200k  = "o200k_base"
	Cl100k = "cl100k_base"
)

// blockSize is how many bytes are given to the tokenizer at once. Its time grows faster than its
// input on a text without boundaries (a megabyte of one letter), and it holds a rune slice of all
// it was given; in blocks both stay in proportion. A cut costs at most one token, and most cuts
// fall on a line end, where they cost none.
const blockSize = 16 << 10

// maxSpace is how much white space in a row is given to the tokenizer at once. It looks for the
// last line end of a run from each of its characters: a megabyte of " \n" took 90 seconds in one
// block of 32 KB after another.
const maxSpace = 128

// A Counter counts with one vocabulary. It is safe for concurrent use.
type Counter struct {
	name  string
	codec tokenizer.Codec
}

// New returns the counter of a vocabulary: [O200k] or [Cl100k].
func New(vocabulary string) (*Counter, error) {
	switch vocabulary {
	case O200k, Cl100k:
	default:
		return nil, fmt.Errorf("bpe: no vocabulary %q; there are %s and %s", vocabulary, O200k, Cl100k)
	}
	codec, err := tokenizer.Get(tokenizer.Encoding(vocabulary))
	if err != nil {
		return nil, fmt.Errorf("bpe: load vocabulary %s: %w", vocabulary, err)
	}
	return &Counter{name: "bpe:" + vocabulary, codec: codec}, nil
}

// Name returns "bpe:" and the vocabulary.
func (c *Counter) Name() string { return c.name }

// Count returns the number of tokens. Special tokens are counted as the plain text that they are.
// Bytes that are not UTF-8 count as the replacement character. Should the tokenizer fail on a
// piece of text, that piece is estimated by token.Linear: a count is always given.
func (c *Counter) Count(text string) int {
	if !utf8.ValidString(text) {
		text = string([]rune(text)) // one replacement for each bad byte, as any decoder has it
	}
	if text == "" {
		return 0
	}
	n := 0
	for text != "" {
		size := cut(text)
		n += c.block(text[:size])
		text = text[size:]
	}
	return max(1, n) // the tokenizer finds nothing in some lone control characters
}

func (c *Counter) block(text string) (n int) {
	defer func() {
		if recover() != nil { // foreign text must not end the program
			n = token.Linear{}.Count(text)
		}
	}()
	n, err := c.codec.Count(text)
	if err != nil {
		return token.Linear{}.Count(text)
	}
	return n
}

// cut says how much of text is the next block: up to white space that goes on for too long, else to
// the last line end that is followed by something printable, else the last space, else the last
// whole rune.
func cut(text string) int {
	window := text[:min(len(text), blockSize)]
	space := 0
	for i := range len(window) {
		if window[i] > ' ' {
			space = 0
		} else if space++; space == maxSpace {
			return i + 1
		}
	}
	if len(text) <= blockSize {
		return len(text)
	}
	for i := len(window) - 1; i > blockSize/2; i-- {
		if window[i-1] == '\n' && window[i] > ' ' {
			return i
		}
	}
	if i := strings.LastIndexByte(window, ' '); i > blockSize/2 {
		return i
	}
	end := blockSize
	for back := 1; back < utf8.UTFMax && !utf8.RuneStart(text[end]); back++ {
		end--
	}
	return end
}
