package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"syscall"
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

// show writes what is there so far, for a reader who waits for it.
func (o *outlet) show() {
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
	return hinted{fmt.Errorf("standard output: %w", o.err), "what was printed is incomplete; what was to be changed was changed"}
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
