// Package command holds the commands of winnow and winnowd, a file each. What several of them share
// is in the packages beside it.
package command

import (
	"context"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"github.com/winnowhq/winnow/cmd/internal/cli"
	"github.com/winnowhq/winnow/gateway/shared"
)

// Program is what a program has beside the commands.
type Program struct {
	Version string        // of a release; empty: as the build knows it
	Shared  *shared.Parts // nil: it serves one person
}

// Start runs the command that the arguments of the process name, and ends the process.
func (p Program) Start() {
	signal.Ignore(syscall.SIGPIPE) // a closed pipe is an error of a write, see outlet
	ends := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) { // as nohup makes it
		ends = append(ends, syscall.SIGHUP)
	}
	ctx, stop := signal.NotifyContext(context.Background(), ends...)
	code := p.Main(ctx, os.Args[1:], cli.System())
	stop()
	os.Exit(code)
}

// Main runs a command and returns its exit code. When the context ends, it returns soon, whatever
// the command is at: a file that is being written is removed, and a transaction that is not
// committed never was.
func (p Program) Main(ctx context.Context, args []string, env cli.Env) int {
	a := cli.New(env, p.version())
	if p.Shared != nil {
		a.Shared = p.Shared
	}
	return a.Run(ctx, root(a), args)
}

// version is that of the release, else what the build knows.
func (p Program) version() string {
	if p.Version != "" {
		return p.Version
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)"
}
