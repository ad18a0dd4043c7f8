package winnow

import "github.com/winnowhq/winnow/policy"

// Switch is the key of the configuration that turns a rule off under a policy, "" of one that no key governs: marks of other products, and what
// somebody asked for.
func Switch(ruleName, policyName string) string { return policy.Key(ruleName, policyName) }
