package winnow

import (
	"context"

	"github.com/winnowhq/winnow/pivot"
	"github.com/winnowhq/winnow/session"
)

// Hooks let a program take part. Every field may be nil. They are called without a lock held, so that they may use the engine.
type Hooks struct {
	// Compacting is called before a summary is asked for.
	Compacting func(ctx context.Context, c Compacting) (CompactingResult, error)
	// Continue is asked before the synthetic "continue" is appended after an automatic compaction; false suppresses it.
	Continue func(ctx context.Context, sessionID string, summary session.Message) bool
}

// Compacting is what the hook of that name is told.
type Compacting struct {
	SessionID string
	Auto      bool
	Rejected  bool
	// Request is what the summariser will be sent, before it is made to fit.
	Request pivot.Request
}

// CompactingResult is what the hook answers; the zero value changes nothing. An error cancels the compaction: the session
// stays as it was.
type CompactingResult struct {
	// Context lines are added to the instruction.
	Context []string
	// Prompt replaces the instruction.
	Prompt string
	// Answer is used instead of asking the summariser. It is validated like any other.
	Answer *pivot.Answer
}
