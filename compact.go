package winnow

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/plan/pivot"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/plan/view"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/store/edit"
	"github.com/winnowhq/winnow/store/report"
	"github.com/winnowhq/winnow/summarize/ask"
	"github.com/winnowhq/winnow/summarize/offline"
	"github.com/winnowhq/winnow/text/quantity"
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
// here or is in the store, a compaction is being made, a marker waits for one, or no model is to be
// asked. A model that gives no summary that counts is asked again when the fold must come, so that
// no offline summary takes its place here.
//
// A summary is dropped when it no longer fits: Stale, when messages that it stands for were changed
// or shown whole again, or another compaction was made or taken back; NoProgress, when what came
// since has grown so much that the view would not be below its budget. The session is as it was
// then, and is folded when it must be, by a summary of all that there is.
//
// What it cost is recorded once, with the summary; as spent in vain when it fails or ctx ends, and
// from then on when it is dropped. If ctx ends Prepare returns within 250 ms, if the summariser
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
	defer e.released(p)
	f, err := e.writeAhead(ctx, id)
	if f == nil {
		return err
	}
	if err == nil {
		err = e.putAway(ctx, p, f)
	}
	if err != nil {
		err = e.unprepared(ctx, f, err)
		e.fails(id, err)
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

// released says that a preparation has ended.
func (e *Engine) released(p *preparation) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.preparations[p.id] == p {
		delete(e.preparations, p.id)
	}
	close(p.done)
}

