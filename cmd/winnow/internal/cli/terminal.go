package cli

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"

	"golang.org/x/term"

	"github.com/winnowhq/winnow/tui"
	"github.com/winnowhq/winnow/visible"
)

// outlet is standard output. It remembers that a write failed, so that no command has to ask after each line.
type outlet struct {
	buffer *bufio.Writer
	err    error
}

func newOutlet(w io.Writer) *outlet {
	return &outlet{buffer: bufio.NewWriterSize(listener{w}, 64<<10)}
}

func (o *outlet) Write(data []byte) (int, error) {
	n, err := o.buffer.Write(data)
	if err != nil {
		o.err = err
	}
	return n, err
}

// Show writes what is there so far, for a reader who waits for it.
func (o *outlet) Show() {
	if err := o.buffer.Flush(); err != nil {
		o.err = err
	}
}

// finish writes what is left.
func (o *outlet) finish() error {
	if err := o.buffer.Flush(); err != nil {
		o.err = err
	}
	if o.err == nil {
		return nil
	}
	return Hint(fmt.Errorf("standard output: %w", o.err), "what was printed is incomplete; what was to be changed was changed")
}

// listener is whoever reads standard output. One that went away had enough: that is no failure, and the command goes on with what
// it does beside printing.
type listener struct{ w io.Writer }

func (l listener) Write(data []byte) (int, error) {
	n, err := l.w.Write(data)
	if errors.Is(err, syscall.EPIPE) {
		return len(data), nil
	}
	return n, err
}

// Paint draws for people on standard output.
func (a *App) Paint() tui.Painter {
	color := a.Env.StdoutTerminal && !a.NoColor && a.Env.Getenv("NO_COLOR") == "" && a.Env.Getenv("TERM") != "dumb"
	return tui.Painter{W: a.Out, Color: color, Width: a.Env.Width}
}

// Spans writes a coloured text. A write that failed is remembered by the outlet.
func (a *App) Spans(spans []visible.Span) { _ = a.Out.Spans(spans...) }

func isTerminal(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }

// columns is the width of a terminal, 0 when it is none.
func columns(f *os.File) int {
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0
	}
	return width
}
