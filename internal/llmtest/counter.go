package llmtest

import (
	"math"
	"unicode/utf8"
)

// PerToken counts tokens as a fixed number of characters each: a tokenizer that agrees with none of
// ours.
type PerToken float64

// Name implements token.Counter.
func (PerToken) Name() string { return "characters" }

// Count implements token.Counter.
func (p PerToken) Count(text string) int {
	return int(math.Ceil(float64(utf8.RuneCountInString(text)) / float64(p)))
}
