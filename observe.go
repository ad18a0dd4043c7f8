package winnow

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/winnowhq/winnow/model/bill"
	"github.com/winnowhq/winnow/plan/budget"
	"github.com/winnowhq/winnow/plan/pivot"
	"github.com/winnowhq/winnow/plan/policy"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/plan/schedule"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/store/fold"
	"github.com/winnowhq/winnow/store/report"
	"github.com/winnowhq/winnow/text/quantity"
)

// Outcome is what the engine did about a step, a turn or a rejection.
type Outcome struct {
	// Verdict is how full the window is, after a step.
	Verdict budget.Verdict
	// Pruned and Compacted are the receipts of what was done, nil when it was not.
	Pruned, Compacted *pivot.Receipt
	// Queued is the id of the marker of a compaction that waits for Compact with Waiting: see
	// Config.Queue.
	Queued string
	// Prepare: a fold is near. If the program calls Engine.Prepare now, beside its work, and
	// Compact with Prepared between its steps, no request waits for the summary. Nothing else
	// depends on it.
	Prepare bool
	// Pivot is the id of the marker that the view begins with after a step, "" if nothing is
	// folded: with the session it names the summary that is to be prepared.
	Pivot string
	// Refusals say what was not done, and why.
	Refusals []rule.Refusal
}

// Observe takes the usage that the provider reported for the newest finished step of the session,
// and does what has to be done about it: when the window overflows, old outputs are pruned and the
// past is folded (S001 loop, 2 and 1), or queued to be folded (Config.Queue). The step's message
// must be appended. An error of a compaction leaves the session as it was; the usage is recorded
// all the same.
//
// When a compaction did not bring the window below its budget twice in a row, the error has the
// code NoProgress and names what no compaction can remove. There is no third attempt until a step
// fits.
//
// spent is written down with it, in the same transaction: requests beside the step; and one of the
// kind "step" with Live, which tells more of the step itself.
func (e *Engine) Observe(ctx context.Context, id string, usage session.Usage, spent ...store.Spend) (Outcome, error) {
	var out Outcome
	var plan policy.Decision
	var tries int
	var written []store.Spend
	var later bool
	err := e.change(ctx, "observe", id, func(l *live) (store.Change, error) {
		at := session.LastStep(l.log)
		if at < 0 {
			return store.Change{}, fail(BadInput, "observe", id, "append the step's message first",
				"no assistant message to report for")
		}
		m := l.log[at]
		cost, priced := l.model.Cost(bill.Usage(usage))
		m.Tokens = &usage
		if m.Cost == nil && priced {
			m.Cost = &cost
		}
		step := store.Spend{Time: millis(e.config.Now()), Kind: "step", Message: m.ID, Model: l.model.String(),
			Usage: usage, Cost: cost}
		beside := slices.DeleteFunc(slices.Clone(spent), func(s store.Spend) bool {
			own := s.Kind == "step" && s.Live != nil
			if own {
				step.Live = s.Live
			}
			return own
		})
		written = append(beside, step)
		c := store.Change{Spend: written}
		if was := &l.log[at]; m.Cost != was.Cost || !reflect.DeepEqual(m.Tokens, was.Tokens) {
			c.Update = []session.Message{m} // else it came with its usage
		}
		return c, nil
	}, func(l *live) {
		e.emitSpent(id, written)
		if doubt := l.policy.Budget.Doubt(l.model); doubt != "" && !l.warned {
			l.warned = true
			e.emit(id, Event{Type: BudgetWarning, Text: doubt})
		}
		at := session.LastStep(l.log)
		e.learn(l, usage, at)
		e.warnOfCut(l)
		plan = l.policy.Plan(l.plannerState(), policy.Occasion{
			StepEnded: true, Usage: usage, Summary: l.log[at].IsSummary(), Pending: report.Pending(l.log, at, l.facts),
			GoesOn: called(&l.log[at]),
		})
		out.Verdict, out.Refusals = plan.Verdict, plan.Refusals
		out.Prepare = plan.Prepare && l.summaryWanted() && e.asks() && !e.isPreparing(id)
		out.Pivot, later = l.pivot(), report.Postponed(l.state.Info)
		// What was sent did fit, whatever came of it: the compaction before it did help.
		if !plan.Verdict.Overflow || !l.policy.Budget.Check(l.model, usage, 0).Overflow {
			l.turn.folds = 0
		}
		if plan.Fold {
			l.turn.folds++
		}
		tries = l.turn.folds
	})
	if err != nil {
		return out, err
	}
	if out.Prepare && e.config.NoteWanted {
		if err := e.noteWanted(ctx, id); err != nil {
			out.Prepare = false // the next step says so again
			e.preparationFailed(id, err)
		}
	}
	defer func() {
		if plan.Fold && out.Compacted == nil {
			e.uncountFold(ctx, id, err)
		}
	}()
	e.announce(id, out.Verdict, later)
	if len(plan.Commit) > 0 {
		trigger := e.bySchedule()
		if plan.Verdict.Overflow {
			trigger = "threshold"
		}
		if out.Pruned, err = e.commit(ctx, id, plan.Commit, trigger, nil); err != nil {
			return out, err
		}
	}
	if !plan.Fold {
		return out, nil
	}
	if tries > 2 {
		return out, e.noMoreAttempts(ctx, id, out.Verdict.Total, out.Verdict.Usable)
	}
	if !plan.Pays && e.config.Queue && e.policy.Pivot.SummaryAlone {
		out.Queued, err = e.schedule(ctx, id, CompactOptions{Auto: true})
		return out, err
	}
	if !plan.Pays {
		out.Compacted, err = e.compact(ctx, id, CompactOptions{Auto: true}, "threshold")
		return out, err
	}
	if out.Compacted, err = e.compact(ctx, id, CompactOptions{Auto: true}, "pays"); err != nil {
		return out, e.postponeFold(ctx, id, &out, err)
	}
	return out, nil
}

