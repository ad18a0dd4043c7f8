package winnow

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/plan/pivot"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/plan/view"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/store/edit"
	"github.com/winnowhq/winnow/store/fold"
	"github.com/winnowhq/winnow/store/report"
	"github.com/winnowhq/winnow/summarize/ask"
	"github.com/winnowhq/winnow/text/span"
)

// CompactOptions say how to fold.
type CompactOptions struct {
	// Auto appends the synthetic "continue" afterwards, so that an agent goes on by itself.
	Auto bool
	// Rejected repeats the newest user message after the summary, because the provider refused its
	// turn.
	Rejected bool
	// Focus is what the summary is to dwell on.
	Focus string
	// To is how many tokens the view may have afterwards, system prompt and tools not counted: less
	// is kept word for word, and the summary is shorter. 0 is without a bound but the model's
	// window. What cannot be made so small ends in NoProgress, and the session is as it was. A
	// policy that folds by the letter keeps nothing else, and is not bound by it.
	To int
	// Later only appends a marker: "compact here", to be executed by a later Compact. At most one
	// waits; a second request changes nothing. There is no receipt.
	Later bool
	// Agent and Model are those of a marker that Later appends (S001 create): Model is asked for
	// the summary, unless compaction.model names another. Default: those of the last user message.
	Agent string
	Model *session.ModelRef
	// Waiting only executes a marker that waits; without one nothing is done, and there is no
	// receipt. A loop does this before each step (S001, the loop's order). A marker whose
	// compaction fails is withdrawn, unless the context has ended: the error comes once, and the
	// session is as it was before the marker.
	Waiting bool
	// Prepared only makes a summary count that Prepare has written; while there is none nothing is
	// done, and there is no receipt. See Prepare.
	Prepared bool
	// AtTurnEnd only notes that the past is to be folded when the agent's turn has ended: EndTurn
	// does it, once, unless it was folded meanwhile. The summary keeps Focus; of two notes
	// the newer one counts. There is no receipt yet.
	AtTurnEnd bool
	// KeepSecrets leaves keys, tokens and passwords in what is written under the pivot as they are.
	// Otherwise those of a known shape are masked there, but for what is pinned; the log keeps them
	// either way.
	KeepSecrets bool
	// Review is given the summary before it counts, and gives the one that is to count, as a person
	// may edit it. Its error, or no text, cancels the compaction, and the session is as it was. It is
	// asked once for each summary that is written; one that Prepare has written is not used. nil: the
	// summary counts as it is.
	Review func(ctx context.Context, summary string) (string, error)
}

// Compact prunes, folds the past into a summary, and publishes marker, summary and what follows
// from them in one transaction. Until then the session is as it was, whatever fails. A pending
// marker is executed; without one it is made. Where pruning leaves too little to fold, it is what
// is done, and the receipt is of the kind Pruning.
//
// Errors: NothingToFold (it wraps fold.ErrNothingNew where nothing was said since the last summary; with
// CompactOptions.To or Focus it is written anew, from the log), NoProgress (folding would not
// shrink the view), BadSummary, BadConfig (no model can be asked, and one must be), Cancelled,
// NotFound, Busy.
func (e *Engine) Compact(ctx context.Context, id string, o CompactOptions) (*pivot.Receipt, error) {
	switch {
	case o.AtTurnEnd:
		return nil, e.askAtTurnEnd(ctx, id, o.Focus)
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
			e.emit(id, Event{Type: MessageAppended, Message: queued[i].ID})
		}
	})
	return marker, err
}

// askedMember is the member of a session's info that says that a compaction was asked for.
const askedMember = "winnowCompactionAsked"

// asked is a compaction that was asked for, to be made when the turn has ended.
type asked struct {
	Focus string         `json:"focus,omitzero"`
	Time  session.Millis `json:"time"`
}

// askAtTurnEnd notes that a compaction is to be made when the turn has ended.
func (e *Engine) askAtTurnEnd(ctx context.Context, id, focus string) error {
	return e.setOwn(ctx, id, map[string]jsontext.Value{
		askedMember: span.Make("focus", focus, "time", millis(e.config.Now())),
	})
}

