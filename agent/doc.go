// Package agent lets a model work with tools until it is done. It is the loop around an engine: it
// sends the view, runs what the model calls, appends the results, reports the usage, and lets the
// engine prune and fold in between.
//
// Its rooms, in reading order:
//
//   - permission: what a call may do without asking
//   - tools: reading, writing, searching, commands, pages, sub-agents
//   - selfprune: four tools with which a model prunes its own context
//   - snapshot: the working folder as it was
//   - chat: the loop for a person in a terminal
//
// Begin with the loop, in loop.go.
package agent
