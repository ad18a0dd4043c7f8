package winnow

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/winnowhq/winnow/pivot"
	"github.com/winnowhq/winnow/policy"
	"github.com/winnowhq/winnow/rule"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/summarize/offline"
	"github.com/winnowhq/winnow/token"
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
}

// Schedule appends a marker: "compact here", to be executed by the next Compact. At most one is pending; a second request returns the
// pending one.
func (e *Engine) Schedule(ctx context.Context, id string, auto bool) (marker session.Message, err error) {
	err = e.change(ctx, "schedule", id, func(l *live) (store.Change, error) {
		if at := view.Pending(l.log, l.state.Undone); at >= 0 {
			marker = l.log[at]
			return store.Change{}, nil
		}
		marker = pivot.Marker(e.identity(), id, lastUser(l.log), auto, false)
		return store.Change{Append: []session.Message{marker}}, nil
	}, nil)
	return marker, err
}

// Compact prunes, folds the past into a summary, and publishes marker, summary and what follows from them in one
// transaction. Until then the session is as it was, whatever fails. A pending marker is executed; without one it is made. Where
// pruning leaves too little to fold, it is what is done, and the receipt is of the kind Pruning.
//
// Errors: NothingToFold, NoProgress (folding would not shrink the view), BadSummary, Cancelled, NotFound, Busy.
func (e *Engine) Compact(ctx context.Context, id string, o CompactOptions) (*pivot.Receipt, error) {
	return e.compact(ctx, id, o, "manual")
}

func (e *Engine) compact(ctx context.Context, id string, o CompactOptions, trigger string) (*pivot.Receipt, error) {
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
	done := e.event(id, Compacted)
	done.Receipt, done.Message = receipt, receipt.Marker
	e.bus.publish(done)
	return receipt, nil
}