// postponeFold is for a fold that was to pay and failed. Nothing forces it: where there was nothing
// to gain that is no error, and the next attempt comes when as much was paid again as led to this
// one.
func (e *Engine) postponeFold(ctx context.Context, id string, out *Outcome, failed error) error {
	if errors.Is(failed, store.ErrConflict) {
		return failed // the next step folds
	}
	err := e.locked(context.WithoutCancel(ctx), "compact", id, func(l *live) {
		l.meter.account.SincePivot, l.meter.account.Carried = 0, 0
	})
	if err != nil || !tooLittle(failed) {
		return failed
	}
	out.Refusals = append(out.Refusals, rule.Refusal{Code: rule.NoProgress,
		Reason: "folding was to pay: " + reason(failed)})
	return nil
}

// BeginOptions say what Begin may do.
type BeginOptions struct {
	// Held: nothing that was sent before may change, also when the cache is cold. What was never
	// sent may be shown in part all the same.
	Held bool
	// Fold: where no model is asked for summaries, the past may be folded before the request, for
	// the reasons for which Observe folds it. It is for a program that learns what calls gave back
	// with the next request only, so that Observe knows nothing of it. Where the provider's cache is
	// cold and compaction.coldFold is set, every program's past may be.
	Fold bool
}

// Begin says that a request is about to be sent, before its View is taken: the moment at which it
// is known whether the provider's cache still has what was sent before. Where it has not, because
// the session was idle for longer than the cache lives, another model is to answer, or nothing was
// sent yet, what can go goes now, for writing the prompt anew must be paid anyway. Else what pays
// goes, by the policy's schedule. A program that does not call it leaves the decision to Observe,
// which decides after a step that called tools, and misses the cold moments.
//
// What no request has had yet may be shown in part from the beginning, at no cost: see
// rule.FirstSend. At most one BeginOptions counts.
func (e *Engine) Begin(ctx context.Context, id string, options ...BeginOptions) (Outcome, error) {
	var o BeginOptions
	if len(options) > 0 {
		o = options[0]
	}
	waits := e.asks() || e.config.Queue && e.policy.Pivot.SummaryAlone
	o.Fold = o.Fold && !o.Held && !(e.policy.Auto && waits)
	plan, occasion, tries, err := e.planRequest(ctx, id, o, e.policy.ColdFold > 0 && !o.Held)
	if err != nil {
		return Outcome{}, err
	}
	var out Outcome
	if occasion.Folds && plan.Fold {
		if tries <= 2 {
			if err := e.foldNow(ctx, id, plan, &out); err != nil {
				return out, err
			}
		}
		o.Fold = false
		if plan, occasion, _, err = e.planRequest(ctx, id, o, false); err != nil {
			return out, err
		}
	}
	out.Refusals = append(out.Refusals, plan.Refusals...)
	if len(plan.Commit) > 0 {
		trigger := e.bySchedule()
		if occasion.Cold && !e.policy.Pivot.SummaryAlone {
			trigger = "cold"
		}
		if plan.First == len(plan.Commit) {
			trigger = pivot.FirstSend
		}
		out.Pruned, err = e.commit(ctx, id, plan.Commit, trigger, nil)
	}
	return out, err
}

