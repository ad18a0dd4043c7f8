package lab

// Report is what a replay of many sessions under several policies showed. It is what the table, the chart, the page, CSV and JSON are made from.
type Report struct {
	// Sessions in the order in which they were found; those that could not be replayed are in Skipped.
	Sessions []Recorded `json:"sessions"`
	Policies []Standing `json:"policies"` // in the order in which they were asked for
	// Paid is what the recorded sessions took together, in US dollars, and Differs says why the baseline's bill is another one.
	Paid    Paid     `json:"paid,omitzero"`
	Differs []string `json:"differs,omitempty"`
	// Baseline is the name of the policy that ratios are relative to.
	Baseline string `json:"baseline"`
	// Relative says that bills are in millions of input tokens, not in US dollars: for one session at least no price is known, or terms were chosen.
	Relative bool `json:"relative"`
	// Prices says in words what was billed.
	Prices  string    `json:"prices"`
	Skipped []Skipped `json:"skipped,omitzero"`
	// Gains and Losses are the sessions that a policy, Subject, would help or hurt most, against the baseline: the recommended one, else the one that came
	// nearest to it. Subject is "" when there is none.
	Subject string   `json:"subject,omitzero"`
	Gains   []Change `json:"gains,omitzero"`
	Losses  []Change `json:"losses,omitzero"`
	// Advice is nil when there is too little to go by.
	Advice *Advice `json:"advice,omitzero"`
	// Unadvised says why there is no advice, "" when there is.
	Unadvised string `json:"unadvised,omitzero"`
}

// Recorded is a session that was replayed.
type Recorded struct {
	ID       string    `json:"id"`
	Name     string    `json:"name"`
	Path     string    `json:"path,omitzero"`
	Product  string    `json:"product,omitzero"`
	Model    string    `json:"model,omitzero"`
	Steps    int       `json:"steps"`
	Tokens   int       `json:"tokens"`
	Damaged  int       `json:"damaged,omitzero"` // pieces of its file that could not be read
	Base     int       `json:"base"`
	Input    float64   `json:"input,omitzero"` // price of a million input tokens in US dollars; 0: not known, and bills are relative
	Bound    float64   `json:"bound,omitzero"` // the cheapest bill with knowledge of the future; 0: not computed
	Paid     Paid      `json:"paid,omitzero"`  // what it took as it was recorded, always in US dollars
	Outcomes []Outcome `json:"outcomes"`       // by policy, in the order of Report.Policies
}

// Standing is a policy over all sessions.
type Standing struct {
	Name   string `json:"name"`
	Window int    `json:"window,omitzero"` // tokens; 0: the models' own; Unlimited
	// Group joins the policies of a sweep, which the chart draws as one line; "" for a policy by itself.
	Group   string `json:"group,omitzero"`
	Bill    Bill   `json:"bill"`
	Tokens  Tokens `json:"tokens"`
	Steps   int    `json:"steps"`
	Regrets int    `json:"regrets"`
	Commits int    `json:"commits"`
	Folds   int    `json:"folds"`
	Over    int    `json:"over,omitzero"`
	// Ratio is the bill relative to the baseline's; Mean the mean of that over sessions; Bound the bill relative to the bound's, 0 when that was not
	// computed.
	Ratio float64 `json:"ratio"`
	Mean  float64 `json:"mean"`
	Bound float64 `json:"bound,omitzero"`
	// Rate is regrets in a hundred steps, Hits the share of prompt tokens that the cache served.
	Rate float64 `json:"rate"`
	Hits float64 `json:"hits"`
	// Rose is in how many sessions the bill was higher than the baseline's, RoseMore of them by more than 2 %, Worst the largest rise as a share.
	Rose     int     `json:"rose"`
	RoseMore int     `json:"roseMore"`
	Worst    float64 `json:"worst"`
}

// Skipped is a file that was not replayed, and why.
type Skipped struct {
	Path string `json:"path"`
	Why  string `json:"why"`
}

// Change is what a policy would do to a session's bill.
type Change struct {
	Session string  `json:"session"` // id
	Name    string  `json:"name"`
	Before  float64 `json:"before"`
	After   float64 `json:"after"`
	Why     string  `json:"why"`
}

// Advice is a recommendation with its reason.
type Advice struct {
	Policy string `json:"policy"`
	Reason string `json:"reason"`
	// Settings are what to write into the configuration: keys as the configuration has them, values as JSON.
	Settings map[string]string `json:"settings"`
}
