package policy

import (
	"slices"

	"github.com/winnowhq/winnow/model"
	"github.com/winnowhq/winnow/plan/budget"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/plan/rule/letter"
	"github.com/winnowhq/winnow/plan/schedule"
	"github.com/winnowhq/winnow/plan/view"
	"github.com/winnowhq/winnow/session"
)

// State is what a plan is made from. The planner changes none of it.
type State struct {
	Log    []session.Message
	Window []session.Message // of the log, as view.Window gives it
	Ledger rule.Ledger
	Pins   []rule.Pin
	Facts  *rule.Facts
	Model  model.Model
	// Shown is the size of the rendered window with whatever is shown beside the log, in tokens; 0:
	// measured from Window and Ledger.
	Shown int
	// Handles name the parts of the log; nil: made from the window.
	Handles *rule.Handles
	// Restored are elisions that somebody took back: only when asked are they made again.
	Restored map[rule.Key]bool
	// Found remembers what the rules find, for another plan by the same policy while log and ledger
	// stay as they are; nil: they are asked each time. Unexplained: nobody reads why something
	// waits or stays, and Refusals may not say it.
	Found       *Found
	Unexplained bool
	// Account is what a schedule that weighs cost must know of the session's requests. Without it
	// such a schedule acts on free moments only.
	Account schedule.Account
}

// Found is what the rules found, if they were asked. The zero value knows nothing.
type Found struct {
	found rule.Found
	known bool
}

// Occasion is why a plan is made.
type Occasion struct {
	// StepEnded: a step was finished, and Usage reported for it. Pending is an estimate of what was
	// appended since, in tokens.
	StepEnded bool
	Usage     session.Usage
	Pending   int
	// Summary: the step was a summary, which is never checked.
	Summary bool
	// TurnEnded: the loop ended a turn.
	TurnEnded bool
	// Rejected: the provider refused the request as too long.
	Rejected bool
	// PruneAsked, FoldAsked: somebody asked for it. PruneForced: also where compaction.prune is
	// off.
	PruneAsked, FoldAsked, PruneForced bool
	// Starting: a request is about to be sent. With the Usage of the step before it, of which no
	// more was left out since, the window is checked again if the policy folds by itself: by now
	// Pending has the results of its calls and what the user said. Held: nothing that was sent
	// before may change for it, whatever that would save.
	Starting, Held bool
	// Folds: before a request that is starting a fold may come, as after a step: its summary is
	// there at once.
	Folds bool
	// GoesOn: the step that ended called tools, so that the next request follows at once.
	GoesOn bool
	// Cold: the provider's cache holds nothing of the prompt.
	Cold bool
}

// Decision is what to do next. Nothing of it has happened yet.
type Decision struct {
	Commit []rule.Elision
	// First is how many of Commit, at its end, are of what no request has had yet, and change
	// nothing that was sent.
	First int
	// Fold: make a pivot now. Pays: not because the window would overflow, but because it has
	// become worth its cost.
	Fold, Pays bool
	// Prepare: a fold is near; a summary that is written from now on, beside the work, is there
	// when it comes.
	Prepare bool
	// Verdict is how full the window is, of occasions that have a usage.
	Verdict budget.Verdict
	// Refusals say what was not done, and why.
	Refusals []rule.Refusal
}

