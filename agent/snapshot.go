package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/winnowhq/winnow/session"
)

// Snapshots keeps states of the working folder; *snapshot.Repository does.
type Snapshots interface {
	// Take keeps the state of the folder and returns its name. It ends with ctx.
	Take(ctx context.Context) (string, error)
	// Diff says what became of each file between two states.
	Diff(ctx context.Context, from, to string) ([]session.FileDiff, error)
}

// taking is a snapshot that is being taken.
type taking struct {
	cancel context.CancelFunc
	done   chan struct{}
	tree   string
	err    error
}

// snapshot begins to take one; nil without Snapshots.
func (r *run) snapshot(ctx context.Context) *taking {
	if r.config.Snapshots == nil || r.blind {
		return nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, r.config.SnapshotTime, errSlow)
	t := &taking{cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(t.done)
		defer func() {
			if p := recover(); p != nil {
				t.err = fmt.Errorf("it panicked: %v", p)
			}
		}()
		t.tree, t.err = r.config.Snapshots.Take(ctx)
		if t.err != nil && ctx.Err() != nil {
			t.err = context.Cause(ctx)
		}
	}()
	return t
}

// drop ends a snapshot that nobody waits for any more.
func (t *taking) drop() {
	if t != nil {
		t.cancel()
	}
}

// wait returns the name of a snapshot, or "". It tells what went wrong.
func (r *run) wait(ctx context.Context, t *taking) string {
	if t == nil {
		return ""
	}
	defer t.cancel()
	select {
	case <-t.done:
	case <-ctx.Done():
		return ""
	}
	switch {
	case t.err == nil:
		r.missed = 0
	case ctx.Err() != nil || errors.Is(t.err, context.Canceled):
	case errors.Is(t.err, errSlow) && r.missed+1 < patient:
		r.missed++ // the next one goes on where this one stopped
		r.tell(Event{Type: Noticed, Text: fmt.Sprintf("A snapshot of the files was left out: it took longer than %v. "+
			"The next step tries again.", r.config.SnapshotTime)})
	default:
		r.blind = true
		r.tell(Event{Type: Noticed, Text: fmt.Sprintf("No snapshot of the files could be taken, so that there will "+
			"be no diffs from here on, and no way back: %v", t.err)})
	}
	return t.tree
}

// errSlow is why a snapshot was ended, and patient how often in a row until no more are tried.
var errSlow = errors.New("it took too long")

const patient = 3

// begins puts the marker with which a step begins in front of an answer, with the snapshot before
// its calls.
func (r *run) begins(ctx context.Context, m *session.Message, before *taking) {
	if r.config.Snapshots != nil {
		m.Parts = slices.Insert(m.Parts, 0, session.Part{Type: session.StepStartPart, Snapshot: r.wait(ctx, before)})
	}
}

// finishes puts the marker with which a step ends behind an answer. Where its calls cannot change
// files, the snapshot after them is the one before. The flag is set when one of them changes
// something.
func (r *run) finishes(m *session.Message, jobs []job) *atomic.Bool {
	if r.config.Snapshots == nil {
		return nil
	}
	changes := new(atomic.Bool)
	for i := range jobs {
		if _, harmless := jobs[i].tool.(Harmless); jobs[i].serial() && !harmless {
			changes.Store(true)
		}
		ask := jobs[i].call.Ask
		jobs[i].call.Ask = func(ctx context.Context, p Permission) error {
			if p.Action != "read" && p.Action != "fetch" {
				changes.Store(true)
			}
			return ask(ctx, p)
		}
	}
	end := session.Part{Type: session.StepFinishPart, Reason: m.Finish, Cost: m.Cost, Tokens: m.Tokens}
	if !changes.Load() {
		end.Snapshot = m.Parts[0].Snapshot
	}
	m.Parts = append(slices.Clip(m.Parts), end)
	return changes
}

// changed takes the snapshot after the calls of a step where they could change files.
func (r *run) changed(ctx context.Context, m *session.Message, changes *atomic.Bool) error {
	if changes == nil || !changes.Load() {
		return nil
	}
	tree := r.wait(ctx, r.snapshot(ctx))
	at := len(m.Parts) - 1
	if tree == "" || tree == m.Parts[at].Snapshot {
		return nil
	}
	m.Parts = slices.Clone(m.Parts)
	m.Parts[at].Snapshot = tree
	return r.update(m)
}
