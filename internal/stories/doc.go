// Package stories plays whole sessions through the engine: what is said and done is told step by
// step through the exported API of package winnow, and what the model would be sent, the receipts
// and the log are held against what they must be. It has tests alone.
package stories