// fold makes at most two attempts: the second keeps no tail and carries less over, for when the first did not shrink the view or
// did not bring it below its budget.
func (e *Engine) fold(ctx context.Context, id string, o CompactOptions, trigger string) (*pivot.Receipt, error) {
	began := e.config.Now()
	var before *folding
	for attempt := 0; ; attempt++ {
		f, err := e.prepare(ctx, id, o, attempt)
		if err != nil {
			return nil, e.unpublished(ctx, id, before, err)
		}
		f.trigger, f.began = trigger, began
		if before != nil { // what the first attempt cost is part of it
			f.spent, f.usages, f.notes = before.spent, before.usages, before.notes
		}
		var receipt *pivot.Receipt
		if err = e.summarize(ctx, f); err == nil {
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
		case small && len(f.commit) > 0:
			// Folding does not help, often because so much can be elided: that is what was to be had.
			receipt, pruned := e.commit(ctx, id, f.commit, trigger, "nothing was folded: "+reason(err))
			return receipt, e.unpublished(ctx, id, f, pruned)
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
	for i := range f.spent {
		f.spent[i].Failed = f.spent[i].Failed || failed != nil
	}
	err := e.change(context.WithoutCancel(ctx), "compact", id, func(*live) (store.Change, error) { return store.Change{Spend: f.spent}, nil }, nil)
	return errors.Join(failed, err)
}

// folding is one attempt at a compaction, from the moment the session was looked at to the moment it is published.
type folding struct {
	id       string
	options  CompactOptions
	trigger  string
	log      []session.Message // as it was looked at, up to a pending marker
	size     int               // of the whole log then
	window   []session.Message
	pending  *session.Message // the marker that waited
	commit   []rule.Elision
	ledger   rule.Ledger // with commit
	cut      pivot.Cut
	settings pivot.Settings
	usable   int // 0: unlimited
	overhead int
	replaces int // tokens of what is folded
	request  pivot.Request
	info     session.Info
	pins     []rule.Pin

	answer pivot.Answer
	usages []session.Usage
	spent  []store.Spend
	notes  []string
	began  time.Time
}

// prepare looks at the session and decides what to fold. Nothing is written.
func (e *Engine) prepare(ctx context.Context, id string, o CompactOptions, attempt int) (*folding, error) {
	l, err := e.lock(ctx, "compact", id)
	if err != nil {
		return nil, err
	}
	defer l.mu.Unlock()
	f := &folding{id: id, options: o, log: l.log, size: len(l.log), settings: e.policy.Pivot, info: l.state.Info, pins: l.state.Pins}
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
	state := l.plannerState()
	state.Log, state.Window = f.log, f.window
	plan := e.policy.Plan(state, policy.Occasion{FoldAsked: true, Rejected: f.options.Rejected})
	f.commit = plan.Commit
	f.ledger = l.state.Ledger.With(f.commit...)

	keep := f.settings.Tail(f.usable)
	if attempt > 0 {
		keep, f.settings.UserMessages = 0, f.settings.UserMessages/8
	}
	f.cut = pivot.Find(f.window, f.ledger, l.facts, keep, f.options.Rejected)
	if len(f.cut.Fold) == 0 {
		return nil, &Error{Code: NothingToFold, Op: "compact", Session: id, Err: errors.New("there is nothing to fold"),
			Hint: "the session is empty, or nothing was said since the last summary"}
	}
	if f.cut.Previous != nil {
		f.replaces = view.Message(f.cut.Previous, f.ledger, l.facts)
		f.request.Previous = previousText(f.cut.Previous)
	}
	for i := range f.cut.Fold {
		f.replaces += view.Message(&f.cut.Fold[i], f.ledger, l.facts)
	}
	f.request.SessionID, f.request.Focus, f.request.Directory = id, o.Focus, f.info.Directory
	f.request.Messages = view.Render(f.cut.Fold, f.ledger)
	f.request.Log, f.request.Tail = f.cut.Fold, f.cut.Tail
	f.request.System = pivot.SystemPrompt
	f.request.Instruction = pivot.Instruction(f.settings, f.request.Previous, o.Focus)
	f.request.Budget = answerBudget(f.usable, f.replaces)
	return f, nil
}

// Bounds of a summary, in tokens: below a thousand it says too little, and above eight thousand nobody can keep it in mind.
const minSummary, maxSummary = 1_000, 8_000

// answerBudget is how long a summary may be: a tenth of the window, and never more than half of what it replaces.
func answerBudget(usable, replaces int) int {
	budget := maxSummary
	if usable > 0 {
		budget = min(max(usable/10, minSummary), maxSummary)
	}
	return max(min(budget, replaces/2), 64)
}

// previousText is what a summariser wrote; what the engine carried over under it is written anew.
func previousText(summary *session.Message) string {
	var texts []string
	for i := range summary.Parts {
		p := &summary.Parts[i]
		if n, _ := p.Note(); p.Type == session.TextPart && !n.Carry {
			texts = append(texts, p.Text)
		}
	}
	return strings.Join(texts, "\n\n")
}

func lastUser(log []session.Message) *session.Message {
	if at := session.LastUser(log); at >= 0 {
		return &log[at]
	}
	return nil
}

// summarize asks the summariser, once more if its answer does not count, and the offline one after that. The session is not locked.
func (e *Engine) summarize(ctx context.Context, f *folding) error {
	if hook := e.config.Hooks.Compacting; hook != nil {
		r, err := hook(ctx, Compacting{SessionID: f.id, Auto: f.options.Auto, Rejected: f.options.Rejected, Request: f.request})
		if err != nil {
			return &Error{Code: Cancelled, Op: "compact", Session: f.id, Err: fmt.Errorf("a hook cancelled it: %w", err)}
		}
		if r.Prompt != "" {
			f.request.Instruction = r.Prompt
		}
		if len(r.Context) > 0 {
			f.request.Instruction += "\n\n" + strings.Join(r.Context, "\n")
		}
		if r.Answer != nil {
			f.answer = *r.Answer
			if err := e.valid(f, f.answer); err != nil {
				return &Error{Code: BadSummary, Op: "compact", Session: f.id, Err: fmt.Errorf("the hook's summary does not count: %w", err)}
			}
			return nil
		}
	}
	chosen := e.config.Summarizer
	answer, err := e.ask(ctx, f, chosen, "")
	if err == nil {
		f.answer = answer
		return nil
	}
	if ctx.Err() != nil {
		return e.failed("compact", f.id, ctx.Err())
	}
	own := offline.New()
	if chosen.Name() == own.Name() || !e.policy.Offline {
		return noSummary(f.id, err, chosen.Name() == own.Name())
	}
	f.notes = append(f.notes, fmt.Sprintf("%s gave no summary (%v); the offline summariser wrote it", chosen.Name(), err))
	if answer, err = e.ask(ctx, f, own, ""); err != nil {
		return noSummary(f.id, err, true)
	}
	f.answer = answer
	return nil
}

// noSummary is the error when nobody wrote a summary that counts. Where one is too large for what it replaces, or our own summariser
// found no room to say anything, that is no fault of the summariser's: there is too little to fold.
func noSummary(id string, err error, own bool) error {
	if errors.Is(err, pivot.ErrTooLarge) || own && (errors.Is(err, pivot.ErrHeadings) || errors.Is(err, pivot.ErrEmpty)) {
		return &Error{Code: NothingToFold, Op: "compact", Session: id, Err: fmt.Errorf("there is too little to fold: %w", err),
			Hint: "the session is as small as it gets"}
	}
	return &Error{Code: BadSummary, Op: "compact", Session: id, Err: err, Hint: "the session is as it was"}
}

// ask makes the request fit, asks, and asks once more with what was wrong.
func (e *Engine) ask(ctx context.Context, f *folding, s pivot.Summarizer, wrong string) (pivot.Answer, error) {
	facts := rule.NewFacts(e.config.Counter)
	request := f.request
	if wrong != "" {
		request.Instruction += "\n\nAn earlier answer did not count: " + wrong + "."
	}
	requests, ok := pivot.Fit(request, s.Limit(), facts)
	if !ok {
		return pivot.Answer{}, fmt.Errorf("the request does not fit %s, which takes %s tokens", s.Name(), token.Grouped(s.Limit()))
	}
	var answer pivot.Answer
	for i, r := range requests {
		if i > 0 {
			r.Previous = answer.Text
		}
		var err error
		answer, err = s.Summarize(ctx, r)
		e.spend(f, s, answer, err)
		if err != nil {
			return answer, err
		}
		f.notes = append(f.notes, r.Notes...)
	}
	err := e.valid(f, answer)
	if err != nil && wrong == "" && s.Limit() > 0 {
		f.notes = append(f.notes, fmt.Sprintf("%s: %v; it was asked again", s.Name(), err))
		return e.ask(ctx, f, s, err.Error())
	}
	return answer, err
}

// valid checks an answer. The letter takes whatever was answered, as the specification's program does, but for nothing at all.
func (e *Engine) valid(f *folding, a pivot.Answer) error {
	tokens := e.config.Counter.Count(a.Text)
	if f.settings.Letter {
		if strings.TrimSpace(a.Text) == "" {
			return pivot.ErrEmpty
		}
		return nil
	}
	return pivot.Validate(a, tokens, f.replaces)
}

func (e *Engine) spend(f *folding, s pivot.Summarizer, a pivot.Answer, err error) {
	if a.Usage.Prompt()+a.Usage.Output == 0 && a.Cost == 0 {
		return
	}
	f.usages = append(f.usages, a.Usage)
	f.spent = append(f.spent, store.Spend{
		Time: millis(e.config.Now()), Kind: "summary", Model: s.Name(), Usage: a.Usage, Cost: a.Cost, Failed: err != nil,
	})
}
