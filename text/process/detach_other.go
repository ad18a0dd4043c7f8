//go:build !unix

package process

import "os/exec"

// Detach does nothing on systems on which a process goes on when the one that started it ends.
func Detach(*exec.Cmd) {}
