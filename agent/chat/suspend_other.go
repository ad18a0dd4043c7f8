//go:build !unix

package chat

// canSuspend reports whether there is a shell to go back to: there are no such shells here.
func canSuspend() bool { return false }
