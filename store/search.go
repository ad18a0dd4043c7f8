package store

import (
	"context"
	"iter"

	"github.com/winnowhq/winnow/session"
)

// Searcher is a store that finds words in all that it keeps: also in what a model no longer sees, because it was elided or folded
// into a summary, for nothing of that is lost. Not every store is one.
type Searcher interface {
	// Index takes up what came in since it was last done. Its cost is that of what is new. tell, which may be nil, is told now and
	// then how many of how many messages are done. What was done when it is stopped, by its context or by a crash, stays.
	Index(ctx context.Context, tell func(done, all int)) error
	// Search finds parts, the best first, and of those that fit alike the newest. It takes up what is new before, where the store can be written.
	// ErrNoWord when there is nothing that can be looked for.
	Search(ctx context.Context, s Search) (Found, error)
}

// Search is what is looked for.
type Search struct {
	// Words that must all occur in one part, in any order; several between double quotes stand side by side; a word with a * at its
	// end may go on. Case and accents do not count, signs separate words: src/main.go is three words side by side. Nothing
	// else has a meaning.
	Words string

	Session string         // only in the session with this id
	Product string         // only in sessions that were imported from this format
	Tool    string         // only in calls of this tool
	Role    session.Role   // only in messages of this role
	Since   session.Millis // only in messages of this time and later
	Limit   int            // how many hits at most; 0 is 20
}

// DefaultLimit is how many hits Search returns when it is not told.
const DefaultLimit = 20

// Found is what was found.
type Found struct {
	Hits  []Hit
	Total int // how many there are without a limit
	// Behind counts messages that are not in the index yet, because the store is read-only or another process writes. Nothing was looked for in
	// them.
	Behind int
	// Damaged tells of hits among the best that cannot be shown, because what is stored of them is damaged: each names its message and session. They are
	// counted in Total.
	Damaged []error
}

// Sketcher is a store that reads a log without its large texts. Not every store is one.
type Sketcher interface {
	// Sketch yields the log as Messages does, but for the texts, at least those that are large: who needs to know what there is and what
	// stands for what reads no more than that, and is not stopped by a text that is damaged.
	Sketch(ctx context.Context, id string) iter.Seq2[session.Message, error]
}

// Hit is a part in which it was found.
type Hit struct {
	Session session.Info
	Origin  string // format that the session was imported from, "" when it was born here

	Message string
	Role    session.Role
	Part    string
	Type    session.PartType
	Tool    string
	Time    session.Millis // when the message was made

	// Kept tells that the snippet is from what is kept beside the log (Keeper): the log has the beginning and the end of that text alone.
	Kept bool
	// Field is where the snippet is from, in the words of rule.Field: "text", "input", "output", "error".
	Field   string
	Snippet string   // on one line
	Marks   [][2]int // byte offsets in the snippet of what was looked for, ascending
	Score   float64  // how well it fits; more is better. It compares hits of one search only
}
