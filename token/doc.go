// Package token estimates how many tokens a text takes.
//
// A [Counter] estimates how many tokens a text takes. The counters differ in what they cost and in
// how near they come:
//
//   - [Chars4] is a quarter of the UTF-16 length. It is exact to a specification, not to a
//     tokenizer: tool output takes up to 45 % more tokens than it says.
//   - [Linear] looks at words, digits, punctuation and scripts in one pass. It is the default: no
//     vocabulary, some hundred megabytes a second, a few per cent off.
//   - Package token/bpe runs a real vocabulary and is exact for the models that use it. It adds a
//     megabyte to a binary, and takes tens of milliseconds to load: it lives beside this package.
//   - [Calibrated] learns from the usage that providers report, per model.
//   - [Memo] keeps counts by content, so that a text is looked at once.
//
// Named of package token/bpe makes any of them by name.
//
// Its rooms, in reading order:
//
//   - bpe: byte pairs, with a vocabulary
//
// Begin with counter.go.
package token
