//go:build unix

package process

import (
	"os"
	"os/exec"
	"syscall"
)

// Group gives a command, before it is started, a process group of its own.
func Group(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// End asks the processes of a started command's group to end, or, with now, ends them.
func End(cmd *exec.Cmd, now bool) {
	signal := syscall.SIGTERM
	if now {
		signal = syscall.SIGKILL
	}
	syscall.Kill(-cmd.Process.Pid, signal) // it is fine if no process is left
}

// Status is the exit code as a shell tells it: 128 and more for a signal.
func Status(s *os.ProcessState) int {
	if w, ok := s.Sys().(syscall.WaitStatus); ok && w.Signaled() {
		return 128 + int(w.Signal())
	}
	return s.ExitCode()
}
