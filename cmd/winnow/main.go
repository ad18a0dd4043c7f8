// Command winnow shows where the tokens of an agent's session went, and makes the session smaller
// without losing anything.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/winnowhq/winnow/cmd/winnow/internal/cli"
)

func main() {
	signal.Ignore(syscall.SIGPIPE) // a closed pipe is an error of a write, see outlet
	ends := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) { // as nohup makes it
		ends = append(ends, syscall.SIGHUP)
	}
	ctx, stop := signal.NotifyContext(context.Background(), ends...)
	code := Main(ctx, os.Args[1:], cli.System())
	stop()
	os.Exit(code)
}