// planRequest plans what is done before a request. tries are the attempts to fold since one helped,
// with the one that is planned. cold: a fold may come where the cache is cold.
func (e *Engine) planRequest(ctx context.Context, id string, o BeginOptions, cold bool) (
	plan policy.Decision, occasion policy.Occasion, tries int, err error,
) {
	err = e.locked(ctx, "begin", id, func(l *live) {
		var state policy.State
		state, occasion = e.starting(l)
		occasion.Held, occasion.Folds = o.Held, o.Fold || cold && occasion.Cold
		plan = l.policy.Plan(state, occasion)
		if occasion.Folds && plan.Fold {
			l.turn.folds++
		}
		tries = l.turn.folds
	})
	return plan, occasion, tries, err
}

// foldNow folds before a request, by a plan. Where nothing can be folded that is no error: the
// request goes on as it is.
func (e *Engine) foldNow(ctx context.Context, id string, plan policy.Decision, out *Outcome) (err error) {
	trigger := "threshold"
	if plan.Pays {
		trigger = "pays"
	}
	if out.Compacted, err = e.compact(ctx, id, CompactOptions{Auto: true}, trigger); err == nil {
		return nil
	}
	e.uncountFold(ctx, id, err)
	if plan.Pays {
		return e.postponeFold(ctx, id, out, err)
	}
	if !tooLittle(err) {
		return err
	}
	out.Refusals = append(out.Refusals, rule.Refusal{Code: CodeOf(err), Reason: "the window overflows: " + reason(err)})
	return nil
}

// EndTurn says that the loop ended a turn: a compaction that was asked for is made (CompactOptions,
// AtTurnEnd), and old tool outputs are pruned if it is worth it (S001 phase 2).
func (e *Engine) EndTurn(ctx context.Context, id string) (Outcome, error) {
	var asked Outcome
	if err := e.compactAsked(ctx, id, &asked); err != nil || asked.Compacted != nil || asked.Pruned != nil {
		return asked, err
	}
	out, err := e.prune(ctx, id, policy.Occasion{TurnEnded: true}, "turn")
	out.Refusals = append(asked.Refusals, out.Refusals...)
	return out, err
}

// Prune prunes on demand. Where compaction.prune is off it does nothing, as S001's prune, and has
// the refusal Disabled; force prunes all the same.
func (e *Engine) Prune(ctx context.Context, id string, force bool) (Outcome, error) {
	return e.prune(ctx, id, policy.Occasion{PruneAsked: true, PruneForced: force, TurnEnded: true}, "manual")
}