// Plan decides.
//
// The classic policy checks for overflow after a step and folds, and prunes when a turn ends. The
// others prune first when the window would overflow, and fold only if that is not enough.
func (p Policy) Plan(s State, o Occasion) Decision {
	var d Decision
	over := false
	// A model that binds its reasoning must not lose that of a tool round on the way.
	again := o.Starting && (p.Auto || o.Folds) && !s.Model.BoundReasoning && o.Usage.Prompt() > 0
	if (o.StepEnded || again) && !o.Summary {
		d.Verdict, over = p.Overflows(s, o.Usage, o.Pending)
	}
	if o.Rejected {
		over = p.Auto
		if !p.Auto {
			d.Refusals = append(d.Refusals, rule.Refusal{Code: rule.Disabled,
				Reason: "the request was rejected as too long, and automatic compaction is off"})
		}
	}
	letter := p.Pivot.SummaryAlone
	moment := p.moment(s, o, over)
	p.Prune = p.Prune || o.PruneForced
	off := p.off() || o.PruneAsked && !p.Prune
	if !off && !o.Held && p.Schedule.Ready(moment) {
		found := p.Find(s)
		if !o.PruneAsked {
			found = s.leave(found)
		}
		d.Refusals = append(d.Refusals, found.Refusals...)
		d.Commit = p.Schedule.Choose(found.Elisions, moment)
		chosen := d.Commit
		d.Commit = append(d.Commit[:len(d.Commit):len(d.Commit)], s.Unbound(d.Commit)...)
		if !s.Unexplained {
			if waiting := without(found.Elisions, chosen); rule.Saves(waiting) > 0 {
				refusal := schedule.Summary(schedule.Explain(p.Schedule, waiting, moment))
				refusal.Tokens = rule.Saves(waiting)
				d.Refusals = append(d.Refusals, refusal)
			}
		}
	} else if o.TurnEnded && off {
		d.Refusals = append(d.Refusals, rule.Refusal{Code: rule.Disabled, Reason: "pruning is off (compaction.prune)"})
	}
	first := p.firstSend(s, o, d.Commit)
	d.Commit, d.First = append(d.Commit, first...), len(first)
	d.Fold = o.FoldAsked || over && p.Auto
	pays := p.Auto && (o.StepEnded || o.Starting && o.Folds) && !o.Summary && p.foldPays(s) ||
		p.Auto && o.Starting && o.Folds && o.Cold && p.foldsCold(s)
	d.Fold, d.Pays = d.Fold || pays, pays && !over
	d.Prepare = !d.Fold && o.StepEnded && !o.Summary && p.prepares(s, o, d.Verdict)
	if d.Fold && over && !pays && !letter && !o.FoldAsked && !o.Rejected && len(d.Commit) > 0 {
		d.Fold = d.Verdict.Total-rule.Saves(d.Commit) >= p.enough(d.Verdict.Usable)
	}
	if d.Fold && !letter && !o.FoldAsked {
		d.Commit = nil // the fold takes it along: its request can still be read from the cache then
	}
	return d
}

// enough is the size from which on a fold must come although parts could be left out, in a window
// of usable tokens. Where cost is weighed it is half of the window: what is left beyond that is
// carried until the fold comes all the same, which would have been cheaper now.
func (p Policy) enough(usable int) int {
	if p.weighs() {
		return usable / 2
	}
	return usable
}

// Overflows is the verdict on what was reported for a step, and whether the window overflows by it.
// Where the report cannot be of one request, what the view itself takes decides.
func (p Policy) Overflows(s State, u session.Usage, pending int) (v budget.Verdict, over bool) {
	v = p.Budget.Check(s.Model, u, pending)
	if v.Code != budget.CodeDoubtful {
		return v, v.Overflow
	}
	size := s.Shown
	if size == 0 {
		size = view.Tokens(s.Window, s.Ledger, s.Facts)
	}
	return v, size >= v.Usable
}

// moment is what the schedule is told of an occasion.
func (p Policy) moment(s State, o Occasion, over bool) schedule.Moment {
	letter := p.Pivot.SummaryAlone
	now := schedule.Moment{
		TurnEnded: o.TurnEnded, Asked: o.PruneAsked || o.FoldAsked && !letter, Pressure: over && !letter,
		Cold:   o.Cold && !letter,
		Paying: o.Starting || o.StepEnded && o.GoesOn, Account: s.Account,
		Age: func(e rule.Elision) int { return s.Facts.Age(s.Window, e) },
	}
	_, eager := p.Schedule.(schedule.Eager)
	now.Bound = s.Model.BoundReasoning && !(letter && eager) // the letter knows of no such model
	now.Read, now.Write, _ = s.Model.Terms(s.Account.Base + s.Account.Size)
	return now
}

// without are the elisions that are not among those chosen from them.
func without(found, chosen []rule.Elision) []rule.Elision {
	if len(chosen) == 0 || len(chosen) == len(found) {
		return found[len(chosen):]
	}
	taken := make(map[rule.Key]bool, len(chosen))
	for _, e := range chosen {
		taken[e.Key()] = true
	}
	var left []rule.Elision
	for _, e := range found {
		if !taken[e.Key()] {
			left = append(left, e)
		}
	}
	return left
}

