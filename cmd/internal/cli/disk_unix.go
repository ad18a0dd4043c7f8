//go:build linux || darwin

package cli

import "golang.org/x/sys/unix"

// FreeBytes is how much room the file system of a folder has, ok is false if that is unknown.
func FreeBytes(folder string) (bytes int64, ok bool) {
	var s unix.Statfs_t
	if err := unix.Statfs(folder, &s); err != nil {
		return 0, false
	}
	return int64(s.Bavail) * int64(s.Bsize), true
}
