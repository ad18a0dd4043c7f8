// Package bpe counts the tokens of models whose vocabulary is public, exactly.
//
// It counts with the byte-pair vocabularies of OpenAI, which are embedded: nothing is downloaded.
// Both add 1.2 MB to a binary. The first counter of a vocabulary unpacks it, in less than fifty
// milliseconds, into at most 3.3 MB of memory. A counter counts some fifteen megabytes a second of
// Chinese and fifty to a hundred of code and English; programs that can live with a few per cent
// use token.Linear instead and keep this package out.
package bpe

import (
	"fmt"
	"unicode/utf8"

	"github.com/winnowhq/winnow/token"
)

// The vocabularies. O200k is that of GPT-4o and everything after it, Cl100k that of GPT-4 and 3.5.
const (
	O200k  = "o200k_base"
	Cl100k = "cl100k_base"
)

// A Counter counts with one vocabulary. It is safe for concurrent use.
type Counter struct {
	name  string
	split splitter
	ranks *vocabulary
}

// New returns the counter of a vocabulary: [O200k] or [Cl100k]. The first one of each reads the
// vocabulary; the others share it.
func New(vocabulary string) (*Counter, error) {
	c := &Counter{name: "bpe:" + vocabulary}
	var err error
	switch vocabulary {
	case O200k:
		c.split = splitO200k
		c.ranks, err = o200kVocabulary()
	case Cl100k:
		c.split = splitCl100k
		c.ranks, err = cl100kVocabulary()
	default:
		return nil, fmt.Errorf("bpe: no vocabulary %q; there are %s and %s", vocabulary, O200k, Cl100k)
	}
	if err != nil {
		return nil, fmt.Errorf("bpe: load vocabulary %s: %w", vocabulary, err)
	}
	return c, nil
}

// Name returns "bpe:" and the vocabulary.
func (c *Counter) Name() string { return c.name }

// Count returns the number of tokens. Special tokens are counted as the plain text that they are.
// Bytes that are not UTF-8 count as the replacement character. Should the counter fail on a text,
// the text is estimated by token.Linear: a count is always given.
func (c *Counter) Count(text string) (n int) {
	defer func() {
		if recover() != nil { // foreign text must not end the program
			n = token.Linear{}.Count(text)
		}
	}()
	if !utf8.ValidString(text) {
		text = string([]rune(text)) // one replacement for each bad byte, as any decoder has it
	}
	for text != "" {
		size := c.split(text)
		n += c.ranks.count(text[:size])
		text = text[size:]
	}
	return n
}
