package main

import (
	"bufio"
	"errors"
	"fmt"
	"syscall"
)

// outlet is standard output. It remembers that a write failed, so that no command has to ask after each line.
type outlet struct {
	w   *bufio.Writer
	err error
}

func (o *outlet) Write(data []byte) (int, error) {
	n, err := o.w.Write(data)
	if err != nil {
		o.err = err
	}
	return n, err
}

// finish writes what is left. A reader that went away had enough: that is no failure.
func (o *outlet) finish() error {
	if err := o.w.Flush(); err != nil {
		o.err = err
	}
	switch {
	case o.err == nil, errors.Is(o.err, syscall.EPIPE):
		return nil
	}
	return hinted{fmt.Errorf("standard output: %w", o.err), "what was printed is incomplete; what was to be changed was changed"}
}
