// Command winnow shows where the tokens of an agent's session went, and makes the session smaller without losing anything.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	signal.Ignore(syscall.SIGPIPE) // a closed pipe is an error of a write, see outlet
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := Main(ctx, os.Args[1:], System())
	stop()
	os.Exit(code)
}
