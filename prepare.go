package winnow

import (
	"context"
	"errors"
	"time"

	"github.com/winnowhq/winnow/plan/pivot"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/store/fold"
	"github.com/winnowhq/winnow/summarize/ask"
	"github.com/winnowhq/winnow/summarize/offline"
)

// preparation is a summary that this engine is writing before it is needed. Once it is written it
// is in the store: see draft. dropped is read and written with the engine's mu held.
type preparation struct {
	id      string
	cancel  context.CancelFunc
	done    chan struct{} // closed when it is in the store, or has failed
	dropped bool          // nobody wants it any more
}

// Prepare writes the summary of a fold that is near, which takes as long as the model takes, and
// puts it into the store, as a part of the session's state: see Outcome.Prepare. Call it beside the
// work, from a goroutine of your own, or from another process. The view stays what it is. Between
// two steps of the work Compact with CompactOptions.Prepared makes the summary count: a compaction
// like any other, with the trigger "background". Of several engines on one store whichever comes
// first does, once; what is prepared survives the end of a process. What was appended since the
// summary was prepared stays word for word behind it, so that the work goes on; a "continue" is
// appended only if nothing follows. A compaction that must come before that waits for a summary
// that this engine is writing, and uses it. Prepare does nothing if a summary is being prepared
// here or is in the store, a compaction is running, a marker waits for one, or no model is
// configured. A model that gives no valid summary is asked again when the fold must come: no offline
// summary takes its place here.
//
// A summary is dropped when it no longer fits: Stale, when messages that it stands for were changed
// or shown whole again, or another compaction was made or taken back; NoProgress, when what came
// since has grown so much that the view would not be below its budget. The session is as it was
// then, and is folded when it must be, by a summary of all that there is.
//
// Its cost is recorded once, with the summary; as wasted if it fails, if ctx ends, or when it is
// dropped later. If ctx ends, Prepare returns within 250 ms, provided the summariser does; if the
// store is busy, within two seconds more.
//
// Errors: Disabled (compaction.auto is off), and the errors of Compact.
func (e *Engine) Prepare(ctx context.Context, id string) error {
	if !e.policy.Auto {
		return fail(Disabled, "prepare", id, "nothing is folded but on demand: call Compact then",
			"compaction.auto is off")
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	p := &preparation{id: id, cancel: cancel, done: make(chan struct{})}
	if !e.register(p) {
		return nil
	}
	defer e.unregister(p)
	a, err := e.writeAhead(ctx, id)
	if a == nil {
		return err
	}
	if err == nil {
		err = e.storeSummary(ctx, p, a)
	}
	if err != nil {
		err = e.unprepared(ctx, a, err)
		e.preparationFailed(id, err)
	}
	return err
}

// register makes a preparation the one of its session, unless there is one, or a compaction is
// being made.
func (e *Engine) register(p *preparation) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.preparations[p.id] != nil || e.folds[p.id] > 0 {
		return false
	}
	e.preparations[p.id] = p
	return true
}

// unregister says that a preparation has ended.
func (e *Engine) unregister(p *preparation) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.preparations[p.id] == p {
		delete(e.preparations, p.id)
	}
	close(p.done)
}

// writeAhead asks for the summary. Without a folding nothing was begun; without an error neither,
// then: there is nothing to do.
func (e *Engine) writeAhead(ctx context.Context, id string) (*attempt, error) {
	began := e.config.Now()
	a, err := e.plan(ctx, id, CompactOptions{Auto: true}, false)
	e.markPrepared(id)
	if err != nil || a.Pending != nil || fold.Written(a.Plan.Prepared, a.Pivot()) {
		return nil, err
	}
	if chosen, err := e.choose(a); err != nil || chosen.Name() == offline.Name {
		return nil, err
	}
	a.ahead = true
	e.emit(id, Event{Type: CompactionStarted, Background: true})
	err = e.summarize(ctx, a)
	a.took = e.config.Now().Sub(began)
	return a, err
}

// markPrepared notes that a summary was prepared for the turn, whatever comes of it.
func (e *Engine) markPrepared(id string) {
	e.mu.Lock()
	l := e.live[id]
	e.mu.Unlock()
	if l != nil {
		l.mu.Lock()
		l.turn.prepared = true
		l.mu.Unlock()
	}
}

// preparationFailed tells that nothing came of a preparation.
func (e *Engine) preparationFailed(id string, err error) {
	e.emit(id, Event{Type: CompactionFailed, Text: err.Error(), Code: CodeOf(err), Background: true})
}

