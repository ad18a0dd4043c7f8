package store

import (
	"context"
	"errors"
	"maps"
	"reflect"
	"slices"

	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/session"
)

// Resumer is a store that can tell which messages of a session are new. Not every store is one.
type Resumer interface {
	// Resume returns a session's state, and the messages that were added or replaced since a mark, by
	// their positions in the log: all of one moment, for which the new mark stands. The messages are nil
	// if the mark is zero or has another origin, or if so many are new that Messages should be read.
	// ErrNotFound if there is no such session.
	Resume(ctx context.Context, id string, since Mark) (state State, now Mark, fresh map[int]session.Message, err error)
}

// Mark is how far a session was read. The zero value stands for nothing.
type Mark struct {
	// Origin tells sessions apart that had the same id, and servers: after a failover one may have other
	// changes at the same revisions.
	Origin   string
	Revision int64
	Messages int
}

// Copy is a session as it was read from a store, with the changes that its reader wrote since. The zero
// value is none.
type Copy struct {
	State  State
	Log    []session.Message
	Origin string // see Mark; "" if the store is no Resumer
}

// Without is the session before a change that Grows and waits to be written, nil for none; the zero value
// if that cannot be told.
func (c Copy) Without(waiting *Change) Copy {
	switch {
	case waiting == nil:
		return c
	case len(waiting.Update) > 0:
		return Copy{}
	}
	c.Log = c.Log[:len(c.Log)-len(waiting.Append)]
	c.State.Revision, c.State.Messages = waiting.Base, len(c.Log)
	return c
}

// CommittedSince are the elisions that were added to those of a state before. only is false if others
// are gone, or something else changed what the log shows.
func (s State) CommittedSince(before State) (added []rule.Elision, only bool) {
	known, now := before.Ledger.All(), s.Ledger.All()
	same := func(a, b rule.Elision) bool { return reflect.DeepEqual(a, b) }
	if len(now) < len(known) || !slices.EqualFunc(known, now[:len(known)], same) || !maps.Equal(before.Undone, s.Undone) {
		return nil, false
	}
	return now[len(known):], true
}

// Read reads a session that was known as before. From a Resumer it takes only the messages that were
// added or replaced since, and shares the others. from is the position of the first message that may
// differ from before's, 0 if all may.
func (r *Reading) Read(ctx context.Context, s Store, id string, before Copy) (now Copy, from int, err error) {
	for {
		var fresh map[int]session.Message
		if resumer, ok := s.(Resumer); ok {
			mark := Mark{before.Origin, before.State.Revision, len(before.Log)}
			if mark.Messages != before.State.Messages {
				mark = Mark{}
			}
			now.State, mark, fresh, err = resumer.Resume(ctx, id, mark)
			now.Origin = mark.Origin
		} else {
			now.State, err = s.State(ctx, id)
		}
		if err != nil {
			return now, 0, err
		}
		r.saw(id, now.State.Revision, 0)
		if fresh != nil {
			now.Log, from = patched(before.Log, now.State.Messages, fresh)
			return now, from, nil
		}
		now.Log, err = logOf(ctx, s, id, now.State.Messages)
		switch {
		case err == nil && len(now.Log) == now.State.Messages:
			return now, 0, nil
		case err != nil && !errors.Is(err, ErrConflict):
			return now, 0, err
		}
		// Somebody wrote while it was read.
	}
}

// patched is a log with messages added and replaced, and the first position of these.
func patched(log []session.Message, messages int, fresh map[int]session.Message) (now []session.Message, from int) {
	now, from = make([]session.Message, messages), len(log)
	copy(now, log)
	for at, m := range fresh {
		now[at], from = m, min(from, at)
	}
	return now, from
}

// logOf reads a log, oldest first.
func logOf(ctx context.Context, s Store, id string, messages int) ([]session.Message, error) {
	log := make([]session.Message, 0, messages)
	for m, err := range s.Messages(ctx, id) {
		if err != nil {
			return nil, err
		}
		log = append(log, m)
	}
	slices.Reverse(log)
	return log, nil
}
