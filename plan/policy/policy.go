// Package policy plans: it goes from the log, the ledger and the usage to decisions, purely. The
// engine and the lab run the same planner, so that what was forecast offline is what happens
// online.
package policy

import (
	"github.com/winnowhq/winnow/plan/budget"
	"github.com/winnowhq/winnow/plan/pivot"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/plan/rule/letter"
	"github.com/winnowhq/winnow/plan/schedule"
	"github.com/winnowhq/winnow/plan/view"
)

// Names of the policies.
const (
	Classic    = "classic"
	Aggressive = "aggressive"
	Balanced   = "balanced"
	Careful    = "careful"
	Thrifty    = "thrifty"
)

// Policy is a choice of rules, schedule, thresholds and pivot settings. It is a value: nothing it
// does depends on anything but its arguments.
type Policy struct {
	Name string
	// Rules find what may be left out, in this order; of two elisions of one field the earlier
	// rule's counts.
	Rules []rule.Rule
	// First is what is left out of outputs before they are sent for the first time.
	First rule.FirstSend
	// Outline is how many tokens a placeholder may take to say at which lines of a file things
	// begin; 0 for nothing.
	Outline int
	// Log lets the rules walk the whole log instead of the window, as the specification's program
	// does.
	Log      bool
	Schedule schedule.Schedule
	// Guard says what the rules leave alone.
	Guard *rule.Guard
	// StepMarkers leaves the markers of steps out of what is shown (S002 2).
	StepMarkers bool
	Budget      budget.Settings
	Pivot       pivot.Settings
	// ColdFold is the size of a prompt, in tokens, from which on the past is folded where the cache
	// is cold; 0: that is no reason.
	ColdFold int
	// Prune and Auto are the two switches of the configuration.
	Prune, Auto bool
	// Background: what a fold needs is prepared before it must come, while the work goes on.
	Background bool
	// After is how many steps follow what is planned for, if that is a stretch of a log that goes
	// on behind it, all of which was sent; 0: it is the end of its log.
	After int
	// Offline allows the offline summariser where another one failed.
	Offline bool
}

// Options are what a user may set, with the names of the configuration. The zero value is not the
// default: see Defaults.
type Options struct {
	Auto, Prune bool
	// Schedule is eager, economic or cold; "": the policy's own, which is economic of balanced and
	// eager of the others.
	Schedule string
	// Background prepares summaries before they are needed; nil: the policy's own, which is on of
	// balanced and off of the others.
	Background              *bool
	Reserved                *int // tokens; nil: min(20000, output)
	Threshold               map[string]budget.Threshold
	Keep                    int // tokens of the tail; pivot.KeepAuto
	ColdFold                int // tokens; see Policy.ColdFold
	UserMessages            int // tokens
	Protect, Minimum, Turns int
	ProtectedTools          []string
	ProtectedPaths          []string // globs over the path of a call
	// Strategies of the policy; nil: DefaultStrategies. The classic policy has none.
	Strategies *Strategies
	// System and Prompt replace the summariser's prompts; Context lines are added.
	System, Prompt string
	Context        []string
}

// Defaults of the options.
func Defaults() Options {
	return Options{
		Auto: true, Prune: true, Keep: pivot.KeepAuto, UserMessages: pivot.DefaultUserMessages,
		Protect: rule.DefaultProtect, Minimum: rule.DefaultMinimum, Turns: rule.DefaultProtectTurns,
		ProtectedTools: rule.DefaultProtectedTools(),
		ProtectedPaths: []string{"**/.env*", "**/AGENTS.md", "**/CLAUDE.md"},
	}
}

// Markers are the markers of steps that are shown. By the letter of S002 2 none are; otherwise
// those stay that tell two steps of a message apart.
func (p Policy) Markers() view.Markers {
	switch {
	case !p.StepMarkers:
		return view.AllMarkers
	case p.Pivot.SummaryAlone:
		return view.NoMarkers
	}
	return view.SeparatingMarkers
}

// Backward is the backward scan of the policy; ok is false where it has none.
func (p Policy) Backward() (b rule.Backward, ok bool) {
	for _, r := range p.Rules {
		switch r := r.(type) {
		case rule.Backward:
			return r, true
		case guardedBackward:
			return rule.Backward(r.Backward), true
		}
	}
	return b, false
}

// New returns the policy of this name with these options, and false for an unknown name.
func New(name string, o Options) (p Policy, ok bool) {
	seeds := name == Classic || name == Aggressive
	if seeds { // they know no reserve, and keep and carry over nothing
		o.Reserved, o.Keep, o.UserMessages, o.ColdFold = nil, 0, 0, 0
	}
	p = Policy{
		Name: name, Prune: o.Prune, Auto: o.Auto, Offline: true,
		Budget: budget.Settings{Auto: o.Auto, Full: !seeds, Reserved: o.Reserved, Thresholds: o.Threshold},
		Pivot: pivot.Settings{SummaryAlone: seeds, Keep: o.Keep, UserMessages: o.UserMessages, System: o.System,
			Prompt: o.Prompt, Context: o.Context},
		Schedule:   o.schedule(name),
		Log:        seeds,
		Background: !seeds,
		Guard:      &rule.Guard{Tools: o.ProtectedTools, Paths: o.ProtectedPaths},
		ColdFold:   o.ColdFold,
	}
	if o.Background != nil {
		p.Background = *o.Background
	}
	backward := rule.Backward{Protect: o.Protect, Minimum: o.Minimum, Turns: o.Turns, ProtectedTools: o.ProtectedTools}
	if !seeds {
		backward.Minimum = 0 // the schedule knows what is too little to rewrite the prompt for, whichever rule found it
	}
	if name != Classic {
		strategies := DefaultStrategies(name)
		if o.Strategies != nil {
			strategies = *o.Strategies
		}
		p.Rules = strategies.rules(seeds)
		p.Guard.Least, p.First, p.Outline = strategies.MinTokens, strategies.FirstSend, strategies.Outline
		p.StepMarkers = strategies.Markers
	}
	if seeds {
		p.Rules = append(p.Rules, guardedBackward{letter.Backward(backward)})
	} else {
		p.Rules = append(p.Rules, backward)
	}
	return p, seeds || Sound(name)
}
