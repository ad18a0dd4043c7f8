//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package gateway

import (
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"
)

// handed are the signals that the program gets from here. Those that stop and continue a job reach
// it by themselves, as it is in the same group.
var handed = []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGUSR1,
	syscall.SIGUSR2}

// fromKeyboard reports whether the terminal has sent a signal to the whole group, so that the
// program has it already.
func fromKeyboard(s os.Signal) bool {
	if s != syscall.SIGINT && s != syscall.SIGQUIT {
		return false
	}
	for _, f := range []*os.File{os.Stdin, os.Stderr, os.Stdout} {
		if group, err := unix.IoctlGetInt(int(f.Fd()), unix.TIOCGPGRP); err == nil {
			return group == unix.Getpgrp()
		}
	}
	return false
}

// unignore undoes what main ignores, until the returned function is called.
func unignore() func() {
	// What is ignored, a program that is started ignores as well; what is listened to, it does not.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	return func() { signal.Ignore(syscall.SIGPIPE) }
}
