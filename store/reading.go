package store

import (
	"context"
	"sync"
)

// Reading is what one request knows of the sessions that it uses. A program that holds sessions in
// memory asks before each use whether another one has changed them. Within a request that uses one
// many times once is enough: what the request writes later depends on the revision anyway.
//
// The zero value knows nothing. It is safe for concurrent use. A nil Reading knows nothing ever, so
// that everything is asked.
type Reading struct {
	// Behind keeps added messages and requests in memory: they are written with the next decision
	// about their session. After a crash, the client sends again the messages that were not written.
	Behind bool

	mu       sync.Mutex
	sessions map[string]known
}

// known is what a Reading knows of a session.
type known struct {
	revision int64
	asked    bool // the store has said so, in this request
	others   bool // somebody else wrote in between
}

type readingKey struct{}

// Within is a context for what is done for the request: see ReadingOf.
func (r *Reading) Within(ctx context.Context) context.Context {
	return context.WithValue(ctx, readingKey{}, r)
}

// ReadingOf is the Reading of the request that a context belongs to, nil if there is none.
func ReadingOf(ctx context.Context) *Reading {
	r, _ := ctx.Value(readingKey{}).(*Reading)
	return r
}

// Expect says at which revision the request takes a session to be, without asking. The store is
// asked when that matters; what is written instead of asking tells, too.
func (r *Reading) Expect(id string, revision int64) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, ok := r.sessions[id]; !ok {
		r.set(id, known{revision: revision})
	}
}

// Again lets the request begin again with a session, from what it has seen: see Alone. What was
// only expected is forgotten.
func (r *Reading) Again(id string) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if k := r.sessions[id]; k.asked {
		k.others = false
		r.sessions[id] = k
	} else {
		delete(r.sessions, id)
	}
}

// Alone reports whether nobody but this request has written to a session since it was expected or
// first read to be at a revision, or since Again, as far as the request has seen; and the revision
// that it has now, 0 if nothing is known of it.
func (r *Reading) Alone(id string) (revision int64, alone bool) {
	if r == nil {
		return 0, true
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	k := r.sessions[id]
	return k.revision, !k.others
}

// Revision is that of [Store]: the newest that the request has seen, or else the store is asked.
func (r *Reading) Revision(ctx context.Context, s Store, id string) (int64, error) {
	if r != nil {
		r.mu.Lock()
		k := r.sessions[id]
		r.mu.Unlock()
		if k.asked {
			return k.revision, nil
		}
	}
	revision, err := s.Revision(ctx, id)
	if err == nil {
		r.saw(id, revision, 0)
	}
	return revision, err
}

// State is that of [Store], which is asked.
func (r *Reading) State(ctx context.Context, s Store, id string) (State, error) {
	state, err := s.State(ctx, id)
	if err == nil {
		r.saw(id, state.Revision, 0)
	}
	return state, err
}

// Knows reports whether the request has seen a session at a revision.
func (r *Reading) Knows(id string, revision int64) bool {
	if r == nil {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	k := r.sessions[id]
	return k.asked && k.revision == revision
}

// Waits notes that a session has changes that wait: see Behind. The revision that stands for them is
// negative, and no other session or change has it.
func (r *Reading) Waits(id string, revision int64) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.set(id, known{revision: revision, asked: true, others: r.sessions[id].others})
}

// Apply is that of [Store].
func (r *Reading) Apply(ctx context.Context, s Store, id string, c Change) (int64, error) {
	revision, err := s.Apply(ctx, id, c)
	if err == nil {
		r.saw(id, revision, 1)
	}
	return revision, err
}

// saw notes a revision that came about by a number of changes of the request's own.
func (r *Reading) saw(id string, revision, own int64) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	k, ok := r.sessions[id]
	between := ok && revision != k.revision+own
	if k.revision < 0 && own > 0 {
		between = false // the waiting messages were written on the revision of the decision
	}
	r.set(id, known{revision: revision, asked: true, others: k.others || between})
}

func (r *Reading) set(id string, k known) {
	if r.sessions == nil {
		r.sessions = map[string]known{}
	}
	r.sessions[id] = k
}
