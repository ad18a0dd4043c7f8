//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package snapshot

import "os"

// claim cannot know of other processes here; git's own lock keeps two of them from writing the index at once, and the later one fails.
func claim(*os.File) bool { return true }
