package agent

import (
	"context"
	"time"

	"github.com/winnowhq/winnow"
)

// beside is a summary that is written while the loop works. Its goroutine ends when it is written,
// when the Run in which it is written fails or is cancelled, when the engine is closed, and at the
// latest some time after the last Run of its session has returned.
type beside struct {
	cancel context.CancelFunc
	done   chan struct{}
	late   *time.Timer // ends it when no Run is there for it; nil while one is
}

// linger is how long a summary may still be written after a turn has ended: about as long as
// somebody reads the answer, and as a slow model takes for a summary. Ended with the turn it would
// have been paid in vain, and would be due again in the next.
const linger = 2 * time.Minute

// prepareAhead begins to write a summary.
func (r *run) prepareAhead(ctx context.Context) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.beside[r.id] != nil {
		return
	}
	writing, cancel := context.WithCancel(context.WithoutCancel(ctx))
	b := &beside{cancel: cancel, done: make(chan struct{})}
	r.beside[r.id] = b
	go func() {
		defer close(b.done)
		defer cancel()
		// what it was is told by the engine's events and recorded by it; the fold comes all the
		// same
		_ = r.config.Engine.Prepare(writing, r.id)
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.Loop.beside, r.id)
		if b.late != nil {
			b.late.Stop()
		}
	}()
}

// accompany lets the summary of a session be written for as long as this Run takes, and ends it
// with ctx, until the Run has left the session or calls the function that is returned.
func (r *run) accompany(ctx context.Context) (stop func() bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if b := r.beside[r.id]; b != nil && b.late != nil {
		b.late.Stop()
		b.late = nil
	}
	return context.AfterFunc(ctx, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		if b := r.beside[r.id]; b != nil && !r.left {
			b.cancel()
		}
	})
}

// ends ends the writing, and returns what is closed when it has ended; nil without one.
func (r *run) ends() <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	b := r.beside[r.id]
	if b == nil {
		return nil
	}
	b.cancel()
	return b.done
}

// giveUp ends the writing after an error, and waits for it as long as there is patience, so that
// what it cost is in the session's account.
func (r *run) giveUp() {
	done := r.ends()
	if done == nil {
		return
	}
	late := time.NewTimer(patience)
	defer late.Stop()
	select {
	case <-done:
	case <-r.saving.Done():
	case <-late.C:
	}
}

// publish makes a summary count that was written meanwhile. That it no longer fits is no reason to
// stop: it was dropped, and the session is folded when it must be.
func (r *run) publish(ctx context.Context) error {
	_, err := r.config.Engine.Compact(ctx, r.id, winnow.CompactOptions{Prepared: true})
	switch winnow.CodeOf(err) {
	case winnow.Stale, winnow.NoProgress, winnow.NothingToFold, winnow.Busy:
		return nil
	}
	return err
}
