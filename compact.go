package winnow

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/winnowhq/winnow/edit"
	"github.com/winnowhq/winnow/model"
	"github.com/winnowhq/winnow/pivot"
	"github.com/winnowhq/winnow/policy"
	"github.com/winnowhq/winnow/rule"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/view"
)

// CompactOptions say how to fold.
type CompactOptions struct {
	// Auto appends the synthetic "continue" afterwards, so that an agent goes on by itself.
	Auto bool
	// Rejected repeats the newest user message after the summary, because the provider refused its turn.
	Rejected bool
	// Focus is what the summary is to dwell on.
	Focus string
	// To is how many tokens the view may have afterwards, system prompt and tools not counted: less is kept word for word, and the summary is shorter. 0 is without
	// a bound but the model's window. What cannot be made so small ends in NoProgress, and the session is as it was. A policy
	// that folds by the letter keeps nothing else, and is not bound by it.
	To int
	// Later only appends a marker: "compact here", to be executed by a later Compact. At most one waits; a second request
	// changes nothing. There is no receipt.
	Later bool
	// Waiting only executes a marker that waits; without one nothing is done, and there is no receipt. A loop does this
	// before each step (S001, the loop's order).
	Waiting bool
	// Prepared only makes a summary count that Prepare has written; while there is none nothing is done, and there is no
	// receipt. See Prepare.
	Prepared bool
	// KeepSecrets leaves keys, tokens and passwords in what is written under the pivot as they are. Otherwise those of a known shape are masked there, but for
	// what is pinned; the log keeps them either way.
	KeepSecrets bool
}

// Compact prunes, folds the past into a summary, and publishes marker, summary and what follows from them in one
// transaction. Until then the session is as it was, whatever fails. A pending marker is executed; without one it is made. Where
// pruning leaves too little to fold, it is what is done, and the receipt is of the kind Pruning.
//
// Errors: NothingToFold (it wraps ErrNothingNew where nothing was said since the last summary; with CompactOptions.To or Focus it is
// written anew, from the log), NoProgress (folding would not shrink the view), BadSummary, BadConfig (no model can be asked, and one must be),
// Cancelled, NotFound, Busy.
func (e *Engine) Compact(ctx context.Context, id string, o CompactOptions) (*pivot.Receipt, error) {
	switch {
	case o.Later:
		return nil, e.schedule(ctx, id, o.Auto)
	case o.Prepared:
		return e.publishPrepared(ctx, id)
	case o.Waiting:
		l, err := e.lock(ctx, "compact", id)
		if err != nil {
			return nil, err
		}
		waits := view.Pending(l.log, l.state.Undone) >= 0
		l.mu.Unlock()
		if !waits {
			return nil, nil
		}
	}
	return e.compact(ctx, id, o, "manual")
}

// schedule appends a marker, unless one waits.
func (e *Engine) schedule(ctx context.Context, id string, auto bool) error {
	return e.change(ctx, "schedule", id, func(l *live) (store.Change, error) {
		if view.Pending(l.log, l.state.Undone) >= 0 {
			return store.Change{}, nil
		}
		return store.Change{Append: []session.Message{pivot.Marker(e.identity(), id, edit.LastUser(l.log), auto, false)}}, nil
	}, nil)
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

// fold makes at most two attempts: the second keeps no tail and carries less over, for when the first did not shrink the view or
// did not bring it below its budget.
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
		if err != nil {
			return nil, e.unpublished(ctx, id, before, err)
		}
		f.trigger, f.began = trigger, began
		if before != nil { // what the first attempt cost is part of it
			f.spent, f.usages, f.notes, f.plain = before.spent, before.usages, before.notes, before.plain
			f.requests.Store(before.requests.Load())
		}
		var receipt *pivot.Receipt
		if before != nil && f.sameFold(before) {
			f.answer, f.struck = before.answer, before.struck // it was paid for; what differs is what is carried over beside it
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
		case small && attempt == 0 && !e.policy.Pivot.Letter:
			before = f
			continue
		case small && f.options.Rejected:
			f.inVain()
			if receipt, failed := e.shortenRefused(ctx, f, trigger); receipt != nil || failed != nil {
				return receipt, e.unpublished(ctx, id, f, failed)
			}
			return nil, e.unpublished(ctx, id, f, err)
		case small && len(f.commit) > 0 && f.options.To == 0:
			// Folding does not help, often because so much can be elided: that is what was to be had.
			f.inVain()
			receipt, pruned := e.commit(ctx, id, f.commit, trigger, f, "nothing was folded: "+reason(err))
			if pruned != nil {
				return nil, e.unpublished(ctx, id, f, pruned)
			}
			return receipt, nil
		}
		return nil, e.unpublished(ctx, id, f, err)
	}
}