// noteWanted writes down that a summary is wanted.
func (e *Engine) noteWanted(ctx context.Context, id string) error {
	return e.change(ctx, "prepare", id, func(l *live) (store.Change, error) {
		return l.preparing(store.Prepared{Pivot: l.pivot(), Turn: fold.Turn(l.log), Asked: millis(e.config.Now())}), nil
	}, func(l *live) { l.turn.prepared = true })
}

// storeSummary puts a summary into the store, with what it cost.
func (e *Engine) storeSummary(ctx context.Context, p *preparation, a *attempt) error {
	ctx, done := recording(ctx)
	defer done()
	return e.change(ctx, "prepare", a.ID, func(l *live) (store.Change, error) {
		e.mu.Lock()
		dropped := p.dropped
		e.mu.Unlock()
		switch pivot := a.Pivot(); {
		case dropped:
			return store.Change{}, fail(Cancelled, "prepare", a.ID, "", "it is not wanted any more")
		case l.pivot() != pivot:
			return store.Change{}, fail(Stale, "prepare", a.ID, "",
				"another compaction was made or taken back meanwhile")
		case fold.Written(l.state.Prepared, pivot):
			return store.Change{}, fail(Stale, "prepare", a.ID, "", "somebody else has written one meanwhile")
		}
		data, err := a.Draft(a.summary(), len(l.state.Spent), a.took)
		if err != nil {
			return store.Change{}, fail(BadSummary, "prepare", a.ID, "", "write it down: %w", err)
		}
		now := store.Prepared{Pivot: a.Pivot(), Turn: fold.Turn(l.log), Asked: millis(e.config.Now()), Written: string(data)}
		if had := l.state.Prepared; had != nil && had.Wanted() {
			now.Asked = had.Asked
		}
		c := l.preparing(now)
		c.Spend = a.record.Spent
		return c, nil
	}, func(*live) { e.emitSpent(a.ID, a.record.Spent) })
}

// unprepared records what a summary cost of which nothing came, and that it is not to be asked for
// again in this turn; unless somebody stopped it.
func (e *Engine) unprepared(ctx context.Context, a *attempt, failed error) error {
	if CodeOf(failed) == Cancelled || CodeOf(failed) == Stale {
		return e.unpublished(ctx, a.ID, a.record, failed)
	}
	a.record.Waste()
	ctx, done := recording(ctx)
	defer done()
	err := e.change(ctx, "prepare", a.ID, func(l *live) (store.Change, error) {
		c := store.Change{Spend: a.record.Spent}
		if !fold.Written(l.state.Prepared, a.Pivot()) {
			now := l.preparing(store.Prepared{Pivot: a.Pivot(), Turn: fold.Turn(l.log), Asked: millis(e.config.Now()),
				Failed: true})
			c.Prepared, c.Vain = now.Prepared, now.Vain
		}
		return c, nil
	}, func(*live) { e.emitSpent(a.ID, a.record.Spent) })
	return notRecorded(failed, err)
}

// publishPrepared makes a summary count that Prepare has written, if the session at hand has one.
// It asks nobody and returns at once, or nil if it is still being written.
func (e *Engine) publishPrepared(ctx context.Context, id string) (*pivot.Receipt, error) {
	defer e.beginFold(id)()
	l, err := e.lockBy(ctx, "compact", id, e.ensureLoaded)
	if err != nil {
		return nil, err
	}
	p := l.state.Prepared
	l.mu.Unlock()
	if p == nil || p.Written == "" {
		return nil, nil
	}
	return e.adopt(ctx, id, p, CompactOptions{Auto: true}, inBackground)
}

// beginFold notes that a compaction is being made, so that no other summary is asked for beside
// it, until the function that it returns is called.
func (e *Engine) beginFold(id string) (ended func()) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.folds[id]++
	return func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		if e.folds[id]--; e.folds[id] == 0 {
			delete(e.folds, id)
		}
	}
}

// usePrepared makes what was prepared part of a compaction that must come now, for which it waits.
// Without a receipt and without an error there is nothing that fits.
func (e *Engine) usePrepared(ctx context.Context, id string, o CompactOptions, trigger string) (*pivot.Receipt, error) {
	if o.Focus != "" {
		return nil, e.abandon(ctx, id, fail(Stale, "compact", id, "",
			"it was prepared without the focus that is asked for"))
	}
	e.mu.Lock()
	writing := e.preparations[id]
	e.mu.Unlock()
	if writing != nil {
		select {
		case <-writing.done:
		case <-ctx.Done():
			return nil, e.failed("compact", id, ctx.Err())
		}
	}
	p := e.prepared(ctx, id)
	if p == nil {
		return nil, nil
	}
	receipt, err := e.adopt(ctx, id, p, o, trigger)
	if code := CodeOf(err); code == Stale || code == NoProgress {
		err = nil // a summary of all that there is may do
	}
	return receipt, err
}

