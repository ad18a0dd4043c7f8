// Package plan holds what decides: which parts of a session go, when, and what is shown instead.
// All of it is a function of its arguments.
//
// Its rooms, in reading order:
//
//   - shell: what a shell would do with a text
//   - call: what a tool call did, by the table in tools.txt
//   - coverage: which lines of which file a part shows
//   - recall: what must not be forgotten
//   - rule: what may be left out, a file a rule
//   - schedule: when it goes
//   - budget: whether a prompt fits
//   - view: what the model sees
//   - pivot: how the past is folded into a summary
//   - policy: from log, ledger and usage to decisions, by all of the above
//   - settings: a policy from what a configuration says
//
// Begin with policy.Plan, and from there rule.Facts.
package plan
