//go:build !linux && !darwin

package cli

// FreeBytes is how much room the file system of a folder has, ok is false if that is unknown.
func FreeBytes(string) (bytes int64, ok bool) { return 0, false }