// reason is an error without what was done to whom.
func reason(err error) string {
	var known *Error
	if !errors.As(err, &known) {
		return err.Error()
	}
	if known.Hint != "" {
		return known.Err.Error() + "; " + known.Hint
	}
	return known.Err.Error()
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
	err := e.change(recording, "compact", id, func(*live) (store.Change, error) { return store.Change{Spend: f.spent}, nil }, func(*live) { e.recorded(id, f.spent) })
	switch {
	case err == nil:
		return failed
	case reason(err) == reason(failed): // the store cannot be written: one error says why
		return fmt.Errorf("%w; nor is recorded what it cost", failed)
	}
	return errors.Join(failed, fmt.Errorf("what it cost is not recorded: %w", err))
}

// inVain notes that nothing came of the calls that were made.
func (f *folding) inVain() {
	for i := range f.spent {
		f.spent[i].Failed = true
	}
}

// stopping is how long a compaction that was stopped may take to record what it cost.
const stopping = 150 * time.Millisecond

// folding is one attempt at a compaction, from the moment the session was looked at to the moment it is published.
type folding struct {
	id        string
	options   CompactOptions
	trigger   string
	log       []session.Message // as it was looked at, up to a pending marker
	size      int               // of the whole log then
	window    []session.Message
	pending   *session.Message // the marker that waited
	commit    []rule.Elision
	ledger    rule.Ledger // with commit
	stood     rule.Ledger // without
	cut       pivot.Cut
	settings  pivot.Settings
	usable    int // 0: unlimited
	overhead  int
	replaces  int // tokens of what is folded
	request   pivot.Request
	past      pivot.Past // what the summary will stand for, as the log has it
	repeats   error      // why this fold would only repeat the last one, nil when it would not
	info      session.Info
	pins      []rule.Pin
	dismissed map[string]bool
	guard     *rule.Guard       // which files the carry-over does not quote
	model     model.Model       // that reads the session
	offer     model.Model       // the same, of the provider that the session names
	sent      []session.Message // what is folded as the conversation itself sent it last; only where Config.Prefix asks for it
	cold      time.Duration     // how long the session was idle, when that is longer than the provider's cache lives

	answer   pivot.Answer
	usages   []session.Usage
	spent    []store.Spend
	notes    []string
	struck   []pivot.Struck
	requests atomic.Int32 // that were begun, as events count them
	// masked and masks count the secrets that were masked in the carry-over and in the summary.
	masked, masks int
	// unwritten is how many tokens a summary is taken to have that was not asked for: see Preview.
	unwritten int
	last      bool          // no other attempt follows: what does not fit by itself is shown in part
	ahead     bool          // it is written before it is needed: see Prepare
	prepared  bool          // it was
	took      time.Duration // to write it
	plain     bool          // the form that extends the conversation did not work
	began     time.Time
}

// sameFold reports whether an earlier attempt folded the same messages and has a summary of them.
func (f *folding) sameFold(before *folding) bool {
	n := len(f.cut.Fold)
	return before.answer.Text != "" && n == len(before.cut.Fold) && f.size == before.size && (n == 0 || f.cut.Fold[n-1].ID == before.cut.Fold[n-1].ID)
}

// prepare looks at the session and decides what to fold. Nothing is written. Beside NothingToFold there is a folding of nothing.
func (e *Engine) prepare(ctx context.Context, id string, o CompactOptions, attempt int) (*folding, error) {
	l, err := e.lock(ctx, "compact", id)
	if err != nil {
		return nil, err
	}
	defer l.mu.Unlock()
	f := e.looked(l, o)
	keep := f.settings.Tail(f.usable)
	if to := f.options.To; to > 0 {
		keep, f.settings.UserMessages = min(keep, to/3), min(f.settings.UserMessages, to/4)
	}
	usual := keep
	if attempt > 0 {
		keep, f.settings.UserMessages, f.last = 0, f.settings.UserMessages/8, true
	}
	f.cut = pivot.Find(f.window, f.ledger, l.facts, pivot.Wanted{Keep: keep, Rejected: f.options.Rejected, Letter: f.settings.Letter})
	f.repeats = e.repeats(l, f, usual)
	empty := len(pivot.WithoutKept(f.cut.Fold)) == 0
	if empty && (f.cut.Previous == nil || f.settings.Letter || f.repeats == nil && !e.anew(l, f)) {
		return f, &Error{Code: NothingToFold, Op: "compact", Session: id, Err: errors.New("there is nothing to fold"),
			Hint: "the session is empty, or all that was said since the last summary is still to be sent"}
	}
	if empty && f.repeats != nil {
		return f, f.repeats
	}
	e.request(l, f)
	return f, nil
}

