package policy

import "github.com/winnowhq/winnow/plan/budget"

// Wish is how much a user would rather pay than have an agent miss what was left out: the values of
// the settings that decide it. They are chosen on recorded sessions, see docs/economics.md.
type Wish struct {
	IdleSteps, IdleInputSteps int
	// Threshold is that of every model, 0 for none.
	Threshold budget.Threshold
}

// Wishes are the policies of the sound rules, those that cost most and miss least first.
func Wishes() []string { return []string{Careful, Balanced, Thrifty} }

// Sound reports whether a policy has the sound rules: it is not by the letter of a specification.
func Sound(name string) bool { return name == Careful || name == Balanced || name == Thrifty }

// WishOf returns what stands behind a policy of the sound rules, the zero value for others.
func WishOf(name string) Wish {
	switch name {
	case Careful:
		return Wish{IdleSteps: 240, IdleInputSteps: 480}
	case Balanced:
		return Wish{IdleSteps: DefaultIdleOutputs, IdleInputSteps: DefaultIdleInputs}
	case Thrifty:
		return Wish{IdleSteps: 100, IdleInputSteps: 200, Threshold: budget.Economic}
	}
	return Wish{}
}

// tail is the tail of a policy, in tokens, where folds come because they pay. Half of what is missed
// after a fold is missed in the first twenty steps.
func tail(name string) int {
	if name == Thrifty {
		return 24_000
	}
	return 20_000
}

// Apply gives options the values of a wish.
func (w Wish) Apply(o Options) Options {
	if w == (Wish{}) {
		return o
	}
	if w.Threshold != 0 {
		o.Threshold = budget.Thresholds{"*": w.Threshold}
	}
	strategies := DefaultStrategies(Balanced)
	if o.Strategies != nil {
		strategies = *o.Strategies
	}
	strategies.IdleSteps, strategies.IdleInputSteps = w.IdleSteps, w.IdleInputSteps
	o.Strategies = &strategies
	return o
}
