package lab

import "github.com/winnowhq/winnow/store/report"

// Report is the result of replaying sessions under several policies. Table, chart, page, CSV and
// JSON are made from it.
type Report struct {
	// Sessions are in the order of their sources; those that could not be replayed are in Skipped.
	Sessions []Recorded `json:"sessions"`
	Policies []Standing `json:"policies"` // in the order of the setups
	// Paid is what the recorded sessions cost together, in US dollars; Differs explains why the
	// baseline's bill differs.
	Paid    Paid     `json:"paid,omitzero"`
	Differs []string `json:"differs,omitempty"`
	// Baseline is the policy that ratios refer to.
	Baseline string `json:"baseline"`
	// Sources is how many sources the sessions have. By says what intervals are over, and what is
	// held out in turn: BySources, or BySessions if there are fewer than three sources.
	Sources int    `json:"sources,omitzero"`
	By      string `json:"by,omitzero"`
	// Relative: bills are in millions of input tokens, not in US dollars, because a price is
	// unknown or terms were chosen.
	Relative bool `json:"relative"`
	// Prices describes what was billed.
	Prices  string    `json:"prices"`
	Skipped []Skipped `json:"skipped,omitzero"`
	// Gains and Losses are the sessions that the policy Subject would help or hurt most. Subject is
	// the recommended policy, else the one closest to it, or "".
	Subject string   `json:"subject,omitzero"`
	Gains   []Change `json:"gains,omitzero"`
	Losses  []Change `json:"losses,omitzero"`
	// Bearable is how many missed steps in 100 a policy may cause that is chosen or recommended.
	Bearable float64 `json:"bearable,omitzero"`
	// Holdout has a choice for each sweep, or one among all policies, if Lab.Holdout asks for it;
	// Unheld says why there is none. InSample are the policies that a sweep's sessions themselves
	// would choose, where nobody asked for Holdout.
	Holdout  []Choice `json:"holdout,omitzero"`
	Unheld   string   `json:"unheld,omitzero"`
	InSample []string `json:"inSample,omitzero"`
	// Gaps compares winnow with simple policies that miss as many steps; nil if fewer than two of
	// these were replayed.
	Gaps []Gap `json:"gaps,omitzero"`
	// Hulls are the curves that Gaps compares, nil where these are.
	Hulls *Hulls `json:"hulls,omitzero"`
	// Advice is nil if there is too little evidence.
	Advice *Advice `json:"advice,omitzero"`
	// Unadvised says why Advice is nil.
	Unadvised string `json:"unadvised,omitzero"`
	// Products says what those can be set to that read no configuration of winnow.
	Products []ProductAdvice `json:"products,omitzero"`
}

// Recorded is a session that was replayed.
type Recorded struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	Path string `json:"path,omitzero"`
	// Source is where it comes from: a project, an author. Sessions of one source resemble each
	// other.
	Source  string `json:"source,omitzero"`
	Product string `json:"product,omitzero"`
	Model   string `json:"model,omitzero"`
	Steps   int    `json:"steps"`
	Tokens  int    `json:"tokens"`
	Damaged int    `json:"damaged,omitzero"` // pieces of its file that could not be read
	Base    int    `json:"base"`
	// BaseAssumed: no usage report tells Base. ToolsKnown: the session tells which tools its
	// requests declared; Uncalled are those that it never called.
	BaseAssumed bool                  `json:"baseAssumed,omitzero"`
	ToolsKnown  bool                  `json:"toolsKnown,omitzero"`
	Uncalled    []report.UncalledTool `json:"uncalled,omitzero"`
	// US dollars per million input tokens; 0: unknown, and bills are relative
	Input    float64   `json:"input,omitzero"`
	Bound    float64   `json:"bound,omitzero"` // cheapest bill with knowledge of the future; 0: not computed
	Paid     Paid      `json:"paid,omitzero"`  // recorded cost, always in US dollars
	Outcomes []Outcome `json:"outcomes"`       // by policy, in the order of Report.Policies
}

