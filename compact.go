package winnow

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/winnowhq/winnow/edit"
	"github.com/winnowhq/winnow/pivot"
	"github.com/winnowhq/winnow/quantity"
	"github.com/winnowhq/winnow/report"
	"github.com/winnowhq/winnow/rule"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/summarize/offline"
	"github.com/winnowhq/winnow/view"
)

// preparation is a summary that is written before it is needed. It is at hand alone: nothing of it
// is in the store, not even what it cost, before it is published or dropped. Its fields but done
// are read and written with the engine's mu held, folding also by anybody who saw done closed.
type preparation struct {
	id      string
	cancel  context.CancelFunc
	done    chan struct{} // closed when it is written, or has failed
	folding *folding      // nil: it failed
	dropped bool          // nobody wants it any more
}

// Prepare writes the summary of a fold that is near, which takes as long as the model takes, and
// keeps it at hand: see Outcome.Prepare. Call it beside the work, from a goroutine of your own.
// Nothing is stored. Between two steps of the work Compact with CompactOptions.Prepared makes the
// summary count: a compaction like any other, with the trigger "background". What was appended
// since the summary was prepared stays word for word behind it, so that the work goes on; a
// "continue" is appended only if nothing follows. A compaction that must come before that waits for
// the summary and uses it. Prepare does nothing if a summary is being prepared or at hand, a
// compaction is being made, a marker waits for one, or no model is to be asked. A model that gives
// no summary that counts is asked again when the fold must come, so that no offline summary takes
// its place here.
//
// A summary is dropped when it no longer fits: Stale, when messages that it stands for were changed
// or shown whole again, or another compaction was made or taken back; NoProgress, when what came
// since has grown so much that the view would not be below its budget. The session is as it was
// then, and is folded when it must be, by a summary of all that there is.
//
// What it cost is recorded once: with the compaction that it becomes part of, or as spent in vain
// when it fails, is dropped, or ctx ends. Then Prepare returns within 250 ms, if the summariser
// does; if the store is busy, within two seconds more.
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
	f, err := e.writeAhead(ctx, id)
	if err != nil && f != nil {
		err = e.unpublished(ctx, id, f, err)
		e.fails(id, err)
	}
	if err != nil {
		f = nil
	}
	e.mu.Lock()
	p.folding = f
	dropped := p.dropped
	if f == nil && e.preparations[id] == p {
		delete(e.preparations, id)
	}
	close(p.done)
	e.mu.Unlock()
	if dropped && f != nil {
		return e.drop(ctx, f, fail(Cancelled, "prepare", id, "", "it is not wanted any more"))
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

// writeAhead asks for the summary. Without a folding nothing was begun; without an error neither,
// then: there is nothing to do.
func (e *Engine) writeAhead(ctx context.Context, id string) (*folding, error) {
	began := e.config.Now()
	f, err := e.prepare(ctx, id, CompactOptions{Auto: true}, 0)
	e.tried(id)
	if err != nil || f.pending != nil {
		return nil, err
	}
	if chosen, err := e.choose(f); err != nil || chosen.Name() == offline.Name {
		return nil, err
	}
	f.ahead = true
	started := e.event(id, CompactionStarted)
	started.Background = true
	e.bus.publish(started)
	err = e.summarize(ctx, f)
	f.took = e.config.Now().Sub(began)
	return f, err
}

// tried notes that a summary was prepared for the turn, whatever comes of it.
func (e *Engine) tried(id string) {
	e.mu.Lock()
	l := e.live[id]
	e.mu.Unlock()
	if l != nil {
		l.mu.Lock()
		l.prepared = true
		l.mu.Unlock()
	}
}

// fails tells that nothing came of a preparation.
func (e *Engine) fails(id string, err error) {
	failed := e.event(id, CompactionFailed)
	failed.Text, failed.Code, failed.Background = err.Error(), CodeOf(err), true
	e.bus.publish(failed)
}

// publishPrepared makes a summary count that Prepare has written. It asks nobody and returns at
// once, or nil or it is still being written.
func (e *Engine) publishPrepared(ctx context.Context, id string) (*pivot.Receipt, error) {
	defer e.foldBegins(id)()
	f := e.claim(id)
	if f == nil {
		return nil, nil
	}
	return e.adopt(ctx, f, CompactOptions{Auto: true}, inBackground)
}

// foldBegins notes that a compaction is being made, so that no other summary is asked for beside
// it, until the function that it returns is called.
func (e *Engine) foldBegins(id string) (ended func()) {
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

// claim takes what was prepared, nil where there is nothing or it is not written yet.
func (e *Engine) claim(id string) *folding {
	e.mu.Lock()
	defer e.mu.Unlock()
	p := e.preparations[id]
	if p == nil || p.folding == nil {
		return nil
	}
	delete(e.preparations, id)
	return p.folding
}

// takeOver makes what was prepared part of a compaction that must come now, for which it waits.
// Without a receipt and without an error there is nothing that fits.
func (e *Engine) takeOver(ctx context.Context, id string, o CompactOptions, trigger string) (*pivot.Receipt, error) {
	if o.Focus != "" {
		return nil, e.abandon(ctx, id, fail(Stale, "compact", id, "",
			"it was prepared without the focus that is asked for"))
	}
	e.mu.Lock()
	p := e.preparations[id]
	e.mu.Unlock()
	if p == nil {
		return nil, nil
	}
	select {
	case <-p.done:
	case <-ctx.Done():
		return nil, e.failed("compact", id, ctx.Err())
	}
	f := e.claim(id)
	if f == nil {
		return nil, nil
	}
	receipt, err := e.adopt(ctx, f, o, trigger)
	if code := CodeOf(err); code == Stale || code == NoProgress {
		err = nil // a summary of all that there is may do
	}
	return receipt, err
}

// adopt publishes what was prepared, or drops it where it no longer fits. After any other error it
// stays at hand.
func (e *Engine) adopt(ctx context.Context, prepared *folding, o CompactOptions, trigger string) (*pivot.Receipt,
	error) {
	f, err := e.rebase(ctx, prepared, o, trigger)
	var receipt *pivot.Receipt
	if err == nil {
		receipt, err = e.publish(ctx, f)
	}
	switch code := CodeOf(err); {
	case err == nil:
		e.compacted(receipt)
		return receipt, nil
	case code == Stale || code == NoProgress || code == Busy || code == NothingToFold:
		return nil, e.drop(ctx, prepared, err)
	}
	e.putBack(prepared)
	return nil, err
}

// putBack keeps for later what could not be published now.
func (e *Engine) putBack(f *folding) {
	p := &preparation{id: f.id, cancel: func() {}, done: make(chan struct{}), folding: f}
	close(p.done)
	e.mu.Lock()
	defer e.mu.Unlock()
	e.preparations[f.id] = p
}

// drop records what a summary cost that nobody will read, and returns why.
func (e *Engine) drop(ctx context.Context, f *folding, why error) error {
	err := e.unpublished(ctx, f.id, f, why)
	e.fails(f.id, err)
	return err
}

// abandon drops what is being prepared or at hand. Of one that is still being written Prepare
// records the cost.
func (e *Engine) abandon(ctx context.Context, id string, why error) error {
	e.mu.Lock()
	p := e.preparations[id]
	delete(e.preparations, id)
	var written *folding
	if p != nil {
		written, p.dropped = p.folding, p.folding == nil
		p.cancel()
	}
	e.mu.Unlock()
	if written == nil {
		return nil
	}
	if err := e.drop(ctx, written, why); err != why {
		return err // it is not recorded
	}
	return nil
}

// endPreparations ends them all, and waits a little for those that are being written.
func (e *Engine) endPreparations() {
	e.mu.Lock()
	var all []*preparation
	for _, p := range e.preparations {
		all = append(all, p)
	}
	e.mu.Unlock()
	if len(all) == 0 {
		return
	}
	ctx, done := context.WithTimeout(context.Background(), stopping)
	defer done()
	for _, p := range all {
		_ = e.abandon(ctx, p.id, fail(Cancelled, "prepare", p.id, "", "the engine was closed"))
	}
	for _, p := range all {
		select {
		case <-p.done:
		case <-ctx.Done():
		}
	}
}

// rebase is what was prepared, on the session as it is now: the same messages are folded, what came
// since stays behind them, and what is carried over and elided is decided anew.
func (e *Engine) rebase(ctx context.Context, prepared *folding, o CompactOptions, trigger string) (*folding, error) {
	l, err := e.lock(ctx, "compact", prepared.id)
	if err != nil {
		return nil, err
	}
	defer e.unlock(l)
	f := e.looked(l, o)
	f.cut = pivot.Find(f.window, f.ledger, l.facts, pivot.Wanted{Everything: true}) // all there is
	if why := prepared.stale(f, l); why != "" {
		return nil, fail(Stale, "compact", f.id, "", "%s", "the summary that was prepared does not fit any more: "+why)
	}
	n := len(prepared.cut.Fold)
	f.cut.Fold, f.cut.Tail, f.cut.Split = f.cut.Fold[:n:n], f.cut.Fold[n:], prepared.cut.Split
	if f.options.Rejected {
		if why := f.refusedAgain(l); why != "" {
			return nil, fail(Stale, "compact", f.id, "", "%s", "the summary that was prepared is not enough: "+why)
		}
		f.cut = f.cut.Replaying()
	}
	f.trigger, f.prepared, f.began = trigger, true, e.config.Now().Add(-prepared.took)
	f.replaces, f.request, f.answer, f.struck = prepared.replaces, prepared.request, prepared.answer, prepared.struck
	f.spent, f.usages, f.notes = prepared.spent, prepared.usages, append([]string(nil), prepared.notes...)
	if since := len(f.cut.Tail) - len(prepared.cut.Tail); since > 0 {
		f.note("the summary was written while the work went on: " + quantity.Count(since, "message") +
			" came in meanwhile")
	} else {
		f.note("the summary was written before it was needed")
	}
	return f, nil
}

// stale says why a summary that was prepared no longer stands for what a window begins with, ""
// when it does. Elisions that were committed since change nothing: it was written from more.
func (f *folding) stale(now *folding, l *live) string {
	fold := now.cut.Fold
	switch {
	case (f.cut.Previous == nil) != (now.cut.Previous == nil),
		f.cut.Previous != nil && f.cut.Previous.ID != now.cut.Previous.ID:
		return "another compaction was made or taken back meanwhile"
	case len(fold) < len(f.cut.Fold):
		return "messages are gone"
	}
	pinned := rule.Window{Pins: l.state.Pins}
	for i := range f.cut.Fold {
		was, is := &f.cut.Fold[i], &fold[i]
		if was.ID != is.ID || was.Failed() != is.Failed() || !sameParts(was.Parts, is.Parts) {
			return fmt.Sprintf("message %s was changed", was.ID)
		}
		for j := range is.Parts {
			p := &is.Parts[j]
			for _, el := range f.stood.Of(p.ID) {
				// what is pinned is carried over word for word
				if !l.state.Ledger.Has(el.Key()) && !pinned.Pinned(p.ID, is.ID) {
					return fmt.Sprintf("part %s is shown whole again", p.ID)
				}
			}
		}
	}
	return ""
}

// sameParts compares what messages hold. They share it until one is replaced, or the session was
// read again.
func sameParts(a, b []session.Part) bool {
	if len(a) != len(b) {
		return false
	}
	if len(a) == 0 || &a[0] == &b[0] {
		return true
	}
	was, err := json.Marshal(a, json.Deterministic(true))
	if err != nil {
		return false
	}
	is, err := json.Marshal(b, json.Deterministic(true))
	return err == nil && string(was) == string(is)
}

// enough is how much of a view that a provider refused as too long may be left after a fold that
// was prepared for it: estimates are rarely off by more than a quarter.
const enough = 0.75

// refusedAgain says why a provider that has refused the view would refuse what is left of it, too;
// "" when it should not.
func (f *folding) refusedAgain(l *live) string {
	for i := len(f.cut.Tail) - 1; i >= 0; i-- {
		if m := &f.cut.Tail[i]; m.Written() {
			for j := range m.Parts {
				if m.Parts[j].IsMedia() {
					return "the newest message of the user's would stay with its attachments"
				}
			}
			break
		}
	}
	if left, all := l.tokens(f.cut.Tail, f.ledger), l.look().Tokens(); float64(left) > enough*float64(all) {
		return fmt.Sprintf("what came since has %s of %s tokens", quantity.Number(left), quantity.Number(all))
	}
	return ""
}

// Compact prunes, folds the past into a summary, and publishes marker, summary and what follows
// from them in one transaction. Until then the session is as it was, whatever fails. A pending
// marker is executed; without one it is made. Where pruning leaves too little to fold, it is what
// is done, and the receipt is of the kind Pruning.
//
// Errors: NothingToFold (it wraps ErrNothingNew where nothing was said since the last summary; with
// CompactOptions.To or Focus it is written anew, from the log), NoProgress (folding would not
// shrink the view), BadSummary, BadConfig (no model can be asked, and one must be), Cancelled,
// NotFound, Busy.
func (e *Engine) Compact(ctx context.Context, id string, o CompactOptions) (*pivot.Receipt, error) {
	switch {
	case o.Later:
		_, err := e.schedule(ctx, id, o)
		return nil, err
	case o.Prepared:
		return e.publishPrepared(ctx, id)
	case o.Waiting:
		return e.execute(ctx, id, o)
	}
	return e.compact(ctx, id, o, "manual")
}

// schedule appends a marker, unless one waits, and returns the id of the one that waits then.
func (e *Engine) schedule(ctx context.Context, id string, o CompactOptions) (marker string, err error) {
	var queued []session.Message
	err = e.change(ctx, "schedule", id, func(l *live) (store.Change, error) {
		queued = nil
		if at := view.Pending(l.log, l.state.Undone); at >= 0 {
			marker = l.log[at].ID
			return store.Change{}, nil
		}
		m := pivot.Marker(e.identity(), id, edit.LastUser(l.log), o.Auto, false)
		m.Agent = cmp.Or(o.Agent, m.Agent)
		if o.Model != nil {
			ref := *o.Model
			m.Model = &ref
		}
		marker, queued = m.ID, []session.Message{m}
		return store.Change{Append: queued}, nil
	}, func(*live) {
		for i := range queued {
			appended := e.event(id, MessageAppended)
			appended.Message = queued[i].ID
			e.bus.publish(appended)
		}
	})
	return marker, err
}

// hopeless are the errors of a compaction that would fail in the same way again.
var hopeless = []rule.Code{NothingToFold, NoProgress, BadSummary, BadConfig, Cancelled}

// execute makes the compaction that waits. One that fails, or folds nothing, is withdrawn: its
// marker counts no more and the session is as it was before it, so that no loop tries it for ever.
// It waits on where ctx has ended, another process was quicker, or the store cannot be written.
func (e *Engine) execute(ctx context.Context, id string, o CompactOptions) (*pivot.Receipt, error) {
	l, err := e.lock(ctx, "compact", id)
	if err != nil {
		return nil, err
	}
	marker, trigger := "", "manual"
	if at := view.Pending(l.log, l.state.Undone); at >= 0 {
		marker = l.log[at].ID
		switch m := l.log[at].Marker(); {
		case m.Overflow:
			trigger = "rejected"
		case m.Auto && e.overflowed(l, at):
			trigger = "threshold"
		}
	}
	l.mu.Unlock()
	if marker == "" {
		return nil, nil
	}
	receipt, failed := e.compact(ctx, id, o, trigger)
	folded := failed == nil && receipt.Kind == pivot.Compaction
	if folded || ctx.Err() != nil || failed != nil && !slices.Contains(hopeless, CodeOf(failed)) {
		return receipt, failed
	}
	err = e.change(ctx, "compact", id, func(*live) (store.Change, error) {
		return store.Change{Undo: []string{marker}}, nil
	}, nil)
	return receipt, errors.Join(failed, err)
}

// overflowed reports whether the newest step before a position of the log overflowed its window.
func (e *Engine) overflowed(l *live, before int) bool {
	log := l.log[:before]
	at := lastStep(log)
	return at >= 0 && log[at].Tokens != nil &&
		e.policy.Budget.Check(l.model, *log[at].Tokens, report.Pending(log, at, l.facts)).Overflow
}

func (e *Engine) compact(ctx context.Context, id string, o CompactOptions, trigger string) (*pivot.Receipt, error) {
	defer e.foldBegins(id)()
	if receipt, err := e.takeOver(ctx, id, o, trigger); receipt != nil || err != nil {
		return receipt, err
	}
	started := e.event(id, CompactionStarted)
	e.bus.publish(started)
	receipt, err := e.fold(ctx, id, o, trigger)
	if err != nil {
		failed := e.event(id, CompactionFailed)
		failed.Text, failed.Code = err.Error(), CodeOf(err)
		e.bus.publish(failed)
		return nil, err
	}
	if receipt.Kind == pivot.Pruning {
		return receipt, nil // its event was published with the commit
	}
	e.compacted(receipt)
	return receipt, nil
}

func (e *Engine) compacted(r *pivot.Receipt) {
	done := e.event(r.SessionID, Compacted)
	done.Receipt, done.Message, done.Background = r, r.Marker, r.Trigger == inBackground
	e.bus.publish(done)
}

// fold makes at most two attempts: the second keeps only the last exchange and carries less over,
// for when the first did not shrink the view or did not bring it below its budget.
func (e *Engine) fold(ctx context.Context, id string, o CompactOptions, trigger string) (*pivot.Receipt, error) {
	began := e.config.Now()
	var before *folding
	for attempt := 0; ; attempt++ {
		f, err := e.prepare(ctx, id, o, attempt)
		if CodeOf(err) == NothingToFold {
			if receipt, failed := e.shortenRefused(ctx, f, trigger); receipt != nil || failed != nil {
				return receipt, failed
			}
		}
		if err == nil && f.repeats != nil && trigger == "manual" && attempt == 0 {
			return nil, f.repeats // what folds by itself has measured that it must
		}
		if err != nil && (before != nil || !f.prunesAfter(err)) {
			return nil, e.unpublished(ctx, id, before, err)
		}
		f.trigger, f.began = trigger, began
		if err != nil {
			return e.pruneInstead(ctx, f, err)
		}
		if before != nil { // what the first attempt cost is part of it
			f.spent, f.usages, f.notes, f.plain = before.spent, before.usages, before.notes, before.plain
			f.requests.Store(before.requests.Load())
		}
		var receipt *pivot.Receipt
		if before != nil && f.sameFold(before) {
			// it was paid for; what differs is what is carried over beside it
			f.answer, f.struck = before.answer, before.struck
		} else {
			err = e.summarize(ctx, f)
		}
		if err == nil {
			if receipt, err = e.publish(ctx, f); err == nil {
				return receipt, nil
			}
		}
		code := CodeOf(err)
		small := code == NoProgress || code == NothingToFold
		switch {
		case small && attempt == 0 && !e.policy.Pivot.SummaryAlone:
			before = f
			continue
		case small && f.options.Rejected:
			f.inVain()
			if receipt, failed := e.shortenRefused(ctx, f, trigger); receipt != nil || failed != nil {
				return receipt, e.unpublished(ctx, id, f, failed)
			}
			return nil, e.unpublished(ctx, id, f, err)
		case f.prunesAfter(err):
			return e.pruneInstead(ctx, f, err)
		}
		return nil, e.unpublished(ctx, id, f, err)
	}
}

// prunesAfter reports whether a fold that ended in an error leaves elisions that are worth
// committing by themselves: folding does not help, often because so much can be elided.
func (f *folding) prunesAfter(err error) bool {
	code := CodeOf(err)
	return f != nil && (code == NoProgress || code == NothingToFold) && !errors.Is(err, ErrNothingNew) &&
		len(f.commit) > 0 && f.options.To == 0
}

// pruneInstead commits the elisions of a fold that did not come about, which is what was to be had.
func (e *Engine) pruneInstead(ctx context.Context, f *folding, why error) (*pivot.Receipt, error) {
	f.inVain()
	receipt, err := e.commit(ctx, f.id, f.commit, f.trigger, f, "nothing was folded: "+reason(why))
	if err != nil {
		return nil, e.unpublished(ctx, f.id, f, err)
	}
	return receipt, nil
}

// unpublished records what a compaction that failed cost, and returns its error.
func (e *Engine) unpublished(ctx context.Context, id string, f *folding, failed error) error {
	if f == nil || len(f.spent) == 0 {
		return failed
	}
	f.inVain()
	recording := context.WithoutCancel(ctx)
	if ctx.Err() != nil {
		// Who wants to stop does not wait long for another process to let go of the store.
		var done context.CancelFunc
		recording, done = context.WithTimeout(recording, stopping)
		defer done()
	}
	err := e.change(recording, "compact", id, func(*live) (store.Change, error) {
		return store.Change{Spend: f.spent},
			nil
	}, func(*live) { e.recorded(id, f.spent) })
	switch {
	case err == nil:
		return failed
	case reason(err) == reason(failed): // the store cannot be written: one error says why
		return fmt.Errorf("%w; nor is recorded what it cost", failed)
	}
	return errors.Join(failed, fmt.Errorf("what it cost is not recorded: %w", err))
}

// stopping is how long a compaction that was stopped may take to record what it cost: a machine under
// load needs more than the milliseconds of a commit, and what is not recorded is missing from the bill.
const stopping = 2 * time.Second

// refusedShare is to which part of a view that a provider refused it is brought where nothing can
// be folded: there is one attempt at it, for what was shortened once stays as it is.
const refusedShare = 0.5

// shortenRefused is for a request that was refused as too long where folding does not help: what of
// it was never sent is shown in part, and what can be left out is. nil without an error where that
// is nothing, too, and where nothing was refused. What the attempts at a fold took is part of it.
func (e *Engine) shortenRefused(ctx context.Context, f *folding, trigger string) (*pivot.Receipt, error) {
	if !f.options.Rejected || f.settings.SummaryAlone {
		return nil, nil
	}
	l, err := e.lock(ctx, "compact", f.id)
	if err != nil {
		return nil, err
	}
	found := f.stamped(millis(e.config.Now()))
	e.with(l, func() {
		window, size := l.window(), l.look().Tokens()
		ledger := l.state.Ledger.With(found...)
		left := l.tokens(window, ledger)
		over := left - int(refusedShare*float64(size))
		if f.usable > 0 {
			over = max(over, left+f.overhead-f.usable)
		}
		l.handles.Name(l.log)
		found = append(found, f.seen(l, window, ledger).Shorten(over, true)...)
	})
	if len(found) == 0 {
		return nil, nil
	}
	return e.commit(ctx, f.id, found, trigger, f,
		"nothing was folded: there is too little but what was never sent, "+
			"and what was too long of that is shown in part")
}
