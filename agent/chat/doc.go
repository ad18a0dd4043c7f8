// Package chat is a terminal program around package agent: it shows what is said and done as it
// happens, what the window holds and what it costs, and has commands that look at the engine's
// decisions, make them and undo them.
//
// It knows no provider, no store and no file format: Config brings what it works with.
package chat
