// Package memory keeps sessions in memory, for tests and for programs that store their sessions
// elsewhere.
package memory

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"maps"
	"slices"
	"sync"

	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
)

// Store keeps sessions in memory. Use New.
type Store struct {
	mu       sync.RWMutex
	sessions map[string]*kept
	changes  int64 // counts creations and changes, to order sessions that were updated at the same time
	closed   bool
	files    map[string]store.File
}

var _ store.Store = (*Store)(nil)

// New returns an empty store.
func New() *Store { return &Store{sessions: map[string]*kept{}} }

// kept is one session. Its slices are only ever appended to or replaced, so that a reader may go on
// with those it saw.
type kept struct {
	store.State
	changed  int64
	messages []*session.Message // never changed; an update replaces the pointer
	source   *store.Source
	texts    map[string]string // kept texts, by part
}

func newKept(info session.Info) *kept {
	return &kept{State: store.State{Info: clone(info), Revision: 1}}
}

// Create adds an empty session.
func (s *Store) Create(ctx context.Context, info session.Info) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.ready(ctx, "create", info.ID); err != nil {
		return err
	}
	if info.ID == "" {
		return failed("create", "", errors.New("a session needs an id"))
	}
	if s.sessions[info.ID] != nil {
		return failed("create", info.ID, store.ErrExists)
	}
	s.changes++
	s.sessions[info.ID] = newKept(info)
	s.sessions[info.ID].changed = s.changes
	return nil
}

// List returns one line for each session, last updated first.
func (s *Store) List(ctx context.Context) ([]store.Listing, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if err := s.ready(ctx, "list", ""); err != nil {
		return nil, err
	}
	all := slices.SortedFunc(maps.Values(s.sessions), func(a, b *kept) int {
		return cmp.Or(cmp.Compare(b.Info.Time.Updated, a.Info.Time.Updated), cmp.Compare(b.changed, a.changed))
	})
	list := make([]store.Listing, len(all))
	for i, k := range all {
		list[i] = store.Listing{Info: clone(k.Info), Messages: len(k.messages)}
		if k.source != nil {
			list[i].Origin = k.source.Format
		}
	}
	return list, nil
}

// Delete deletes a session and everything that belongs to it.
func (s *Store) Delete(ctx context.Context, id string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, err := s.find(ctx, "delete", id); err != nil {
		return err
	}
	delete(s.sessions, id)
	maps.DeleteFunc(s.files, func(_ string, f store.File) bool { return f.Session == id })
	return nil
}

// State returns all that is known about a session except its messages.
func (s *Store) State(ctx context.Context, id string) (store.State, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	k, err := s.find(ctx, "state", id)
	if err != nil {
		return store.State{}, err
	}
	state := k.State
	state.Ledger = rule.Ledger{} // which reflection cannot set
	state = clone(state)
	state.Ledger = rule.NewLedger(k.Ledger.All()...) // a ledger shows its slice
	return state, nil
}

// Revision returns State.Revision alone.
func (s *Store) Revision(ctx context.Context, id string) (int64, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	k, err := s.find(ctx, "revision", id)
	if err != nil {
		return 0, err
	}
	return k.Revision, nil
}

// Messages yields the log newest first.
func (s *Store) Messages(ctx context.Context, id string) iter.Seq2[session.Message, error] {
	return func(yield func(session.Message, error) bool) {
		s.mu.RLock()
		k, err := s.find(ctx, "messages", id)
		if err != nil {
			s.mu.RUnlock()
			yield(session.Message{}, err)
			return
		}
		messages := k.messages
		s.mu.RUnlock()
		for _, m := range slices.Backward(messages) {
			if err := ctx.Err(); err != nil {
				yield(session.Message{}, failed("messages", id, err))
				return
			}
			if !yield(clone(*m), nil) {
				return
			}
		}
	}
}

// Source returns the file that a session was imported from, or nil.
func (s *Store) Source(ctx context.Context, id string) (*store.Source, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	k, err := s.find(ctx, "source", id)
	if err != nil {
		return nil, err
	}
	return clone(k.source), nil
}

// SetSource stores the file that a session was imported from.
func (s *Store) SetSource(ctx context.Context, id string, source store.Source) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	k, err := s.find(ctx, "source", id)
	if err != nil {
		return err
	}
	k.source = clone(&source)
	return nil
}

// Close drops everything.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sessions, s.closed = nil, true
	return nil
}

// find returns a session. The caller holds the lock.
func (s *Store) find(ctx context.Context, op, id string) (*kept, error) {
	if err := s.ready(ctx, op, id); err != nil {
		return nil, err
	}
	k := s.sessions[id]
	if k == nil {
		return nil, failed(op, id, store.ErrNotFound)
	}
	return k, nil
}

// ready returns an error if the context ended or the store is closed. The caller holds the lock.
func (s *Store) ready(ctx context.Context, op, id string) error {
	if err := ctx.Err(); err != nil {
		return failed(op, id, err)
	}
	if s.closed {
		return failed(op, id, store.ErrClosed)
	}
	return nil
}

func failed(op, id string, err error) error { return &store.Error{Op: op, Session: id, Err: err} }
