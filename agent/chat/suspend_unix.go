//go:build unix

package chat

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// canSuspend reports whether there is a shell to go back to, which can wake this process up again.
// A process whose group nobody watches is not stopped by the system, and would wait for ever.
func canSuspend() bool {
	parent := os.Getppid()
	own, err := unix.Getsid(0)
	theirs, err2 := unix.Getsid(parent)
	group, err3 := syscall.Getpgid(parent)
	return err == nil && err2 == nil && err3 == nil && own == theirs && group != syscall.Getpgrp()
}
