// Package bill sums up what a session cost. It lists the requests that a log tells of, each once,
// and prices each by its own model, as package model says; what is unknown is counted and named
// instead of guessed.
package bill

import (
	"math"

	"github.com/go-json-experiment/json"

	"github.com/winnowhq/winnow/model"
	"github.com/winnowhq/winnow/session"
)

// Bill sums up requests to models.
type Bill struct {
	Requests int           `json:"requests"` // how many requests
	Usage    session.Usage `json:"usage"`    // the usage of those that report it
	// US dollars for those whose cost is known: a lower bound if others are unpriced or unreported;
	// null if none is known.
	Cost       float64 `json:"cost"`
	Unpriced   int     `json:"unpriced"`   // requests that used tokens at an unknown price
	Unreported int     `json:"unreported"` // requests without a plausible report of their usage
	// US dollars that the log itself states for some of them; given if it differs from "counted" by
	// a cent.
	Logged  float64 `json:"logged"`
	Counted float64 `json:"counted"` // the share of "cost" for the same requests as "logged"
}

// Unknown is how many requests the cost is without.
func (b Bill) Unknown() int { return b.Unpriced + b.Unreported }

// Dollars is the cost, nil where some requests are of unknown cost and the others come to nothing:
// at least nothing says nothing.
func (b Bill) Dollars() *float64 {
	if b.Unknown() > 0 && b.Cost == 0 {
		return nil
	}
	return &b.Cost
}

// Differs reports whether the log itself says another price, by a cent at least.
func (b Bill) Differs() bool { return math.Abs(b.Logged-b.Counted) >= 0.01 }

// CacheShare is how much of the prompts was read from the provider's cache, between 0 and 1.
func (b Bill) CacheShare() float64 {
	if prompt := b.Usage.Prompt(); prompt > 0 {
		return float64(b.Usage.Cache.Read) / float64(prompt)
	}
	return 0
}

// Plus sums up two bills.
func (b Bill) Plus(c Bill) Bill {
	return Bill{
		b.Requests + c.Requests, b.Usage.Add(c.Usage), b.Cost + c.Cost, b.Unpriced + c.Unpriced,
		b.Unreported + c.Unreported,
		b.Logged + c.Logged, b.Counted + c.Counted,
	}
}

// wire is a bill as JSON: a cost that is not known is null.
type wire struct {
	Requests   int           `json:"requests"`
	Usage      session.Usage `json:"usage"`
	Cost       *float64      `json:"cost"`
	Unpriced   int           `json:"unpriced,omitzero"`
	Unreported int           `json:"unreported,omitzero"`
	Logged     float64       `json:"logged,omitzero"`
	Counted    float64       `json:"counted,omitzero"`
}

// MarshalJSON writes the cost as null where it is not known.
func (b Bill) MarshalJSON() ([]byte, error) {
	w := wire{b.Requests, b.Usage, b.Dollars(), b.Unpriced, b.Unreported, b.Logged, b.Counted}
	if !b.Differs() {
		w.Logged, w.Counted = 0, 0
	}
	return json.Marshal(w)
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (b *Bill) UnmarshalJSON(text []byte) error {
	var w wire
	if err := json.Unmarshal(text, &w); err != nil {
		return err
	}
	*b = Bill{w.Requests, w.Usage, 0, w.Unpriced, w.Unreported, w.Logged, w.Counted}
	if w.Cost != nil {
		b.Cost = *w.Cost
	}
	return nil
}

// Sums are the bills of a session, by what was paid for.
type Sums struct {
	Steps     Bill `json:"steps"`              // for the session's own log
	Summaries Bill `json:"summaries,omitzero"` // for summaries of its past
	Agents    Bill `json:"agents,omitzero"`    // for sub-agents in the same file
	// For requests that are not part of the session: abandoned branches, answers that the log does
	// not have.
	Left   Bill `json:"left,omitzero"`
	Failed Bill `json:"failed,omitzero"` // for failed requests
}

// Total of all of them.
func (s Sums) Total() Bill {
	return s.Steps.Plus(s.Summaries).Plus(s.Agents).Plus(s.Left).Plus(s.Failed)
}

// Plus sums up the bills of two sessions.
func (s Sums) Plus(t Sums) Sums {
	return Sums{s.Steps.Plus(t.Steps), s.Summaries.Plus(t.Summaries), s.Agents.Plus(t.Agents), s.Left.Plus(t.Left),
		s.Failed.Plus(t.Failed)}
}

// Add adds the bill of a request of some kind.
func (s *Sums) Add(k Kind, b Bill) {
	to := &s.Summaries
	switch k {
	case Step:
		to = &s.Steps
	case Agent:
		to = &s.Agents
	case Left:
		to = &s.Left
	case Wasted:
		to = &s.Failed
	}
	*to = to.Plus(b)
}

// Usage is a report in the words of package model.
func Usage(u session.Usage) model.Usage {
	return model.Usage{
		Input: u.Input, Output: u.Output, Reasoning: u.Reasoning, CacheRead: u.Cache.Read,
		CacheWrite:   u.Cache.Write - u.Cache.Write1h,
		CacheWrite1h: u.Cache.Write1h, Searches: u.Searches, Tier: u.Tier,
	}
}
