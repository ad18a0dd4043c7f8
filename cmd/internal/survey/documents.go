package survey

import (
	"github.com/winnowhq/winnow/desk/discover"
	"github.com/winnowhq/winnow/session"
)

// Computer is the JSON document of list --everywhere.
type Computer struct {
	// The sessions of coding agents on this computer, in the order of "--sort".
	Sessions []onComputer `json:"sessions"`
	Products []sumOf      `json:"products"` // sums by product, the most expensive first
	Projects []sumOf      `json:"projects"` // sums by project, the most expensive first
	Total    sumOf        `json:"total"`    // the sum of all
	Problems []unread     `json:"problems"` // files that could not be read; the exit code is 4 then
	// How many sessions are in winnow's archive instead, without sub-agents; see "gc --archived".
	Archived int    `json:"archived,omitzero"`
	Page     string `json:"page,omitzero"` // path of the page that "--html" wrote
}

// onComputer is one session where its product keeps it.
type onComputer struct {
	discover.Found
	Updated session.Millis `json:"updated"` // when it was last written to
	// With "--since": the session has requests on other days, which "tokens" and "cost" do not
	// include.
	Cut bool `json:"cut,omitzero"`
}

// sumOf adds up some sessions.
type sumOf struct {
	Name      string `json:"name"`      // the product; the folder, empty if it is unknown; "total"
	Sessions  int    `json:"sessions"`  // how many sessions, without sub-agents
	SubAgents int    `json:"subAgents"` // how many sessions of sub-agents
	// Their size, including sub-agents, as the members that follow do.
	Bytes  int64 `json:"bytes"`
	Tokens int   `json:"tokens"` // tokens that models read and wrote
	// US dollars for those whose cost is known; null if none is known.
	Cost *float64 `json:"cost"`
	// Whether the tokens of one of them are estimated.
	TokensEstimated bool `json:"tokensEstimated"`
	CostEstimated   bool `json:"costEstimated"` // whether the cost of one of them is estimated
	// How many of them have requests that "cost" does not include: of a model without a price, or
	// without a report.
	Uncosted int `json:"uncosted"`
}

// unread is a file or folder that could not be read.
type unread struct {
	Path   string `json:"path"`   // its path; empty if the reason names it
	Reason string `json:"reason"` // the reason, a sentence
}