// writeAhead asks for the summary. Without a folding nothing was begun; without an error neither,
// then: there is nothing to do.
func (e *Engine) writeAhead(ctx context.Context, id string) (*folding, error) {
	began := e.config.Now()
	f, err := e.prepare(ctx, id, CompactOptions{Auto: true}, 0)
	e.tried(id)
	if err != nil || f.pending != nil || written(f.had, f.pivot()) {
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

// want writes down that a summary is wanted.
func (e *Engine) want(ctx context.Context, id string) error {
	return e.change(ctx, "prepare", id, func(l *live) (store.Change, error) {
		return l.preparing(store.Prepared{Pivot: l.pivot(), Turn: l.turn(), Asked: millis(e.config.Now())}), nil
	}, func(l *live) { l.prepared = true })
}

// putAway puts a summary into the store, with what it cost.
func (e *Engine) putAway(ctx context.Context, p *preparation, f *folding) error {
	d := f.draft()
	ctx, done := recording(ctx)
	defer done()
	return e.change(ctx, "prepare", f.id, func(l *live) (store.Change, error) {
		e.mu.Lock()
		dropped := p.dropped
		e.mu.Unlock()
		switch pivot := f.pivot(); {
		case dropped:
			return store.Change{}, fail(Cancelled, "prepare", f.id, "", "it is not wanted any more")
		case l.pivot() != pivot:
			return store.Change{}, fail(Stale, "prepare", f.id, "",
				"another compaction was made or taken back meanwhile")
		case written(l.state.Prepared, pivot):
			return store.Change{}, fail(Stale, "prepare", f.id, "", "somebody else has written one meanwhile")
		}
		d.Paid = len(l.state.Spent)
		data, err := json.Marshal(d, json.Deterministic(true), jsontext.AllowInvalidUTF8(true))
		if err != nil {
			return store.Change{}, fail(BadSummary, "prepare", f.id, "", "write it down: %w", err)
		}
		now := store.Prepared{Pivot: f.pivot(), Turn: l.turn(), Asked: millis(e.config.Now()), Written: string(data)}
		if had := l.state.Prepared; had != nil && had.Wanted() {
			now.Asked = had.Asked
		}
		c := l.preparing(now)
		c.Spend = f.record.Spent
		return c, nil
	}, func(*live) { e.recorded(f.id, f.record.Spent) })
}

// unprepared records what a summary cost of which nothing came, and that it is not to be asked for
// again in this turn; unless somebody stopped it.
func (e *Engine) unprepared(ctx context.Context, f *folding, failed error) error {
	if CodeOf(failed) == Cancelled || CodeOf(failed) == Stale {
		return e.unpublished(ctx, f.id, f, failed)
	}
	f.record.Waste()
	ctx, done := recording(ctx)
	defer done()
	err := e.change(ctx, "prepare", f.id, func(l *live) (store.Change, error) {
		c := store.Change{Spend: f.record.Spent}
		if !written(l.state.Prepared, f.pivot()) {
			now := l.preparing(store.Prepared{Pivot: f.pivot(), Turn: l.turn(), Asked: millis(e.config.Now()),
				Failed: true})
			c.Prepared, c.Vain = now.Prepared, now.Vain
		}
		return c, nil
	}, func(*live) { e.recorded(f.id, f.record.Spent) })
	return notRecorded(failed, err)
}

// recording is a context to write down what was paid for: who wants to stop does not wait long for
// another process to let go of the store.
func recording(ctx context.Context) (context.Context, context.CancelFunc) {
	if ctx.Err() != nil {
		return context.WithTimeout(context.WithoutCancel(ctx), stopping)
	}
	return context.WithCancel(context.WithoutCancel(ctx))
}

// publishPrepared makes a summary count that Prepare has written, if the session at hand has one.
// It asks nobody and returns at once, or nil if it is still being written.
func (e *Engine) publishPrepared(ctx context.Context, id string) (*pivot.Receipt, error) {
	defer e.foldBegins(id)()
	l, err := e.lockBy(ctx, "compact", id, e.atHand)
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

// takeOver makes what was prepared part of a compaction that must come now, for which it waits.
// Without a receipt and without an error there is nothing that fits.
func (e *Engine) takeOver(ctx context.Context, id string, o CompactOptions, trigger string) (*pivot.Receipt, error) {
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
func (e *Engine) prepared(ctx context.Context, id string) *store.Prepared {
	l, err := e.lock(ctx, "compact", id)
	if err != nil {
		return nil
	}
	defer l.mu.Unlock()
	if p := l.state.Prepared; p != nil && p.Written != "" {
		return p
	}
	return nil
}

// adopt publishes what was prepared, or drops it where it no longer fits. After any other error it
// stays in the store.
func (e *Engine) adopt(ctx context.Context, id string, p *store.Prepared, o CompactOptions, trigger string) (
	*pivot.Receipt, error) {
	f, err := e.rebase(ctx, id, p, o, trigger)
	var receipt *pivot.Receipt
	if err == nil {
		receipt, err = e.publish(ctx, f)
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

// drop takes a summary away that nobody will read, whose requests were in vain then, and returns
// why. If somebody else was quicker, there is nothing to do.
func (e *Engine) drop(ctx context.Context, id string, p *store.Prepared, why error) error {
	gone := false
	err := e.change(ctx, "compact", id, func(l *live) (store.Change, error) {
		if gone = !same(l.state.Prepared, p); gone {
			return store.Change{}, why
		}
		return l.preparing(store.Prepared{}), nil
	}, nil)
	if gone {
		return why
	}
	err = notRecorded(why, err)
	e.fails(id, err)
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

// rebase is what was prepared, on the session as it is now: the same messages are folded, what came
// since stays behind them, and what is carried over and elided is decided anew.
func (e *Engine) rebase(ctx context.Context, id string, p *store.Prepared, o CompactOptions, trigger string) (
	*folding, error) {
	var d draft
	if err := json.Unmarshal([]byte(p.Written), &d, jsontext.AllowInvalidUTF8(true)); err != nil {
		return nil, fail(Stale, "compact", id, "", "the summary that was prepared cannot be read: %w", err)
	}
	l, err := e.lock(ctx, "compact", id)
	if err != nil {
		return nil, err
	}
	defer e.unlock(l)
	f := e.looked(l, o)
	f.cut = pivot.Find(f.window, f.ledger, l.facts, pivot.Wanted{Everything: true}) // all there is
	if why := d.stale(f, l); why != "" {
		return nil, fail(Stale, "compact", f.id, "", "%s", "the summary that was prepared does not fit any more: "+why)
	}
	n := len(d.Messages)
	f.cut.Fold, f.cut.Tail, f.cut.Split = f.cut.Fold[:n:n], f.cut.Fold[n:], d.Split
	if f.options.Rejected {
		if why := f.refusedAgain(l); why != "" {
			return nil, fail(Stale, "compact", f.id, "", "%s", "the summary that was prepared is not enough: "+why)
		}
		f.cut = f.cut.Replaying()
	}
	f.trigger, f.prepared, f.began = trigger, p, e.config.Now().Add(-time.Duration(d.Took))
	f.answer, f.struck = d.Answer, d.Struck
	f.record = &ask.Record{Spent: d.Spent, Usages: d.Usages, Notes: d.Notes}
	if since := len(f.cut.Tail) - d.Tail; since > 0 {
		f.record.Note("the summary was written while the work went on: " + quantity.Count(since, "message") +
			" came in meanwhile")
	} else {
		f.record.Note("the summary was written before it was needed")
	}
	return f, nil
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
			f.record = before.record
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
			f.record.Waste()
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
	f.record.Waste()
	receipt, err := e.commit(ctx, f.id, f.commit, f.trigger, f.record, "nothing was folded: "+reason(why))
	if err != nil {
		return nil, e.unpublished(ctx, f.id, f, err)
	}
	return receipt, nil
}

// unpublished records what a compaction that failed cost, and returns its error.
func (e *Engine) unpublished(ctx context.Context, id string, f *folding, failed error) error {
	if f == nil || len(f.record.Spent) == 0 {
		return failed
	}
	f.record.Waste()
	ctx, done := recording(ctx)
	defer done()
	err := e.change(ctx, "compact", id, func(*live) (store.Change, error) {
		return store.Change{Spend: f.record.Spent}, nil
	}, func(*live) { e.recorded(id, f.record.Spent) })
	return notRecorded(failed, err)
}

// notRecorded is an error, with that of writing down what it cost, nil if that was written.
func notRecorded(failed, err error) error {
	switch {
	case err == nil:
		return failed
	case reason(err) == reason(failed): // the store cannot be written: one error says why
		return fmt.Errorf("%w; nor is recorded what it cost", failed)
	}
	return errors.Join(failed, fmt.Errorf("what it cost is not recorded: %w", err))
}

// stopping is how long a compaction that was stopped may take to record what it cost: a machine
// under load needs more than the milliseconds of a commit, and what is not recorded is missing from
// the bill.
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
	return e.commit(ctx, f.id, found, trigger, f.record,
		"nothing was folded: there is too little but what was never sent, "+
			"and what was too long of that is shown in part")
}
