//go:build unix

package tools

import (
	"os"
	"os/exec"
	"syscall"
)

// group gives a command a process group of its own.
func group(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// finish asks the processes of a command's group to end, or ends them.
func finish(cmd *exec.Cmd, now bool) {
	signal := syscall.SIGTERM
	if now {
		signal = syscall.SIGKILL
	}
	syscall.Kill(-cmd.Process.Pid, signal) // it is fine if no process is left
}

// status is the exit code as a shell tells it.
func status(s *os.ProcessState) int {
	if w, ok := s.Sys().(syscall.WaitStatus); ok && w.Signaled() {
		return 128 + int(w.Signal())
	}
	return s.ExitCode()
}
