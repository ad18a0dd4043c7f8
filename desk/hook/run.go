package hook

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/text/process"
	"github.com/winnowhq/winnow/text/visible"
)

const (
	// mostPrinted is how many bytes a hook may print: no summary and no prompt has as many.
	mostPrinted = 1 << 20
	// mostComplained is how much of its standard error is kept: one line of it is shown.
	mostComplained = 4 << 10
	// drainTime is how long is waited for the rest of an output after the command has ended: only a
	// process that it left behind can hold the pipe open.
	drainTime = 200 * time.Millisecond
)

// Variable is the environment variable in which a command has the name of its hook. A program that
// finds it set runs in a hook, and had better run none itself.
const Variable = "WINNOW_HOOK"

// run runs the command of a hook with a text on its standard input and returns what it printed. The
// error says in one line what went wrong.
func (r *Runner) run(ctx context.Context, name string, command []string, input string) ([]byte, error) {
	within, cancel := context.WithTimeout(ctx, r.config.Timeout)
	defer cancel()
	cmd := exec.CommandContext(within, command[0], command[1:]...)
	stdout, stderr := &bounded{most: mostPrinted}, &bounded{most: mostComplained}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(input), stdout, stderr
	cmd.Dir, cmd.Env = r.config.Dir, r.config.Environ
	cmd.Env = append(slices.Clip(cmd.Environ()), Variable+"="+name)
	process.Group(cmd)
	cmd.Cancel = func() error { process.End(cmd, true); return nil }
	cmd.WaitDelay = drainTime
	err := cmd.Run()
	if errors.Is(err, exec.ErrWaitDelay) {
		err = nil // it ended well, and left a process behind
	}
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil && within.Err() != nil:
		err = fmt.Errorf("it took longer than %s and was ended", r.config.Timeout)
	case errors.As(err, &exit):
		err = fmt.Errorf("exit code %d", process.Status(exit.ProcessState))
	case err == nil && stdout.more:
		err = fmt.Errorf("it printed more than %d bytes", mostPrinted)
	}
	if line := firstLine(string(stderr.kept)); err != nil && line != "" {
		err = fmt.Errorf("%w: %s", err, line)
	}
	return stdout.kept, err
}

// firstLine is the first line of a text that says something, for people.
func firstLine(text string) string {
	for line := range strings.Lines(visible.WithoutColour(text)) {
		if line = visible.Line(line); line != "" {
			return rule.Shorten(line, 200)
		}
	}
	return ""
}

// bounded keeps the beginning of what is written to it.
type bounded struct {
	kept []byte
	most int
	more bool // was written than is kept
}

func (b *bounded) Write(data []byte) (int, error) {
	n := len(data)
	if room := b.most - len(b.kept); n > room {
		data, b.more = data[:room], true
	}
	b.kept = append(b.kept, data...)
	return n, nil
}