// Waits says of each elision that was found why it would not be committed on an occasion; the zero
// Wait is of what would be.
func (p Policy) Waits(s State, o Occasion, found []rule.Elision) []schedule.Wait {
	waits := make([]schedule.Wait, len(found))
	at := map[rule.Key]int{}
	var open []rule.Elision
	for i, e := range found {
		switch {
		case s.Restored[e.Key()] && !o.PruneAsked:
			waits[i] = schedule.Wait{Code: rule.Restored, Parts: 1, Saves: e.Saves}
		case p.off():
			waits[i] = schedule.Wait{Code: rule.Disabled, Parts: 1, Saves: e.Saves}
		default:
			at[e.Key()] = i
			open = append(open, e)
		}
	}
	now := p.moment(s, o, false)
	left := without(open, p.Schedule.Choose(open, now))
	for i, w := range schedule.Explain(p.Schedule, left, now) {
		waits[at[left[i].Key()]] = w
	}
	return waits
}

// leave drops what somebody took back.
func (s State) leave(found rule.Found) rule.Found {
	if len(s.Restored) == 0 {
		return found
	}
	kept := rule.Found{Refusals: found.Refusals}
	for _, e := range found.Elisions {
		if s.Restored[e.Key()] {
			kept.Refusals = append(kept.Refusals, rule.Refusal{
				Code: rule.Restored, Rule: e.Rule, Part: e.Part,
				Reason: "it was restored; pruning on demand takes it again", Tokens: e.Saves,
			})
			continue
		}
		kept.Elisions = append(kept.Elisions, e)
	}
	return kept
}

// Find runs the rules and settles what they found.
func (p Policy) Find(s State) rule.Found {
	if s.Found == nil {
		return p.find(s)
	}
	if !s.Found.known {
		s.Found.found, s.Found.known = p.find(s), true
	}
	return rule.Found{Elisions: slices.Clip(s.Found.found.Elisions), Refusals: slices.Clip(s.Found.found.Refusals)}
}

func (p Policy) find(s State) rule.Found {
	w := p.window(s)
	if p.goesOn() {
		found := rule.Decide(w, p.strategies())
		found.Refusals = append(found.Refusals, rule.Refusal{Code: rule.Disabled, Rule: guardedBackward{}.Name(),
			Reason: "the backward scan is off (compaction.prune)"})
		return found
	}
	return rule.Decide(w, p.Rules)
}

// window is what the rules look at.
func (p Policy) window(s State) rule.Window {
	w := rule.Window{Messages: s.Window, Ledger: s.Ledger, Pins: s.Pins, Facts: s.Facts, Guard: p.Guard,
		Handles: s.Handles, After: p.After, Outline: p.Outline, Unexplained: s.Unexplained}
	if p.Log {
		w.Messages = s.Log
	}
	return w
}

// off reports whether compaction.prune keeps the policy from pruning by itself.
func (p Policy) off() bool { return !p.Prune && !p.goesOn() }

// goesOn reports whether the strategies go on although compaction.prune is off: by the letter it
// switches off S001's prune, the backward scan, and knows nothing of S002's strategies. Under
// balanced it is the switch of everything that is left out.
func (p Policy) goesOn() bool { return !p.Prune && p.Pivot.SummaryAlone && len(p.strategies()) > 0 }

// strategies are the rules of the letter but its backward scan, the last of them.
func (p Policy) strategies() []rule.Rule {
	if n := len(p.Rules) - 1; n >= 0 {
		if _, scan := p.Rules[n].(guardedBackward); scan {
			return p.Rules[:n:n]
		}
	}
	return p.Rules
}

// guardedBackward is the letter's backward scan without the pinned and the protected among its
// findings. The scan itself walks, counts and compares with its minimum as if nothing were
// protected.
type guardedBackward struct{ letter.Backward }

// Find runs the scan.
func (b guardedBackward) Find(w rule.Window) rule.Found {
	return w.ExcludeProtected(b.Name(), b.Backward.Find(w))
}
