package winnow

import (
	"errors"
	"fmt"

	"github.com/winnowhq/winnow/rule"
)

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