// prepared is the summary that was prepared for a session, nil if there is none, or it cannot be
// read: what comes next says why.
func (e *Engine) prepared(ctx context.Context, id string) (p *store.Prepared) {
	err := e.locked(ctx, "compact", id, func(l *live) { p = l.state.Prepared })
	if err != nil || p == nil || p.Written == "" {
		return nil
	}
	return p
}

// rebase is an attempt to publish what was prepared, on the session as it is now.
func (e *Engine) rebase(ctx context.Context, id string, prepared *store.Prepared, o CompactOptions) (*attempt, error) {
	l, err := e.lock(ctx, "compact", id)
	if err != nil {
		return nil, err
	}
	defer e.unlock(l)
	p, w, took, err := fold.Rebase(e.current(l), o.fold(), prepared)
	if err != nil {
		return nil, e.failed("compact", id, err)
	}
	return &attempt{Plan: p, answer: w.Answer, struck: w.Struck, prepared: prepared, began: e.config.Now().Add(-took),
		record: &ask.Record{Spent: w.Spent, Usages: w.Usages, Notes: w.Notes}}, nil
}

// adopt publishes what was prepared, or drops it where it no longer fits. After any other error it
// stays in the store.
func (e *Engine) adopt(ctx context.Context, id string, p *store.Prepared, o CompactOptions, trigger string) (
	*pivot.Receipt, error) {
	a, err := e.rebase(ctx, id, p, o)
	var receipt *pivot.Receipt
	if err == nil {
		a.trigger = trigger
		receipt, err = e.publish(ctx, a)
	}
	switch code := CodeOf(err); {
	case err == nil:
		e.compacted(receipt)
		return receipt, nil
	case errors.Is(err, store.ErrConflict):
		return nil, err // it fits still
	case code == Stale || code == NoProgress || code == Busy || code == NothingToFold:
		return nil, e.drop(ctx, id, p, err)
	}
	return nil, err
}

// drop removes a prepared summary, records its requests as wasted, and returns why. If another engine
// removed it first, drop does nothing.
func (e *Engine) drop(ctx context.Context, id string, p *store.Prepared, why error) error {
	gone := false
	err := e.change(ctx, "compact", id, func(l *live) (store.Change, error) {
		if gone = !fold.Same(l.state.Prepared, p); gone {
			return store.Change{}, why
		}
		return l.preparing(store.Prepared{}), nil
	}, nil)
	if gone {
		return why
	}
	err = notRecorded(why, err)
	e.preparationFailed(id, err)
	return err
}

// abandon drops what is being prepared or is in the store. Of one that is still being written
// Prepare records the cost.
func (e *Engine) abandon(ctx context.Context, id string, why error) error {
	e.mu.Lock()
	if p := e.preparations[id]; p != nil {
		delete(e.preparations, id)
		p.dropped = true
		p.cancel()
	}
	e.mu.Unlock()
	p := e.prepared(ctx, id)
	if p == nil {
		return nil
	}
	if err := e.drop(ctx, id, p, why); err != why {
		return err // it is not recorded
	}
	return nil
}

// endPreparations ends what is being written, and waits a little for it.
func (e *Engine) endPreparations() {
	e.mu.Lock()
	var all []*preparation
	for _, p := range e.preparations {
		p.dropped = true
		p.cancel()
		all = append(all, p)
	}
	e.mu.Unlock()
	if len(all) == 0 {
		return
	}
	late := time.NewTimer(stopping)
	defer late.Stop()
	for _, p := range all {
		select {
		case <-p.done:
		case <-late.C:
			return
		}
	}
}

// summaryWanted reports whether a summary should be prepared: none is written, and no attempt failed
// in this turn.
func (l *live) summaryWanted() bool {
	p := l.state.Prepared
	failed := p != nil && p.Failed && p.Pivot == l.pivot() && p.Turn == fold.Turn(l.log)
	return !l.turn.prepared && !failed && !fold.Written(p, l.pivot())
}

// preparing is the change that puts something in the place of what is prepared.
func (l *live) preparing(p store.Prepared) store.Change {
	return store.Change{Prepared: &p, Vain: fold.PaidFor(l.state.Prepared)}
}
