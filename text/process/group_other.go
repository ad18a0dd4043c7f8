//go:build !unix

package process

import (
	"os"
	"os/exec"
)

// Group does nothing on systems without process groups: only the command itself is ended.
func Group(*exec.Cmd) {}

// End ends a started command.
func End(cmd *exec.Cmd, _ bool) { cmd.Process.Kill() }

// Status is the exit code.
func Status(s *os.ProcessState) int { return s.ExitCode() }
