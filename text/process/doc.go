// Package process runs commands in a process group of their own, so that what they started ends
// with them.
package process