// Standing sums a policy up over all sessions.
type Standing struct {
	Name   string `json:"name"`
	Window int    `json:"window,omitzero"` // tokens; 0: the models' own; Unlimited
	// Group joins the policies of a sweep, or the choices from one, which the chart draws as one
	// line; "" for a single policy.
	Group   string `json:"group,omitzero"`
	Bill    Bill   `json:"bill"`
	Tokens  Tokens `json:"tokens"`
	Steps   int    `json:"steps"`
	Regrets int    `json:"regrets"`
	Commits int    `json:"commits"`
	Folds   int    `json:"folds"`
	Over    int    `json:"over,omitzero"`
	Ratios
	MissRates
	// Lambda is the bill relative to the baseline's if an agent that sees less works longer.
	Lambda Lambda `json:"lambda"`
	// Region is how the policy does where a miss brings back a region, not all of an item; nil if
	// that was not replayed.
	Region *Standing `json:"region,omitzero"`
	// Hits is the share of prompt tokens served from the cache.
	Hits float64 `json:"hits"`
	Rises
}

// Ratios is a bill relative to others.
type Ratios struct {
	// Ratio is the bill relative to the baseline's, Within its interval; Mean, P10, P50 and P90 are
	// the mean and percentiles of the sessions' ratios. Bound is the bill relative to the bound, 0
	// if that was not computed.
	Ratio  float64 `json:"ratio"`
	Within Range   `json:"within,omitzero"`
	Mean   float64 `json:"mean"`
	P10    float64 `json:"p10"`
	P50    float64 `json:"p50"`
	P90    float64 `json:"p90"`
	Bound  float64 `json:"bound,omitzero"`
}

// MissRates is how often what was hidden was needed.
type MissRates struct {
	// MissedSteps counts the steps that needed what was hidden. The others are per 100 steps: these
	// steps, with their interval, the items that they missed, the edits whose old text, and the
	// identifiers and paths of arguments, that stood only in what was hidden.
	MissedSteps       int     `json:"missedSteps"`
	MissedStepsPer100 float64 `json:"missedStepsPer100"`
	MissedWithin      Range   `json:"missedWithin,omitzero"`
	MissedItemsPer100 float64 `json:"missedItemsPer100"`
	LostEditsPer100   float64 `json:"lostEditsPer100"`
	LostInputsPer100  float64 `json:"lostInputsPer100"`
}

// Rises counts the sessions that a policy makes dearer.
type Rises struct {
	// Rose counts the sessions with a higher bill than the baseline's, RoseMore those with more
	// than 2 % more; Worst is the largest rise, as a share.
	Rose     int     `json:"rose"`
	RoseMore int     `json:"roseMore"`
	Worst    float64 `json:"worst"`
}

// Lambda is a bill relative to the baseline's, if an agent makes some extra steps for each 1,000
// tokens removed: Some is 0.27 steps, Much 1.03. BreakEven is how many extra steps take away all
// that is saved, nil if nothing was removed.
type Lambda struct {
	Some, Much float64
	BreakEven  *float64
}

// The extra steps of Lambda.
const (
	SomeLonger = 0.27
	MuchLonger = 1.03
)

// Skipped is a file that was not replayed, and why.
type Skipped struct {
	Path string `json:"path"` // its path
	Why  string `json:"why"`  // why it could not be replayed
}

// Change is the effect of a policy on a session's bill.
type Change struct {
	Session string  `json:"session"` // id of the session
	Name    string  `json:"name"`    // its name
	Before  float64 `json:"before"`  // the bill before, in the unit of bills
	After   float64 `json:"after"`   // the bill afterwards
	Why     string  `json:"why"`     // why it changes, a sentence
}

// Advice is a recommendation with its reason.
type Advice struct {
	Policy string `json:"policy"` // name of the policy
	// A sentence or two with its cost and its misses on sessions that it was not chosen on.
	Reason string `json:"reason"`
	// Keys of the configuration with values as JSON, which "--apply" writes.
	Settings map[string]string `json:"settings"`
	// HeldOut is what it is worth on sessions that it was not chosen on.
	HeldOut Choice `json:"-"`
}
