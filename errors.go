package winnow

import (
	"context"
	"errors"
	"fmt"

	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/store/fold"
)

// reason is an error without what was done to whom.
func reason(err error) string {
	var known *Error
	if !errors.As(err, &known) {
		return err.Error()
	}
	if known.Hint != "" {
		return known.Err.Error() + "; " + known.Hint
	}
	return known.Err.Error()
}

// busy is the error when that was not enough.
func busy(op, id string) error {
	return &Error{Code: Busy, Op: op, Session: id, Err: store.ErrConflict,
		Hint: "another process keeps writing to it; try again"}
}

// alone is the error of a decision about a session to which somebody else has written since the
// request, whose context this is, began to use it; nil if nobody has. A request of somebody else
// may be under way then, built from what had been decided before, and a model that binds its
// reasoning refuses the next one if what was decided meanwhile counts in it: see store.Reading.
func alone(ctx context.Context, op, id string) error {
	if _, alone := store.ReadingOf(ctx).Alone(id); alone {
		return nil
	}
	return busy(op, id)
}

// failed gives an error of a fold, the store or a context the form that callers know.
func (e *Engine) failed(op, id string, err error) error {
	if unfolded, ok := errors.AsType[*fold.Error](err); ok { // which may wrap an error of a summarizer's own engine
		return &Error{Code: unfolded.Code, Op: op, Session: id, Err: unfolded.Err, Hint: unfolded.Hint}
	}
	var known *Error
	if err == nil || errors.As(err, &known) {
		return err
	}
	failed := &Error{Code: StoreFailed, Op: op, Session: id, Err: err}
	switch {
	case errors.Is(err, store.ErrNotFound):
		failed.Code, failed.Hint = NotFound, "list the sessions to see the ids there are"
	case errors.Is(err, store.ErrExists):
		failed.Code, failed.Hint = Already, "a session with this id is in the store"
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		failed.Code, failed.Hint = Cancelled, "nothing was changed"
	}
	return failed
}

func notFound(op, id, what string) *Error {
	return &Error{Code: NotFound, Op: op, Session: id, Err: fmt.Errorf("there is no %s", what),
		Hint: `"winnow explain SRC --all" lists the parts, "winnow inspect SRC --log" the receipts and markers`}
}

// Codes of errors. Those of refusals are in package rule.
const (
	NotFound      = rule.NotFound      // no such session, message, part or receipt
	NothingToFold = rule.NothingToFold // all there is would stay verbatim
	NoProgress    = rule.NoProgress    // doing it (again) would not make the view smaller
	TooLong       = rule.TooLong       // the provider rejected the request, and nothing may or can be done about it
	TooLarge      = rule.TooLarge      // the window has no room for it
	BadSummary    = rule.BadSummary    // no summariser gave a summary that counts
	BadInput      = rule.BadInput      // what was handed in cannot be right
	BadConfig     = rule.BadConfig     // the configuration cannot be right
	Already       = rule.Already       // it is so already
	Undone        = rule.Undone        // it came with something that was undone
	NotKept       = rule.NotKept       // the log has nothing of it that could be shown
	Stale         = rule.Stale         // what it was made from has changed
	Busy          = rule.Busy          // somebody else kept changing the session
	Cancelled     = rule.Cancelled     // the caller, or a hook, wanted it to stop
	Disabled      = rule.Disabled      // switched off in the configuration
	StoreFailed   = rule.StoreFailed   // the store could not read or write
)

// ErrNothingNew is wrapped by an error of the code NothingToFold when a summary was asked for again
// although nothing was said since the last one.
var ErrNothingNew = fold.ErrNothingNew

// Error is what failed, on what, why, and what to do.
type Error struct {
	Code    rule.Code
	Op      string // "compact"
	Session string // id
	Err     error
	Hint    string // what to do, a sentence
}

func (e *Error) Error() string {
	text := "winnow: " + e.Op
	if e.Session != "" {
		text += " " + e.Session
	}
	text += fmt.Sprintf(": %v (%s)", e.Err, e.Code)
	if e.Hint != "" {
		text += "; " + e.Hint
	}
	return text
}

func (e *Error) Unwrap() error { return e.Err }

// CodeOf returns the code of an error of this package, "" of any other.
func CodeOf(err error) rule.Code {
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	return ""
}

const tooLargeHint = "read pieces of it with the recall tool or winnow inspect --log, or make room first"

// refused is a refusal as an error.
func refusedTo(op, id, what string, r *rule.Refusal) error {
	err := &Error{Code: r.Code, Op: op, Session: id, Err: errors.New(what + ": " + r.Reason)}
	switch r.Code {
	case TooLarge:
		err.Hint = tooLargeHint
	case Undone:
		err.Hint = "winnow redo reapplies it"
	}
	return err
}

// fail makes an error. hint is what to do, "" for nothing.
func fail(code rule.Code, op, id, hint, format string, args ...any) *Error {
	return &Error{Code: code, Op: op, Session: id, Err: fmt.Errorf(format, args...), Hint: hint}
}
