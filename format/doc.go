// Package format defines what the readers and writers of session files have in common. Each product
// has a package of its own below.
//
// Its rooms, in reading order:
//
//   - opencode: the canonical form; opencodedb and opencodeserver read the same from a database and
//     a server
//   - claudecode: a line a message, a tree of branches
//   - codex: a line an item
//   - pi: a line an entry
//   - geminicli: contents of the Gemini API; qwen is its fork
//   - cline: two files a task
//   - copilot: events
//   - openhands: a file an event
//   - sweagent, miniswe: trajectories, with what they cost
//   - body: request bodies of the four protocols
//   - internal: what several of them share: entries, of formats that are lists of entries and are
//     written too; transcript, of logs as they are read; gemini, of contents; jsonl, of lines
//   - all: the list of them, and which one a file is
//
// Begin with format.go, then opencode or pi.
package format
