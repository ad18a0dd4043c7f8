package lab

// Bill is what a session cost, by what it was paid for: in US dollars, or in millions of input tokens where the terms are relative.
type Bill struct {
	Read    float64 `json:"read"`    // prompts read from the cache
	Write   float64 `json:"write"`   // prompts written to the cache, or sent without one
	Output  float64 `json:"output"`  // what steps produced: the same under every policy
	Compact float64 `json:"compact"` // requests for summaries
	Regret  float64 `json:"regret"`  // requests for what was hidden and needed again
}

// Total of a bill.
func (b Bill) Total() float64 { return b.Read + b.Write + b.Output + b.Compact + b.Regret }

// Add sums two bills.
func (b Bill) Add(c Bill) Bill {
	return Bill{b.Read + c.Read, b.Write + c.Write, b.Output + c.Output, b.Compact + c.Compact, b.Regret + c.Regret}
}

// Tokens of the requests of a session, those for what was needed again and for summaries among them.
type Tokens struct {
	Sent    int `json:"sent"`   // all prompts
	Cached  int `json:"cached"` // of them read from the cache
	Output  int `json:"output"`
	Largest int `json:"largest"` // prompt
}

// EventKind says what happened in a replay.
type EventKind string

const (
	Committed EventKind = "commit"  // elisions were committed
	Folded    EventKind = "fold"    // the past was folded into a summary
	Regretted EventKind = "regret"  // hidden items were needed
	Idle      EventKind = "idle"    // the cache had gone cold
	Stuck     EventKind = "no-fold" // a fold was due and would not have helped
)

// Event is one of them.
type Event struct {
	Step int       `json:"step"` // before which, or at which, it happened; the first is 0
	Kind EventKind `json:"kind"`
	// Tokens that went (commit: saved on each later step; fold: the prompt before less that after; regret: fetched again).
	Tokens int `json:"tokens,omitzero"`
	// Rewritten is how many tokens that the cache had were written again for it.
	Rewritten int     `json:"rewritten,omitzero"`
	Cost      float64 `json:"cost,omitzero"` // of the fold's request, or of what was fetched again
	N         int     `json:"n,omitzero"`    // elisions of a commit, regrets of a step
	// Parts are what was needed again, or what was elided.
	Parts []string `json:"parts,omitzero"`
}

// Outcome is one session under one policy.
type Outcome struct {
	Session string `json:"session"`
	Policy  string `json:"policy"`
	Steps   int    `json:"steps"`
	Bill    Bill   `json:"bill"`
	Tokens  Tokens `json:"tokens"`
	Regrets int    `json:"regrets"`
	Commits int    `json:"commits"`
	Folds   int    `json:"folds"`
	Over    int    `json:"over"` // steps whose prompt was larger than the window
	// Needy are the steps that needed what was hidden, Cold those that found the cache cold, First the one that the first commit or fold came before.
	Needy int `json:"needy"`
	Cold  int `json:"cold"`
	First int `json:"first,omitzero"`
	// Elided is how many tokens went with commits, Folded with folds, and Rewritten how many were written to the cache again for commits.
	Elided    int `json:"elided"`
	Folded    int `json:"folded"`
	Rewritten int `json:"rewritten"`
	// Events and Curve, the bill after each step, are there when they were asked for.
	Events []Event   `json:"events,omitzero"`
	Curve  []float64 `json:"curve,omitzero"`
	// Sizes are the prompts of the steps, in tokens, beside Curve.
	Sizes []int `json:"sizes,omitzero"`
}

// Rate is how many regrets there were in a hundred steps.
func (o Outcome) Rate() float64 {
	if o.Steps == 0 {
		return 0
	}
	return 100 * float64(o.Regrets) / float64(o.Steps)
}
