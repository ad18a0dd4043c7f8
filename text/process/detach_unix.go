//go:build unix

package process

import (
	"os/exec"
	"syscall"
)

// Detach gives a command, before it is started, a session of its own: it goes on when the process
// that starts it, or the terminal, ends.
func Detach(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }
