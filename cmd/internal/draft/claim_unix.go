//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package draft

import (
	"os"
	"syscall"
)

// claim takes a file for this process, until it is closed or the process ends in whatever way. It
// reports whether nobody else has it.
func claim(f *os.File) bool {
	return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil
}
