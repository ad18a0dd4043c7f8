package pivot

import (
	"math"
	"slices"

	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/plan/view"
	"github.com/winnowhq/winnow/session"
)

// Cut is where a window is folded.
type Cut struct {
	// Fold holds the messages that the summary will represent, oldest first, without the pivot that
	// the window begins with.
	Fold []session.Message
	// Tail stays verbatim. It always begins at the start of a message, so that a call stays with
	// its result.
	Tail []session.Message
	// End counts the messages of the window before the cut, including the pivot that the window
	// begins with and unanswered markers.
	End int
	// Split is set if the tail begins inside a turn.
	Split bool
	// Previous is the summary that the window began with, nil if there was none.
	Previous *session.Message
	// Replay is the user message to repeat after the summary because the provider rejected its
	// turn; nil otherwise.
	Replay *session.Message
}

// TailStart returns the id of the first message of the tail, "" if there is no tail.
func (c Cut) TailStart() string {
	if len(c.Tail) == 0 {
		return ""
	}
	return c.Tail[0].ID
}

// Wanted says what a cut should leave.
type Wanted struct {
	// Keep is how many tokens, as rendered, may stay verbatim. The last exchange may always have
	// MinKeep.
	Keep int
	// Room is how many tokens the window allows the last exchange, 0 if it is unlimited: see Room.
	Room int
	// Rejected: the provider refused the request as too long.
	Rejected bool
	// Everything folds all messages, even those that were never sent: the specification's summary
	// is shown alone (S001 phase 3).
	Everything bool
}

// Find decides where to cut a window (as view.Window returns it).
//
// Messages that no request has carried yet are never folded, whatever their size: the newest answer
// with its calls and everything after it, or what follows an answer without calls (session.Unsent).
// Otherwise the model would only ever see a summary of them. If they do not fit by themselves, the
// caller must show less of them (rule.Shorten) or refuse. If nothing precedes them, nothing is
// folded.
//
// Turns are kept from the newest back while they fit, including what an earlier pivot left of its
// own turn. The first turn that does not fit is split at the earliest message after its first from
// which the rest fits. If everything would fit, or nothing would be left to fold, only the last
// exchange is kept.
//
// The last exchange, the newest message that the user wrote with what answers it, is never folded
// whole: a session that goes on behind a bare summary has no answer to go on from, and products
// make one up. If it has more than Keep and MinKeep tokens, or more than Room, its newest messages
// that fit stay; its newest answer stays unless that alone has more than Room.
//
// After a rejection nothing else is kept. The newest message that the user wrote is replayed unless
// it is in the tail. If it is the first unsent message, it is replayed instead of kept; if it
// follows other unsent messages, it stays in the tail. Work already done for it is folded, so that
// it is not done again.
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
		cut = cut.keep(rest, ledger, facts, w)
	}
	if cut.End = len(window); len(cut.Fold) < len(at) {
		cut.End = first + at[len(cut.Fold)]
	}
	return cut
}

// Room returns how many of the tokens that a window has beside the system prompt and the tools
// (overhead) its last exchange may have: a quarter, so that a summary and what is carried over fit
// beside it. usable 0 means unlimited, and so does the result.
func Room(usable, overhead int) int {
	if usable <= 0 {
		return 0
	}
	return max(1, (usable-overhead)/4)
}

// keep leaves a tail of at most w.Keep tokens, the last exchange, and what was never sent.
func (c Cut) keep(rest []session.Message, ledger rule.Ledger, facts *rule.Facts, w Wanted) Cut {
	start := min(session.Unsent(rest), lastExchange(rest, ledger, facts, w))
	if w.Keep > 0 {
		if from := tailStart(rest, ledger, facts, w.Keep); from > 0 {
			start = min(start, from)
		}
	}
	return c.at(rest, start)
}

// lastExchange returns where that of the last exchange begins which stays whatever else does. If
// the user wrote nothing, that is the newest answer.
func lastExchange(rest []session.Message, ledger rule.Ledger, facts *rule.Facts, w Wanted) (start int) {
	begin := lastWritten(rest)
	room := w.Room
	if room <= 0 {
		room = math.MaxInt
	}
	most := min(max(w.Keep, MinKeep), room)
	start = len(rest)
	size, answered := 0, false
	for i := len(rest) - 1; i >= max(0, begin); i-- {
		size += view.Message(&rest[i], ledger, facts)
		if size > room || answered && (size > most || begin < 0) {
			break
		}
		start = i
		answered = answered || rest[i].Role == session.Assistant && !rest[i].Failed()
	}
	return start
}

// at folds the messages before start. A tail must not begin with a quotation: an undone quotation
// is in no file, so the tail would have no beginning there. It is written again after the new
// summary.
func (c Cut) at(rest []session.Message, start int) Cut {
	for start < len(rest) && isQuotation(&rest[start]) {
		start++
	}
	c.Fold, c.Tail = rest[:start:start], rest[start:]
	c.Split = len(c.Tail) > 0 && !c.Tail[0].Written()
	return c
}

// Replaying returns the cut with the newest message that the user wrote as its replay, if it is
// folded: a rejected turn is neither lost nor doubled.
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

// lastWritten is the position of the newest message that the user wrote, or -1.
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
		c.Tail, c.Split, c.Replay = nil, false, &replay // the answers after it failed and said nothing
	}
	return c
}

// rejectAll follows the specification: the rejected message is repeated, and nothing is kept.
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

// worked reports whether a turn produced anything.
func worked(messages []session.Message) bool {
	return slices.ContainsFunc(messages, func(m session.Message) bool {
		return m.Role == session.Assistant && len(m.Parts) > 0 && !m.Failed()
	})
}

// withoutMarkers drops unanswered markers and summaries that do not count; at holds the original
// position of each message kept.
func withoutMarkers(messages []session.Message) (kept []session.Message, at []int) {
	kept, at = make([]session.Message, 0, len(messages)), make([]int, 0, len(messages))
	for i := range messages {
		if messages[i].Marker() == nil && !messages[i].IsSummary() {
			kept, at = append(kept, messages[i]), append(at, i)
		}
	}
	return kept, at
}

// tailStart returns where the turns that fit begin, 0 if all of them fit.
func tailStart(rest []session.Message, ledger rule.Ledger, facts *rule.Facts, keep int) (start int) {
	turns := session.Turns(rest)
	// The messages after an earlier pivot continue its turn. No user message begins them, and they
	// are kept and split like any turn: otherwise a turn that is folded repeatedly would lose its
	// newest results each time but the first.
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
		if fits < turn.End { // some messages after the user's fit
			return fits
		}
		return start
	}
	return start
}
