//go:build !unix

package tools

import (
	"os"
	"os/exec"
)

// group does nothing on systems without process groups: only the shell itself is ended.
func group(*exec.Cmd) {}

func finish(cmd *exec.Cmd, _ bool) { cmd.Process.Kill() }

func status(s *os.ProcessState) int { return s.ExitCode() }