// compactAsked makes the compaction that was asked for, now that the turn has ended. One that cannot
// be made is a refusal: it is not tried again.
func (e *Engine) compactAsked(ctx context.Context, id string, out *Outcome) error {
	var a asked
	done := false
	err := e.locked(ctx, "compact", id, func(l *live) {
		if json.Unmarshal(span.Get([]byte(l.state.Info.Unknown), askedMember), &a) != nil {
			a = asked{} // nothing was asked for
		}
		done = slices.ContainsFunc(l.state.Receipts, func(r pivot.Receipt) bool {
			return r.Kind == pivot.Compaction && r.Time > a.Time
		})
	})
	if err != nil || a.Time == 0 {
		return err
	}
	if !done {
		receipt, err := e.compact(ctx, id, CompactOptions{Focus: a.Focus}, "asked")
		switch {
		case err != nil && (ctx.Err() != nil || !slices.Contains(finalCodes, CodeOf(err))):
			return err
		case err != nil:
			out.Refusals = append(out.Refusals, rule.Refusal{Code: CodeOf(err),
				Reason: "a compaction was asked for: " + reason(err)})
		case receipt.Kind == pivot.Compaction:
			out.Compacted = receipt
		default:
			out.Pruned = receipt
		}
	}
	return e.changeInfo(ctx, "compact", id, func(_ *live, info *session.Info) error {
		info.Unknown = jsontext.Value(span.Remove([]byte(info.Unknown), false, askedMember))
		return nil
	})
}

// finalCodes are the errors of a compaction that would fail in the same way again.
var finalCodes = []rule.Code{NothingToFold, NoProgress, BadSummary, BadConfig, Cancelled}

