// Package torture tests what survives. Its tests kill processes in the middle of their work, take
// the disk away at every write, and let processes and goroutines fight over one session; after each
// of these a model says what must be there. docs/reliability.md tells what was found and how to run
// it again.
package torture
