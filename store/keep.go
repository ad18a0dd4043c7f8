package store

import "context"

// Keeper is a store that keeps whole texts beside the log: outputs that were too long to be sent, of which the log has the beginning and the end alone. Not
// every store is one. What is kept belongs to its session and goes with it; it is no change of the session and no message. A Searcher finds what is
// in it, as a part of the output that it is the whole of.
type Keeper interface {
	// Keep keeps a text for a part, in place of the one before, whether the session has the part yet or not. ErrNotFound without the session.
	Keep(ctx context.Context, id, part, text string) error
	// Kept returns it to the byte. ErrNotKept when there is none, ErrNotFound without the session.
	Kept(ctx context.Context, id, part string) (text string, err error)
}