func (e *Engine) prune(ctx context.Context, id string, o policy.Occasion, trigger string) (Outcome, error) {
	var plan policy.Decision
	err := e.locked(ctx, "prune", id, func(l *live) { plan = l.policy.Plan(l.plannerState(), o) })
	if err != nil {
		return Outcome{}, err
	}
	out := Outcome{Refusals: plan.Refusals}
	if len(plan.Commit) > 0 {
		out.Pruned, err = e.commit(ctx, id, plan.Commit, trigger, nil)
	}
	return out, err
}

// Rejected tells that the provider refused the view as too long, whatever the numbers said. The
// past is folded and the refused message repeated after the summary; the caller then sends the new
// view. With compaction.auto off, and when folding does not help, the error has the code TooLong or
// NoProgress. An error that is no such refusal is not the engine's to handle: ok is false.
func (e *Engine) Rejected(ctx context.Context, id string, r budget.Rejection) (out Outcome, ok bool, err error) {
	if !budget.Rejected(r) {
		return Outcome{}, false, nil
	}
	var plan policy.Decision
	var tries, size, usable int
	err = e.locked(ctx, "compact", id, func(l *live) {
		plan = l.policy.Plan(l.plannerState(), policy.Occasion{Rejected: true})
		l.turn.folds++
		tries, size = l.turn.folds, l.look().Tokens()+l.overhead()
		usable = l.policy.Budget.Usable(l.model).Threshold
	})
	if err != nil {
		return Outcome{}, true, err
	}
	out.Refusals = plan.Refusals
	out.Verdict = budget.Verdict{Overflow: true, Total: size, Usable: usable, Code: budget.CodeOverflow,
		Reason: "the provider rejected the request as too long"}
	e.announce(id, out.Verdict, false)
	switch {
	case !plan.Fold:
		return out, true, fail(TooLong, "compact", id, "compact the session, or set compaction.auto to true",
			"the provider rejected the request as too long, and compaction.auto is off")
	case tries > 2:
		return out, true, e.noMoreAttempts(ctx, id, size, 0)
	}
	if out.Compacted, err = e.compact(ctx, id, CompactOptions{Auto: true, Rejected: true}, "rejected"); err != nil {
		e.uncountFold(ctx, id, err)
	}
	return out, true, err
}

// uncountFold takes an attempt to fold back if the caller has stopped it, or somebody else was
// quicker: it says nothing about whether folding helps.
func (e *Engine) uncountFold(ctx context.Context, id string, failed error) {
	if ctx.Err() == nil && !errors.Is(failed, store.ErrConflict) {
		return
	}
	// An error changes nothing: there is no attempt at hand to take back.
	_ = e.locked(context.WithoutCancel(ctx), "compact", id, func(l *live) { l.turn.folds = max(0, l.turn.folds-1) })
}

// noMoreAttempts is the error that ends the attempts.
func (e *Engine) noMoreAttempts(ctx context.Context, id string, size, usable int) error {
	failed := fail(NoProgress, "compact", id, "",
		"two compactions in a row did not bring it below its budget: still %s tokens",
		quantity.Number(size))
	if usable > 0 {
		failed.Err = fmt.Errorf("%w of %s usable", failed.Err, quantity.Number(usable))
	}
	// An error leaves it without the hint.
	_ = e.locked(ctx, "compact", id, func(l *live) {
		failed.Hint = fold.Unremovable(fold.Floor(e.current(l), l.window(), l.state.Ledger))
	})
	return failed
}

// announce tells of a window that fills up, unless that was postponed, or overflows.
func (e *Engine) announce(id string, v budget.Verdict, later bool) {
	event := Event{Type: BudgetWarning, Verdict: &v, Text: v.Reason}
	switch {
	case v.Overflow:
		event.Type = BudgetOverflow
	case later || v.Usable <= 0 || float64(v.Total) < budget.WarnAt*float64(v.Usable) || v.Code != budget.CodeFits:
		return
	}
	e.emit(id, event)
}

// bySchedule is the trigger of a commit that nothing but the schedule called for.
func (e *Engine) bySchedule() string {
	if e.policy.Schedule.Name() == (schedule.Economic{}).Name() {
		return "pays"
	}
	return "step"
}
