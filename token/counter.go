// Package token estimates how many tokens a text takes.
//
// A [Counter] estimates how many tokens a text takes. The counters differ in what they cost and in
// how near they come:
//
//   - [Chars4] is a quarter of the UTF-16 length. It is exact to a specification, not to a
//     tokenizer: tool output takes up to 45 % more tokens than it says.
//   - [Linear] looks at words, digits, punctuation and scripts in one pass. It is the default: no
//     vocabulary, some hundred megabytes a second, a few per cent off.
//   - Package token/bpe runs a real vocabulary and is exact for the models that use it. It adds
//     megabytes to a binary, which is why it lives beside this package and not in it.
//   - [Calibrated] learns from the usage that providers report, per model.
//   - [Memo] keeps counts by content, so that a text is looked at once.
//
// Package token/counters makes any of them by name.
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