// execute makes the compaction that waits. One that fails, or folds nothing, is withdrawn: its
// marker counts no more and the session is as it was before it, so that no loop tries it for ever.
// It waits on where ctx has ended, another process was quicker, or the store cannot be written.
func (e *Engine) execute(ctx context.Context, id string, o CompactOptions) (*pivot.Receipt, error) {
	marker, trigger := "", "manual"
	err := e.locked(ctx, "compact", id, func(l *live) {
		at := view.Pending(l.log, l.state.Undone)
		if at < 0 {
			return
		}
		marker = l.log[at].ID
		switch m := l.log[at].Marker(); {
		case m.Overflow:
			trigger = "rejected"
		case m.Auto && e.overflowed(l, at):
			trigger = "threshold"
		}
	})
	if err != nil || marker == "" {
		return nil, err
	}
	receipt, failed := e.compact(ctx, id, o, trigger)
	folded := failed == nil && receipt.Kind == pivot.Compaction
	if folded || ctx.Err() != nil || failed != nil && !slices.Contains(finalCodes, CodeOf(failed)) {
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
	at := session.LastStep(log)
	return at >= 0 && log[at].Tokens != nil &&
		l.policy.Budget.Check(l.model, *log[at].Tokens, report.Pending(log, at, l.facts)).Overflow
}

func (e *Engine) compact(ctx context.Context, id string, o CompactOptions, trigger string) (*pivot.Receipt, error) {
	defer e.beginFold(id)()
	if o.Review == nil {
		if receipt, err := e.usePrepared(ctx, id, o, trigger); receipt != nil || err != nil {
			return receipt, err
		}
	}
	e.emit(id, Event{Type: CompactionStarted})
	receipt, err := e.fold(ctx, id, o, trigger)
	if err != nil {
		e.emit(id, Event{Type: CompactionFailed, Text: err.Error(), Code: CodeOf(err)})
		return nil, err
	}
	if receipt.Kind == pivot.Pruning {
		return receipt, nil // its event was published with the commit
	}
	e.compacted(receipt)
	return receipt, nil
}

// fold makes at most two attempts: the second keeps only the last exchange and carries less over,
// for when the first did not shrink the view or did not bring it below its budget.
func (e *Engine) fold(ctx context.Context, id string, o CompactOptions, trigger string) (*pivot.Receipt, error) {
	began := e.config.Now()
	record := &ask.Record{}
	var before *attempt
	for {
		a, err := e.plan(ctx, id, o, before != nil)
		if a != nil {
			a.trigger, a.began, a.record = trigger, began, record
		}
		if CodeOf(err) == NothingToFold {
			record.Waste()
			if receipt, failed := e.shortenRefused(ctx, a); receipt != nil {
				return receipt, nil
			} else if failed != nil {
				return nil, e.unpublished(ctx, id, record, failed)
			}
		}
		switch {
		case err == nil && a.repeats != nil && trigger == "manual" && before == nil:
			return nil, a.repeats // what folds by itself has measured that it must
		case err != nil && (before != nil || !a.prunesAfter(err)):
			return nil, e.unpublished(ctx, id, record, err)
		case err != nil:
			return e.pruneInstead(ctx, a, err)
		case before != nil && before.answer.Text != "" && a.SameFold(before.Plan):
			// it was paid for; what differs is what is carried over beside it
			a.answer, a.struck = before.answer, before.struck
		default:
			if err = e.summarize(ctx, a); err == nil && o.Review != nil {
				err = e.review(ctx, a, o.Review)
			}
		}
		if err == nil {
			var receipt *pivot.Receipt
			if receipt, err = e.publish(ctx, a); err == nil {
				return receipt, nil
			}
		}
		small := tooLittle(err)
		switch {
		case small && before == nil && !e.policy.Pivot.SummaryAlone:
			before = a
			continue
		case small && a.Options.Rejected:
			record.Waste()
			if receipt, failed := e.shortenRefused(ctx, a); receipt != nil {
				return receipt, nil // with what the attempts took
			} else if failed != nil {
				return nil, e.unpublished(ctx, id, record, failed)
			}
		case a.prunesAfter(err):
			return e.pruneInstead(ctx, a, err)
		}
		return nil, e.unpublished(ctx, id, record, err)
	}
}

// tooLittle reports whether a fold failed because there is too little to fold, or to gain.
func tooLittle(err error) bool { return CodeOf(err) == NoProgress || CodeOf(err) == NothingToFold }

// prunesAfter reports whether a fold that ended in an error leaves elisions that are worth
// committing by themselves: folding does not help, often because so much can be elided.
func (a *attempt) prunesAfter(err error) bool {
	return a != nil && tooLittle(err) && !errors.Is(err, fold.ErrNothingNew) &&
		len(a.Commit) > 0 && a.Options.To == 0
}

// pruneInstead commits the elisions of a fold that did not come about, which is what was to be had.
func (e *Engine) pruneInstead(ctx context.Context, a *attempt, why error) (*pivot.Receipt, error) {
	a.record.Waste()
	receipt, err := e.commit(ctx, a.ID, a.Commit, a.trigger, a.record, "nothing was folded: "+reason(why))
	if err != nil {
		return nil, e.unpublished(ctx, a.ID, a.record, err)
	}
	return receipt, nil
}

// shortenRefused is for a request that was refused as too long where folding does not help: what of
// it was never sent is shown in part, and what can be left out is. nil without an error where that
// is nothing, too, and where nothing was refused. What the attempts at a fold took is part of it.
func (e *Engine) shortenRefused(ctx context.Context, a *attempt) (*pivot.Receipt, error) {
	if !a.Options.Rejected || a.Settings.SummaryAlone {
		return nil, nil
	}
	var found []rule.Elision
	err := e.locked(ctx, "compact", a.ID, func(l *live) {
		found = a.ShortenRefused(e.current(l), millis(e.config.Now()))
	})
	if err != nil || len(found) == 0 {
		return nil, err
	}
	return e.commit(ctx, a.ID, found, a.trigger, a.record,
		"nothing was folded: there is too little but what was never sent, "+
			"and what was too long of that is shown in part")
}
