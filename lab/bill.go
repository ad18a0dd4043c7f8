package lab

import "math"

// Bill is what a session cost, by item, in US dollars, or in millions of input tokens if the terms
// are relative.
type Bill struct {
	Read    float64 `json:"read"`          // prompts that were read from the cache
	Write   float64 `json:"write"`         // prompts that were written to the cache, or sent without one
	Output  float64 `json:"output"`        // answers: the same under every policy
	Compact float64 `json:"compact"`       // requests for summaries
	Regret  float64 `json:"regret"`        // requests for missed text: it was hidden and needed again
	Warm    float64 `json:"warm,omitzero"` // requests that kept the cache warm during pauses
}

// Total returns the sum of a bill.
func (b Bill) Total() float64 { return b.Read + b.Write + b.Output + b.Compact + b.Regret + b.Warm }

// Add returns the sum of two bills.
func (b Bill) Add(c Bill) Bill {
	return Bill{b.Read + c.Read, b.Write + c.Write, b.Output + c.Output, b.Compact + c.Compact, b.Regret + c.Regret,
		b.Warm + c.Warm}
}

// Tokens counts the tokens of a session's requests, including those for summaries and for what was
// needed again.
type Tokens struct {
	Sent    int `json:"sent"`    // tokens of all prompts
	Cached  int `json:"cached"`  // how many of them were read from the cache
	Output  int `json:"output"`  // tokens of answers
	Largest int `json:"largest"` // tokens of the largest prompt
}

// EventKind is what happened in a replay.
type EventKind string

const (
	Committed EventKind = "commit"  // elisions were committed
	Folded    EventKind = "fold"    // the past was folded into a summary
	Regretted EventKind = "regret"  // hidden items were needed
	Idle      EventKind = "idle"    // the cache had gone cold
	Stuck     EventKind = "no-fold" // a fold was due and would not have helped
)

// Event is something that happened in a replay.
type Event struct {
	Step int       `json:"step"` // the step at or before which it happened, from 0
	Kind EventKind `json:"kind"` // "commit", "fold", "regret", "idle" or "no-fold"
	// Tokens that were left out (for a commit: saved on each later step; for a fold: the prompt
	// before less that after) or, for a regret, fetched again.
	Tokens    int `json:"tokens,omitzero"`
	Rewritten int `json:"rewritten,omitzero"` // cached tokens that had to be written again
	// The bill for the fold's request, or for the text that was fetched again.
	Cost  float64  `json:"cost,omitzero"`
	N     int      `json:"n,omitzero"`     // elisions of a commit, or items that a step missed
	Parts []string `json:"parts,omitzero"` // ids of the parts that were left out, or needed again
}

// Outcome is one session under one policy.
type Outcome struct {
	Session string `json:"session"` // id of the session
	Policy  string `json:"policy"`  // name of the policy
	Steps   int    `json:"steps"`   // how many steps were replayed
	Bill    Bill   `json:"bill"`    // its bill by purpose
	Tokens  Tokens `json:"tokens"`  // its tokens
	Misses
	Removals
	// The share of the bill for carrying the base: system prompt and tools.
	Base float64 `json:"base"`
	// Under "warm:N": requests that kept the cache during pauses.
	Warm    int `json:"warm,omitzero"`
	Bridged int `json:"bridged,omitzero"` // pauses that would have lost the cache and did not
	Course
	Assumed []string `json:"assumed,omitempty"` // assumptions that were made, sentences
	Region  *Outcome `json:"region,omitempty"`  // the outcome where a miss brings back a region
}

// Misses counts what a session needed of what was hidden.
type Misses struct {
	MissedSteps int `json:"missedSteps"` // steps that needed hidden text
	// Items that these steps needed; those of one file, which one read gives back, are one.
	MissedItems int `json:"missedItems"`
	Needy       int `json:"needy"`   // the same as "missedSteps", by an older name
	Regrets     int `json:"regrets"` // the same as "missedItems", by an older name
	// Edits whose old text stands, in whole or in part, only in hidden text; they are not billed.
	LostEdits int `json:"lostEdits"`
	// Identifiers and paths in arguments of calls that stand only in hidden text; they are not
	// billed.
	LostInputs int `json:"lostInputs"`
}

// Removals counts what a policy took out of a session.
type Removals struct {
	// Tokens left out or folded, each once, less those of the text that is shown instead.
	Removed int `json:"removed"`
	Commits int `json:"commits"` // how often elisions were committed
	Folds   int `json:"folds"`   // how often the session was compacted
	Over    int `json:"over"`    // steps whose prompt was larger than the window
	Cold    int `json:"cold"`    // steps that found the cache cold
	// The step before which the first commit or compaction came, from 0.
	First     int `json:"first,omitzero"`
	Elided    int `json:"elided"`    // tokens removed by commits
	Folded    int `json:"folded"`    // tokens removed by compactions
	Rewritten int `json:"rewritten"` // tokens written to the cache again because of commits
}

// Course is a session step by step, set if Options.Detail asks for it.
type Course struct {
	Events []Event   `json:"events,omitzero"` // with "--detail": the events, in their order
	Curve  []float64 `json:"curve,omitzero"`  // with "--detail": the bill after each step
	Sizes  []int     `json:"sizes,omitzero"`  // with "--detail": the prompt of each step, in tokens
}

// Extra is what one extra step for each 1,000 tokens removed would cost: as many mean steps. A bill
// assumes that an agent does the same with less before it; with less it may need more steps.
func (o Outcome) Extra() float64 {
	if o.Steps == 0 {
		return 0
	}
	return o.Bill.Total() / float64(o.Steps) * float64(o.Removed) / 1000
}

// Lambda is the bill if the agent made l extra steps for each 1,000 tokens removed.
func (o Outcome) Lambda(l float64) float64 { return o.Bill.Total() + l*o.Extra() }

// BreakEven is the number of extra steps for each 1,000 tokens removed at which a bill reaches that
// of a baseline, negative where it is higher without any. It is infinite if nothing was removed.
func (o Outcome) BreakEven(baseline float64) float64 {
	return BreakEven(o.Bill.Total(), o.Extra(), baseline)
}

// BreakEven is the same of sums over sessions: their bills, their Extra and the baseline's bills.
func BreakEven(bill, extra, baseline float64) float64 {
	if extra <= 0 {
		return math.Inf(1)
	}
	return (baseline - bill) / extra
}

// Rate returns the missed items in 100 steps.
func (o Outcome) Rate() float64 {
	if o.Steps == 0 {
		return 0
	}
	return 100 * float64(o.MissedItems) / float64(o.Steps)
}
