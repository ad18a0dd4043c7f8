package lab

import "math"

// Bill is what a session cost, by item, in US dollars, or in millions of input tokens if the terms
// are relative.
type Bill struct {
	Read    float64 `json:"read"`    // prompts read from the cache
	Write   float64 `json:"write"`   // prompts written to the cache, or sent without one
	Output  float64 `json:"output"`  // what steps wrote: the same under every policy
	Compact float64 `json:"compact"` // requests for summaries
	Regret  float64 `json:"regret"`  // requests for what was hidden and needed
	// Warm is requests that kept the cache during pauses.
	Warm float64 `json:"warm,omitzero"`
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
	Sent    int `json:"sent"`   // all prompts
	Cached  int `json:"cached"` // how many of them were read from the cache
	Output  int `json:"output"`
	Largest int `json:"largest"` // prompt
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
	Step int       `json:"step"` // at or before which it happened, from 0
	Kind EventKind `json:"kind"`
	// Tokens that went (commit: saved on each later step; fold: the prompt before less that after;
	// regret: fetched again).
	Tokens int `json:"tokens,omitzero"`
	// Rewritten is how many cached tokens had to be written again.
	Rewritten int     `json:"rewritten,omitzero"`
	Cost      float64 `json:"cost,omitzero"` // of the fold's request, or of what was fetched again
	N         int     `json:"n,omitzero"`    // elisions of a commit, items that a step missed
	// Parts are the ids of what was needed again, or elided.
	Parts []string `json:"parts,omitzero"`
}

// Outcome is one session under one policy.
type Outcome struct {
	Session string `json:"session"`
	Policy  string `json:"policy"`
	Steps   int    `json:"steps"`
	Bill    Bill   `json:"bill"`
	Tokens  Tokens `json:"tokens"`
	Misses
	Removals
	// Base is how much of Bill was for carrying the base: system prompt and tools.
	Base float64 `json:"base"`
	// Warm counts the requests that kept the cache during pauses, Bridged the pauses that would
	// have lost it and did not.
	Warm    int `json:"warm,omitzero"`
	Bridged int `json:"bridged,omitzero"`
	Course
	// Assumed says in words what was assumed.
	Assumed []string `json:"assumed,omitempty"`
	// Region is the same policy if a miss brings back only a region of the text, nil unless
	// Options.Regions asks for it.
	Region *Outcome `json:"region,omitempty"`
}

// Misses counts what a session needed of what was hidden.
type Misses struct {
	// MissedSteps counts the steps that needed what was hidden, MissedItems the items that they
	// missed: those of one file, which one read gives back, are one. Needy and Regrets are the same
	// counts by their older names.
	MissedSteps int `json:"missedSteps"`
	MissedItems int `json:"missedItems"`
	Needy       int `json:"needy"`
	Regrets     int `json:"regrets"`
	// LostEdits counts the edits whose old text stands, in whole or in part, only in what is
	// hidden, LostInputs the identifiers and paths in arguments of calls that do. They are not
	// billed.
	LostEdits  int `json:"lostEdits"`
	LostInputs int `json:"lostInputs"`
}

// Removals counts what a policy took out of a session.
type Removals struct {
	// Removed counts the tokens that were left out or folded, each once, less what is shown instead
	// of what was left out.
	Removed int `json:"removed"`
	Commits int `json:"commits"`
	Folds   int `json:"folds"`
	Over    int `json:"over"` // steps whose prompt was larger than the window
	// Cold counts the steps that found the cache cold. First is the step after the first commit or
	// fold.
	Cold  int `json:"cold"`
	First int `json:"first,omitzero"`
	// Elided and Folded count the tokens that went with commits and folds, Rewritten those written
	// to the cache again because of commits.
	Elided    int `json:"elided"`
	Folded    int `json:"folded"`
	Rewritten int `json:"rewritten"`
}

// Course is a session step by step, set if Options.Detail asks for it.
type Course struct {
	Events []Event   `json:"events,omitzero"`
	Curve  []float64 `json:"curve,omitzero"` // the bill after each step
	Sizes  []int     `json:"sizes,omitzero"` // the prompts of the steps, in tokens
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
