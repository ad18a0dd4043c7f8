package pivot

import (
	"slices"

	"github.com/winnowhq/winnow/rule"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/view"
)

// Cut is where a window is folded.
type Cut struct {
	// Fold is what the summary will represent, oldest first: messages of the window, without the pivot that it begins with.
	Fold []session.Message
	// Tail stays verbatim. It begins at a message, never inside one, so that a call stays with its result.
	Tail []session.Message
	// End is how many messages of the window the cut stands behind, the pivot that it begins with and markers without answer included.
	End int
	// Split is set when the tail begins inside a turn.
	Split bool
	// Previous is the summary that the window began with, nil without one.
	Previous *session.Message
	// Replay is the user message to be repeated after the summary because the provider rejected its turn, nil otherwise.
	Replay *session.Message
}

// TailStart is the id of the message that the tail begins with, "" without a tail.
func (c Cut) TailStart() string {
	if len(c.Tail) == 0 {
		return ""
	}
	return c.Tail[0].ID
}

// Find decides where to cut a window (as view.Window gives it). keep is how many tokens, as rendered, may stay verbatim.
//
// Turns are kept from the newest back while they fit, and with them what an earlier pivot left of its own turn. The first one that does not fit is split at
// the earliest message behind its first from which on it fits. When all of it would fit, or what is kept would leave nothing to fold, there is no tail.
//
// After a rejection the newest message that the user wrote is to be replayed. When work was done for it already, that
// work is folded with everything else, so that it is not done again; otherwise everything before the message is folded. There
// is no tail then: it would hold the rejected turn.
func Find(window []session.Message, ledger rule.Ledger, facts *rule.Facts, keep int, rejected bool) Cut {
	var cut Cut
	rest := window
	if summary := view.Pivot(window); summary != nil {
		cut.Previous, rest = summary, window[2:]
	}
	first := len(window) - len(rest)
	rest, at := withoutMarkers(rest)
	if rejected {
		cut = cut.reject(rest)
	} else {
		cut = cut.keep(rest, ledger, facts, keep)
	}
	if cut.End = len(window); len(cut.Fold) < len(at) {
		cut.End = first + at[len(cut.Fold)]
	}
	return cut
}

// keep leaves a tail of so many tokens.
func (c Cut) keep(rest []session.Message, ledger rule.Ledger, facts *rule.Facts, keep int) Cut {
	start := len(rest)
	if keep > 0 {
		start, c.Split = tailStart(rest, ledger, facts, keep)
	}
	if start == 0 {
		start, c.Split = len(rest), false
	}
	c.Fold, c.Tail = rest[:start:start], rest[start:]
	return c
}

func (c Cut) reject(rest []session.Message) Cut {
	c.Fold = rest
	for i := len(rest) - 1; i >= 0; i-- {
		if !rest[i].Written() {
			continue
		}
		replay := rest[i]
		if i == len(rest)-1 || !worked(rest[i+1:]) {
			if i == 0 && c.Previous == nil {
				return c // nothing else is there to fold: the message itself is what is too long
			}
			c.Fold = rest[:i:i]
		}
		c.Replay = &replay
		return c
	}
	return c
}

// worked reports whether anything came of a turn.
func worked(messages []session.Message) bool {
	for i := range messages {
		if messages[i].Role == session.Assistant && len(messages[i].Parts) > 0 && !messages[i].Failed() {
			return true
		}
	}
	return false
}

// withoutMarkers leaves out markers that were not answered and summaries that do not count; at is where each of the others stood.
func withoutMarkers(messages []session.Message) (kept []session.Message, at []int) {
	kept, at = make([]session.Message, 0, len(messages)), make([]int, 0, len(messages))
	for i := range messages {
		if messages[i].Marker() == nil && !messages[i].IsSummary() {
			kept, at = append(kept, messages[i]), append(at, i)
		}
	}
	return kept, at
}

func tailStart(rest []session.Message, ledger rule.Ledger, facts *rule.Facts, keep int) (start int, split bool) {
	turns := session.Turns(rest)
	// Behind an earlier pivot stands what its turn went on with. No message of the user's begins it, and it is kept and split like any turn: otherwise a turn
	// that is folded again and again would lose its newest results each time but the first.
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
			return start, false // something must be folded
		}
		if fits == turn.Start {
			start, left = turn.Start, left-size
			continue
		}
		if fits < turn.End { // some messages behind the user's fit
			return fits, true
		}
		return start, false
	}
	return start, false
}
