//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package draft

import (
	"os"
	"runtime"
)

// claim takes a file for this process. Windows does it by itself: what is open cannot be removed.
// Elsewhere it cannot be known.
func claim(*os.File) bool { return runtime.GOOS == "windows" }
