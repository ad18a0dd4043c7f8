//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package gateway

import "os"

// handed are the signals that the program gets from here: none, as the console tells it by itself.
var handed = []os.Signal{os.Interrupt}

func fromKeyboard(os.Signal) bool { return true }

func unignore() func() { return func() {} }
