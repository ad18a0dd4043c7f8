package token

// A Counter estimates the size of a text in tokens. Implementations are safe for concurrent use,
// give the same answer for the same text, and answer 0 for the empty text and at least 1 for any
// other, except [Chars4], whose specification rounds a single character down to 0.
type Counter interface {
	// Name says which counter this is: "chars4", "linear", "bpe:o200k_base", "bpe:cl100k_base",
	// "auto".
	Name() string
	// Count estimates the tokens of text.
	Count(text string) int
}
