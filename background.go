package winnow

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-json-experiment/json"

	"github.com/winnowhq/winnow/pivot"
	"github.com/winnowhq/winnow/rule"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/summarize/offline"
	"github.com/winnowhq/winnow/token"
)

// inBackground is the trigger of a compaction for which nothing had to wait.
const inBackground = "background"

// preparation is a summary that is written before it is needed. It is at hand alone: nothing of it is in the store, not even what it cost, before it is
// published or dropped. Its fields but done are read and written with the engine's mu held, folding and err also by whoever saw done closed.
type preparation struct {
	id      string
	cancel  context.CancelFunc
	done    chan struct{} // closed when it is written, or has failed
	folding *folding      // nil: it failed
	dropped bool          // nobody wants it any more
}

// asks reports whether summaries are something that one waits for: a model may be asked. The offline summariser's is there at once.
func (e *Engine) asks() bool {
	c := &e.config
	if c.Summarizer != nil {
		return c.Summarizer.Name() != offline.Name
	}
	return c.SummarizerFor != nil && c.Settings.Compaction.Summarizer != "offline"
}

func (e *Engine) isPreparing(id string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.preparations[id] != nil
}

// Prepare writes the summary of a fold that is near, which takes as long as the model takes, and keeps it at hand: see
// Outcome.Prepare. Call it beside the work, from a goroutine of your own. Nothing is stored. Between two steps of the work
// Compact with CompactOptions.Prepared makes the summary count: a compaction like any other, with the trigger "background".
// What was appended since the summary was prepared stays word for word behind it, so that the work goes on; a "continue" is
// appended only if nothing follows. A compaction that must come before that waits for the summary and uses it. Prepare does
// nothing if a summary is being prepared or at hand, a compaction is being made, a marker waits for one, or no model is to be
// asked. A model that gives no summary that counts is asked again when the fold must come, so that no offline summary takes
// its place here.
//
// A summary is dropped when it no longer fits: Stale, when messages that it stands for were changed or shown whole again, or
// another compaction was made or taken back; NoProgress, when what came since has grown so much that the view would not be
// below its budget. The session is as it was then, and is folded when it must be, by a summary of all that there is.
//
// What it cost is recorded once: with the compaction that it becomes part of, or as spent in vain when it fails, is dropped,
// or ctx ends. Then Prepare returns within 250 ms, if the summariser does.
//
// Errors: Disabled (compaction.auto is off), those of Compact.
func (e *Engine) Prepare(ctx context.Context, id string) error {
	if !e.policy.Auto {
		return &Error{Code: Disabled, Op: "prepare", Session: id, Err: errors.New("compaction.auto is off"), Hint: "nothing is folded but on demand: call Compact then"}
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
		return e.drop(ctx, f, &Error{Code: Cancelled, Op: "prepare", Session: id, Err: errors.New("it is not wanted any more")})
	}
	return err
}

// register makes a preparation the one of its session, unless there is one, or a compaction is being made.
func (e *Engine) register(p *preparation) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.preparations[p.id] != nil || e.folds[p.id] > 0 {
		return false
	}
	e.preparations[p.id] = p
	return true
}

// writeAhead asks for the summary. Without a folding nothing was begun; without an error neither, then: there is nothing to do.
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

// publishPrepared makes a summary count that Prepare has written. It asks nobody and returns at once, nil if there is none
// or it is still being written.
func (e *Engine) publishPrepared(ctx context.Context, id string) (*pivot.Receipt, error) {
	defer e.foldBegins(id)()
	f := e.claim(id)
	if f == nil {
		return nil, nil
	}
	return e.adopt(ctx, f, CompactOptions{Auto: true}, inBackground)
}

// foldBegins notes that a compaction is being made, so that no other summary is asked for beside it, until the function that it returns is called.
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

