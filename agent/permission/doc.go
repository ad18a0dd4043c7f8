// Package permission decides what a tool may do without asking: which files it may read and write,
// which commands it may run, which addresses it may fetch.
//
// A [Policy] holds the rules of a session. Its defaults and the way that a command is taken apart
// are in command.go; what is known of programs and their options is in programs.txt.
package permission
