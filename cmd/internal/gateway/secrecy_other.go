//go:build !linux

package gateway

// undumpable does nothing here: whether memory is dumped is the system's to say.
func undumpable() {}
