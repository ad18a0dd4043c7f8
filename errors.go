package winnow

import (
	"errors"
	"fmt"

	"github.com/winnowhq/winnow/rule"
)

// Code names a reason. Programs may branch on it; the words stay.
type Code = rule.Code

// Codes of errors and refusals.
const (
	NoProgress   = rule.NoProgress   // doing it (again) would not make the view smaller
	BelowMinimum = rule.BelowMinimum // what could go is not worth a commit
	Protected    = rule.Protected    // it must stay
	Disabled     = rule.Disabled     // switched off in the configuration
	Fits         = rule.Fits         // there is room
	Already      = rule.Already      // it is so already
	NotFinal     = rule.NotFinal     // the call has not ended
	Recent       = rule.Recent       // too new to go
	Unprofitable = rule.Unprofitable // it would cost more than it saves

	NotFound      Code = "not-found"         // no such session, message, part or receipt
	NothingToFold Code = "nothing-to-fold"   // all there is would stay verbatim
	TooLong       Code = "context-too-long"  // the provider rejected the request, and nothing may or can be done about it
	BadSummary    Code = "bad-summary"       // no summariser gave a summary that counts
	Cancelled     Code = "cancelled"         // the caller, or a hook, wanted it to stop
	Busy          Code = "busy"              // somebody else kept changing the session
	BeforePivot   Code = "before-pivot"      // a summary stands for it already
	Stale         Code = "stale"             // what it was made from has changed
	BadInput      Code = "bad-input"         // what was handed in cannot be right
	StoreFailed   Code = "store-failed"      // the store could not read or write
	BadConfig     Code = "bad-configuration" //
	Undone        Code = "undone"            // it came with something that was undone
	TooLarge      Code = "too-large"         // the window has no room for it
	NotKept       Code = "not-kept"          // the log has nothing of it that could be shown
)

// Error is what failed, on what, why, and what to do.
type Error struct {
	Code    Code
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
func CodeOf(err error) Code {
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	return ""
}
