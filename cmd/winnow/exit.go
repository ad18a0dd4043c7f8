package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/store"
)

// Exit codes.
const (
	exitDone        = 0
	exitFailed      = 1
	exitUsage       = 2   // wrong usage or configuration
	exitInput       = 3   // input not understood
	exitPartly      = 4   // damaged pieces were skipped
	exitNothing     = 5   // nothing to do
	exitInterrupted = 130 // by a signal
)

// usageError is wrong use of the command line.
type usageError struct{ err error }

func (u usageError) Error() string { return u.err.Error() }
func (u usageError) Unwrap() error { return u.err }

func usage(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// hinted adds what to do to an error.
type hinted struct {
	err  error
	hint string
}

func (h hinted) Error() string { return h.err.Error() + "\n  " + h.hint }
func (h hinted) Unwrap() error { return h.err }

// partly is the end of a command that did its work although pieces of the input were damaged.
type partly struct{ damaged int }

func (p partly) Error() string { return fmt.Sprintf("%d damaged pieces were skipped", p.damaged) }

// nothing is the end of a command that had nothing to do.
type nothing struct{ reason string }

func (n nothing) Error() string { return n.reason }

// exitCode is what the process ends with.
func exitCode(err error) int {
	var u usageError
	var p partly
	var n nothing
	var syntax *format.SyntaxError
	switch {
	case err == nil:
		return exitDone
	case errors.As(err, &p):
		return exitPartly
	case errors.As(err, &n):
		return exitNothing
	case errors.As(err, &syntax):
		return exitInput
	case errors.As(err, &u):
		return exitUsage
	case errors.Is(err, context.Canceled):
		return exitInterrupted
	}
	switch winnow.CodeOf(err) {
	case winnow.NothingToFold, winnow.Already, winnow.Fits, winnow.BelowMinimum:
		return exitNothing
	case winnow.BadConfig:
		return exitUsage
	}
	return exitFailed
}

// hint says what to do about an error that does not say it itself.
func hint(err error) string {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "check the path; `winnow list` shows the sessions in the store"
	case errors.Is(err, fs.ErrPermission):
		return "check who may read and write there"
	case errors.Is(err, store.ErrLocked):
		return "another winnow is writing; try again"
	}
	return ""
}
