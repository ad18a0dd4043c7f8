package command

import (
	"errors"
	"fmt"
	"os"
	"os/exec"

	"github.com/winnowhq/winnow/cmd/internal/cli"
)

// weigh is a program that runs winnow with its arguments and writes what the system says that took
// into the file named by WEIGHT. A process is said to have taken at least what the one that started
// it had: this one is small, and a test of many others is not.
func weigh() {
	cmd := exec.Command("winnow", os.Args[1:]...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	err := cmd.Run()
	if cmd.ProcessState == nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(cli.ExitFailed)
	}
	if wrong := os.WriteFile(os.Getenv("WEIGHT"), fmt.Appendf(nil, "%+v", cmd.ProcessState.SysUsage()), 0o600); wrong != nil {
		fmt.Fprintln(os.Stderr, errors.Join(err, wrong))
		os.Exit(cli.ExitFailed)
	}
	os.Exit(cmd.ProcessState.ExitCode())
}
