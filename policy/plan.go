package policy

import (
	"fmt"

	"github.com/winnowhq/winnow/budget"
	"github.com/winnowhq/winnow/model"
	"github.com/winnowhq/winnow/rule"
	"github.com/winnowhq/winnow/schedule"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/token"
	"github.com/winnowhq/winnow/view"
)

// State is what a plan is made from. The planner changes none of it.
type State struct {
	Log    []session.Message
	Window []session.Message // of the log, as view.Window gives it
	Ledger rule.Ledger
	Pins   []rule.Pin
	Facts  *rule.Facts
	Model  model.Model
	// Shown is the size of the rendered window with whatever is shown beside the log, in tokens; 0: measured from Window and Ledger.
	Shown int
	// Handles name the parts of the log; nil: made from the window.
	Handles *rule.Handles
	// Restored are elisions that somebody took back: only when asked are they made again.
	Restored map[rule.Key]bool
	// Account is what a schedule that weighs cost must know of the session's requests. Without it such a schedule acts on free moments only.
	Account schedule.Account
}

// Occasion is why a plan is made.
type Occasion struct {
	// StepEnded: a step was finished, and Usage reported for it. Pending is an estimate of what was appended since, in tokens.
	StepEnded bool
	Usage     session.Usage
	Pending   int
	// Summary: the step was a summary, which is never checked.
	Summary bool
	// TurnEnded: the loop ended a turn.
	TurnEnded bool
	// Rejected: the provider refused the request as too long.
	Rejected bool
	// PruneAsked, FoldAsked: somebody asked for it.
	PruneAsked, FoldAsked bool
	// Starting: a request is about to be sent.
	Starting bool
	// GoesOn: the step that ended called tools, so that the next request follows at once.
	GoesOn bool
	// Cold: the provider's cache holds nothing of the prompt.
	Cold bool
}

// Decision is what to do next. Nothing of it has happened yet.
type Decision struct {
	Commit []rule.Elision
	// Fold: make a pivot now. Pays: not because the window would overflow, but because it has become worth its cost.
	Fold, Pays bool
	// Verdict is how full the window is, of occasions that have a usage.
	Verdict budget.Verdict
	// Refusals say what was not done, and why.
	Refusals []rule.Refusal
}

// Plan decides.
//
// The classic policy checks for overflow after a step and folds, and prunes when a turn ends. The others prune first when the
// window would overflow, and fold only if that is not enough.
func (p Policy) Plan(s State, o Occasion) Decision {
	var d Decision
	over := false
	if o.StepEnded && !o.Summary {
		d.Verdict = p.Budget.Check(s.Model, o.Usage, o.Pending)
		over = d.Verdict.Overflow
		if d.Verdict.Code == budget.CodeDoubtful {
			// The report cannot be of one request. What the view itself takes decides.
			size := s.Shown
			if size == 0 {
				size = view.Tokens(s.Window, s.Ledger, s.Facts)
			}
			over = size >= d.Verdict.Usable
		}
	}
	if o.Rejected {
		over = p.Auto
		if !p.Auto {
			d.Refusals = append(d.Refusals, rule.Refusal{Code: rule.Disabled, Reason: "the request was rejected as too long, and automatic compaction is off"})
		}
	}
	letter := p.Pivot.Letter
	moment := schedule.Moment{TurnEnded: o.TurnEnded, Asked: o.PruneAsked || o.FoldAsked && !letter, Pressure: over && !letter, Cold: o.Cold && !letter,
		Paying: o.Starting || o.StepEnded && o.GoesOn, Bound: s.Model.BoundReasoning, Account: s.Account}
	moment.Read, moment.Write, _ = s.Model.Terms(s.Account.Base + s.Account.Size)
	moment.Age = func(e rule.Elision) int { return s.Facts.Age(s.Window, e) }
	if (o.PruneAsked || p.Prune) && p.Schedule.Ready(moment) {
		found := p.Find(s)
		if !o.PruneAsked {
			found = s.leave(found)
		}
		d.Refusals = append(d.Refusals, found.Refusals...)
		d.Commit = p.Schedule.Choose(found.Elisions, moment)
		if saves := rule.Saves(found.Elisions); len(d.Commit) == 0 && saves > 0 {
			d.Refusals = append(d.Refusals, rule.Refusal{
				Code: rule.BelowMinimum, Tokens: saves,
				Reason: fmt.Sprintf("%s tokens could go, too little to rewrite the prompt for", token.Grouped(saves)),
			})
		}
	} else if o.TurnEnded && !p.Prune {
		d.Refusals = append(d.Refusals, rule.Refusal{Code: rule.Disabled, Reason: "pruning is off (compaction.prune)"})
	}
	d.Fold = o.FoldAsked || over
	if p.Auto && p.Budget.Economic(s.Model) && o.StepEnded && !o.Summary && !over {
		d.Pays = p.foldPays(s)
		d.Fold = d.Fold || d.Pays
	}
	if over && !letter && !o.FoldAsked && !o.Rejected && len(d.Commit) > 0 {
		d.Fold = d.Verdict.Total-rule.Saves(d.Commit) >= d.Verdict.Usable
	}
	return d
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
				Code: rule.Restored, Rule: e.Rule, Part: e.Part, Reason: "it was restored; pruning on demand takes it again", Tokens: e.Saves,
			})
			continue
		}
		kept.Elisions = append(kept.Elisions, e)
	}
	return kept
}

// Find runs the rules and settles what they found.
func (p Policy) Find(s State) rule.Found {
	w := rule.Window{Messages: s.Window, Ledger: s.Ledger, Pins: s.Pins, Facts: s.Facts, Guard: p.Guard, Handles: s.Handles}
	if p.Log {
		w.Messages = s.Log
	}
	// What the letter prunes, and what lies idle, goes although others went because it shows what they showed.
	return rule.Decide(w, p.Rules, func(name string) bool {
		return p.Pivot.Letter && name == rule.Backward{}.Name() || name == (*rule.Idle)(nil).Name()
	})
}
