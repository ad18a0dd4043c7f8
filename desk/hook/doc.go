// Package hook runs a user's commands where a program could take part in what the engine does: for
// people who write no Go. A command is run without a shell, reads one JSON object on standard input
// and may print one.
package hook