// looked is a folding of the session as it stands, with what can be elided, and without a cut.
func (e *Engine) looked(l *live, o CompactOptions) *folding {
	f := e.standing(l, o)
	state := l.plannerState()
	state.Log, state.Window = f.log, f.window
	plan := e.policy.Plan(state, policy.Occasion{FoldAsked: true, Rejected: f.options.Rejected})
	f.commit = plan.Commit
	f.ledger = l.state.Ledger.With(f.commit...)
	return f
}

// standing is a folding of the session as it stands.
func (e *Engine) standing(l *live, o CompactOptions) *folding {
	f := &folding{
		id: l.id, options: o, log: l.log, size: len(l.log), settings: e.policy.Folding(l.model), info: l.state.Info, pins: l.state.Pins,
		dismissed: l.state.Dismissed, guard: e.policy.Guard, model: l.model, stood: l.state.Ledger,
	}
	if at := view.Pending(l.log, l.state.Undone); at >= 0 {
		marker := l.log[at]
		f.pending, f.log = &marker, l.log[:at]
		f.options.Rejected = f.options.Rejected || marker.Marker().Overflow
		f.options.Auto = f.options.Auto || marker.Marker().Auto
	}
	f.log = append([]session.Message(nil), f.log...)
	f.window = view.Window(f.log, l.state.Undone)
	f.overhead = l.overhead()
	if usable := e.policy.Budget.Usable(l.model); !usable.Unlimited {
		f.usable = usable.Threshold
	}
	return f
}

// request writes what a summariser is asked about the cut.
func (e *Engine) request(l *live, f *folding) {
	if f.cut.Previous != nil {
		f.replaces = view.Message(f.cut.Previous, f.ledger, l.facts)
		f.request.Previous = pivot.PreviousText(f.cut.Previous)
	}
	fold := pivot.WithoutKept(f.cut.Fold) // what is shown again stays so
	for i := range fold {
		f.replaces += view.Message(&fold[i], f.ledger, l.facts)
	}
	f.offer = e.offer(e.modelName(f.info, f.log))
	if e.config.Prefix != nil {
		f.sent = l.view.Render(f.window[:f.cut.End], l.state.Ledger)
		f.cold = e.cold(l)
	}
	f.request.SessionID, f.request.Focus, f.request.Directory = f.id, f.options.Focus, f.info.Directory
	f.request.Messages = e.policy.Markers().Of(view.Render(fold, f.ledger))
	f.past = pivot.PastOf(f.log, l.state.Undone, f.cut)
	f.request.Log, f.request.Tail, f.request.Past = fold, f.cut.Tail, &f.past
	f.request.System = pivot.SystemPrompt
	f.request.Instruction = pivot.Instruction(f.settings, f.request.Previous, f.options.Focus)
	f.request.Update = pivot.Instruction(f.settings, "an earlier piece", f.options.Focus)
	f.request.Dismissed = f.dismissed
	if none := noConstraints(f); none != "" && !f.settings.Letter {
		f.request.Instruction += none
		f.request.Update += none
	}
	f.request.Budget = pivot.AnswerBudget(f.usable, f.replaces, l.facts.Count(f.request.Previous))
	if f.options.To > 0 {
		f.request.Budget = min(f.request.Budget, max(f.options.To/2, 64))
	}
	f.request.OwnLength = f.settings.Letter || f.settings.Prompt != ""
}

// cold is how long a session was idle, 0 while the provider's cache may still have what was sent.
func (e *Engine) cold(l *live) time.Duration {
	idle := e.idle(l)
	if l.model.Cache.Lifetime <= 0 || idle <= l.model.Cache.Lifetime {
		return 0
	}
	return idle.Round(time.Second)
}
