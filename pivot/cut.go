package pivot

import (
	"slices"

	"github.com/winnowhq/winnow/rule"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/view"
)

// Cut is where a window is folded.
type Cut struct {
	// Fold is what the summary will represent, oldest first: messages of the window, without the
	// pivot that it begins with.
	Fold []session.Message
	// Tail stays verbatim. It begins at a message, never inside one, so that a call stays with its
	// result.
	Tail []session.Message
	// End is how many messages of the window the cut stands behind, the pivot that it begins with
	// and markers without answer included.
	End int
	// Split is set when the tail begins inside a turn.
	Split bool
	// Previous is the summary that the window began with, nil without one.
	Previous *session.Message
	// Replay is the user message to be repeated after the summary because the provider rejected its
	// turn, nil otherwise.
	Replay *session.Message
}

// TailStart is the id of the message that the tail begins with, "" without a tail.
func (c Cut) TailStart() string {
	if len(c.Tail) == 0 {
		return ""
	}
	return c.Tail[0].ID
}

// Wanted says what a cut is to leave.
type Wanted struct {
	// Keep is how many tokens, as rendered, may stay verbatim.
	Keep int
	// Rejected: the provider refused the request as too long.
	Rejected bool
	// Everything folds everything, also what was never sent: the specification's summary stands
	// alone (S001 phase 3).
	Everything bool
}

// Find decides where to cut a window (as view.Window gives it).
//
// What no request has had yet is never folded, whatever it takes: the newest answer with its calls
// and everything behind it, or what stands behind an answer that calls nothing (session.Unsent). A
// summary of it would be all that the model ever sees of it. Where it does not fit by itself, it is
// for the caller to show less of it (rule.Shorten), or to refuse; where there is nothing before it,
// nothing is folded.
//
// Turns are kept from the newest back while they fit, and with them what an earlier pivot left of
// its own turn. The first one that does not fit is split at the earliest message behind its first
// from which on it fits. When all of it would fit, or what is kept would leave nothing to fold,
// there is no tail but that.
//
// After a rejection nothing else is kept. The newest message that the user wrote is to be replayed,
// unless it is in the tail: it begins what was not sent and is repeated instead, or it stands there
// behind other messages that were not sent either. When work was done for it already, that work is
// folded, so that it is not done again.
func Find(window []session.Message, ledger rule.Ledger, facts *rule.Facts, w Wanted) Cut {
	var cut Cut
	rest := window
	if summary := view.Pivot(window); summary != nil {
		cut.Previous, rest = summary, window[2:]
	}
	first := len(window) - len(rest)
	rest, at := withoutMarkers(rest)
	switch {
	case w.Rejected && w.Everything:
		cut = cut.rejectAll(rest)
	case w.Rejected:
		cut = cut.reject(rest)
	case w.Everything:
		cut.Fold = rest
	default:
		cut = cut.keep(rest, ledger, facts, w.Keep)
	}
	if cut.End = len(window); len(cut.Fold) < len(at) {
		cut.End = first + at[len(cut.Fold)]
	}
	return cut
}

// keep leaves a tail of so many tokens, and what was not sent.
func (c Cut) keep(rest []session.Message, ledger rule.Ledger, facts *rule.Facts, keep int) Cut {
	unsent := session.Unsent(rest)
	start := unsent
	if keep > 0 {
		if from := tailStart(rest, ledger, facts, keep); from > 0 {
			start = min(from, unsent)
		}
	}
	return c.at(rest, start)
}

// at folds what stands before a message. A tail does not begin with a quotation: one that is taken
// back later is in no file, and the tail would have no beginning there. It is written again behind
// the new summary.
func (c Cut) at(rest []session.Message, start int) Cut {
	for start < len(rest) && isKept(&rest[start]) {
		start++
	}
	c.Fold, c.Tail = rest[:start:start], rest[start:]
	c.Split = len(c.Tail) > 0 && !c.Tail[0].Written()
	return c
}

// Replaying is the cut with the newest message that the user wrote to be repeated, where it is
// folded and not in the tail: a rejected turn is neither lost nor doubled.
func (c Cut) Replaying() Cut {
	if lastWritten(c.Tail) >= 0 {
		return c
	}
	if i := lastWritten(c.Fold); i >= 0 {
		replay := c.Fold[i]
		c.Replay = &replay
	}
	return c
}

// lastWritten is the position of the newest message that the user wrote, -1 if there is none.
func lastWritten(messages []session.Message) int {
	for i := range slices.Backward(messages) {
		if messages[i].Written() {
			return i
		}
	}
	return -1
}

func (c Cut) reject(rest []session.Message) Cut {
	unsent := session.Unsent(rest)
	c = c.at(rest, unsent)
	i := lastWritten(rest)
	if i < 0 {
		return c
	}
	replay := rest[i]
	byUser := func(m session.Message) bool { return m.Role == session.User }
	switch {
	case i < unsent:
		c.Replay = &replay
	case i == unsent && !slices.ContainsFunc(rest[i+1:], byUser) && (i > 0 || c.Previous != nil):
		c.Tail, c.Split, c.Replay = nil, false, &replay // what failed after it said nothing
	}
	return c
}

// rejectAll is the letter's: the rejected message is repeated, and nothing is kept.
func (c Cut) rejectAll(rest []session.Message) Cut {
	c.Fold = rest
	i := lastWritten(rest)
	if i < 0 {
		return c
	}
	replay := rest[i]
	if i == len(rest)-1 || !worked(rest[i+1:]) {
		if i == 0 && c.Previous == nil {
			return c // there is nothing else to fold: the message itself is too long
		}
		c.Fold = rest[:i:i]
	}
	c.Replay = &replay
	return c
}

// worked reports whether anything came of a turn.
func worked(messages []session.Message) bool {
	return slices.ContainsFunc(messages, func(m session.Message) bool {
		return m.Role == session.Assistant && len(m.Parts) > 0 && !m.Failed()
	})
}

// withoutMarkers leaves out markers that were not answered and summaries that do not count; at is
// where each of the others stood.
func withoutMarkers(messages []session.Message) (kept []session.Message, at []int) {
	kept, at = make([]session.Message, 0, len(messages)), make([]int, 0, len(messages))
	for i := range messages {
		if messages[i].Marker() == nil && !messages[i].IsSummary() {
			kept, at = append(kept, messages[i]), append(at, i)
		}
	}
	return kept, at
}

// tailStart is where the turns begin that fit, 0 when all of them do.
func tailStart(rest []session.Message, ledger rule.Ledger, facts *rule.Facts, keep int) (start int) {
	turns := session.Turns(rest)
	// Behind an earlier pivot stands what its turn went on with. No message of the user's begins
	// it, and it is kept and split like any turn: otherwise a turn that is folded again and again
	// would lose its newest results each time but the first.
	begun := len(rest)
	if len(turns) > 0 {
		begun = turns[0].Start
	}
	if begun > 0 {
		turns = slices.Insert(turns, 0, session.Turn{End: begun})
	}
	left, start := keep, len(rest)
	for t := len(turns) - 1; t >= 0; t-- {
		turn := turns[t]
		size := 0
		fits := turn.End
		for i := turn.End - 1; i >= turn.Start; i-- {
			if size += view.Message(&rest[i], ledger, facts); size > left {
				break
			}
			fits = i
		}
		if fits == turn.Start && turn.End == begun {
			return start // something must be folded
		}
		if fits == turn.Start {
			start, left = turn.Start, left-size
			continue
		}
		if fits < turn.End { // some messages behind the user's fit
			return fits
		}
		return start
	}
	return start
}
