package config

import (
	"github.com/winnowhq/winnow/plan/budget"
	"github.com/winnowhq/winnow/plan/policy"
)

// Wished is a configuration with another policy, "" for the one in force. Keys that nobody set get
// the values of the policy, or the defaults where the policy has none.
func (l Loaded) Wished(name string) Loaded {
	if name != "" {
		l.Settings.Policy = name
	}
	w := policy.WishOf(l.Settings.Policy)
	if w == (policy.Wish{}) {
		w = policy.WishOf(policy.Balanced)
	}
	idle := &l.Settings.Strategies.BalancedPruning
	if l.Origins["strategies.balancedPruning.idleSteps"] == "" {
		idle.IdleSteps = w.IdleSteps
	}
	if l.Origins["strategies.balancedPruning.idleInputSteps"] == "" {
		idle.IdleInputSteps = w.IdleInputSteps
	}
	if l.Origins["compaction.threshold"] == "" {
		l.Settings.Compaction.Threshold = budget.Thresholds{}
		if w.Threshold != 0 {
			l.Settings.Compaction.Threshold["*"] = w.Threshold
		}
	}
	return l
}