// takeOver makes what was prepared part of a compaction that must come now, for which it waits. Without a receipt and without an error there is nothing that fits.
func (e *Engine) takeOver(ctx context.Context, id string, o CompactOptions, trigger string) (*pivot.Receipt, error) {
	if o.Focus != "" {
		return nil, e.abandon(ctx, id, &Error{Code: Stale, Op: "compact", Session: id, Err: errors.New("it was prepared without the focus that is asked for")})
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

// adopt publishes what was prepared, or drops it where it no longer fits. After any other error it stays at hand.
func (e *Engine) adopt(ctx context.Context, prepared *folding, o CompactOptions, trigger string) (*pivot.Receipt, error) {
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

// abandon drops what is being prepared or at hand. Of one that is still being written Prepare records the cost.
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
		_ = e.abandon(ctx, p.id, &Error{Code: Cancelled, Op: "prepare", Session: p.id, Err: errors.New("the engine was closed")})
	}
	for _, p := range all {
		select {
		case <-p.done:
		case <-ctx.Done():
		}
	}
}

// rebase is what was prepared, on the session as it is now: the same messages are folded, what came since stays behind them, and what is
// carried over and elided is decided anew.
func (e *Engine) rebase(ctx context.Context, prepared *folding, o CompactOptions, trigger string) (*folding, error) {
	l, err := e.lock(ctx, "compact", prepared.id)
	if err != nil {
		return nil, err
	}
	defer l.mu.Unlock()
	f := e.looked(l, o)
	f.cut = pivot.Find(f.window, f.ledger, l.facts, pivot.Wanted{Letter: true}) // all there is
	if why := prepared.stale(f, l); why != "" {
		return nil, &Error{Code: Stale, Op: "compact", Session: f.id, Err: errors.New("the summary that was prepared does not fit any more: " + why)}
	}
	n := len(prepared.cut.Fold)
	f.cut.Fold, f.cut.Tail, f.cut.Split = f.cut.Fold[:n:n], f.cut.Fold[n:], prepared.cut.Split
	if f.options.Rejected {
		if why := f.refusedAgain(l); why != "" {
			return nil, &Error{Code: Stale, Op: "compact", Session: f.id, Err: errors.New("the summary that was prepared is not enough: " + why)}
		}
		f.cut = f.cut.Replaying()
	}
	f.trigger, f.prepared, f.began = trigger, true, e.config.Now().Add(-prepared.took)
	f.replaces, f.request, f.answer, f.struck = prepared.replaces, prepared.request, prepared.answer, prepared.struck
	f.spent, f.usages, f.notes = prepared.spent, prepared.usages, append([]string(nil), prepared.notes...)
	if since := len(f.cut.Tail) - len(prepared.cut.Tail); since > 0 {
		f.note("the summary was written while the work went on: " + token.Count(since, "message") + " came in meanwhile")
	} else {
		f.note("the summary was written before it was needed")
	}
	return f, nil
}

// stale says why a summary that was prepared no longer stands for what a window begins with, "" when it does. Elisions that were committed since change
// nothing: it was written from more.
func (f *folding) stale(now *folding, l *live) string {
	fold := now.cut.Fold
	switch {
	case (f.cut.Previous == nil) != (now.cut.Previous == nil), f.cut.Previous != nil && f.cut.Previous.ID != now.cut.Previous.ID:
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
				if !l.state.Ledger.Has(el.Key()) && !pinned.Pinned(p.ID, is.ID) { // what is pinned is carried over word for word
					return fmt.Sprintf("part %s is shown whole again", p.ID)
				}
			}
		}
	}
	return ""
}

// sameParts compares what messages hold. They share it until one is replaced, or the session was read again.
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

// enough is how much of a view that a provider refused as too long may be left after a fold that was prepared for it: estimates are rarely off by more than a
// quarter.
const enough = 0.75

// refusedAgain says why a provider that has refused the view would refuse what is left of it, too; "" when it should not.
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
		return fmt.Sprintf("what came since has %s of %s tokens", token.Grouped(left), token.Grouped(all))
	}
	return ""
}

// goesOn reports whether the work goes on by itself behind a summary: because the user has said something, or, where it was prepared, from what stays.
func (f *folding) goesOn() bool {
	if len(f.cut.Tail) == 0 {
		return false
	}
	return f.prepared && f.trigger == inBackground || f.cut.Tail[len(f.cut.Tail)-1].Written()
}
