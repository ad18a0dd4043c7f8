package gateway

import (
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
)

// Run starts a program with the terminal of this one, hands it the signals that this one gets, and
// waits for its end. code is its exit code, as a shell would tell it. The error says that it could
// not be started.
func Run(program string, args, environ []string) (code int, err error) {
	path, err := exec.LookPath(program)
	if err != nil {
		return 0, err
	}
	c := exec.Command(path, args...)
	c.Args[0] = program
	c.Env = environ
	c.Stdin, c.Stdout, c.Stderr = os.Stdin, os.Stdout, os.Stderr
	came := make(chan os.Signal, 16)
	signal.Notify(came, handed...)
	defer signal.Stop(came)
	restore := unignore() // a program that is started ignores what this one ignores
	err = c.Start()
	restore()
	if err != nil {
		return 0, err
	}
	ended := make(chan error, 1)
	go func() { ended <- c.Wait() }()
	for {
		select {
		case s := <-came:
			if !fromKeyboard(s) {
				_ = c.Process.Signal(s) // it may have ended
			}
		case err := <-ended:
			var failed *exec.ExitError
			if err != nil && !errors.As(err, &failed) {
				return 0, err
			}
			if status, ok := c.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() {
				return 128 + int(status.Signal()), nil
			}
			return c.ProcessState.ExitCode(), nil
		}
	}
}
