package bill

import (
	"fmt"

	"github.com/winnowhq/winnow/text/quantity"
)

// Words say what a session cost, the whole first, then the shares that are no steps of the
// session's own log, with dollars written by a function: "$3.80", "of it sub-agents $0.26". What
// nobody knows is said, never written as a number. Nothing is said where no model was asked.
func (s Sums) Words(dollars func(float64) string) []string {
	all := s.Total()
	if all.Requests == 0 {
		return nil
	}
	words := []string{all.Words(dollars)}
	for _, share := range []struct {
		name string
		bill Bill
	}{{"sub-agents", s.Agents}, {"what is no part of the session", s.Left}} {
		if b := share.bill; b.Requests > b.Unknown() {
			words = append(words, "of it "+share.name+" "+dollars(b.Cost))
		}
	}
	if all.Differs() {
		words = append(words, "the log itself says "+dollars(all.Cost-all.Counted+all.Logged))
	}
	return words
}

// Words say what requests cost: "$3.80", "at least $3.80: 2 requests without a report", "cost
// unknown: no price for 5 requests".
func (b Bill) Words(dollars func(float64) string) string {
	if b.Unknown() == 0 {
		return dollars(b.Cost)
	}
	why := ""
	switch {
	case b.Unpriced == 0 && b.Unreported == b.Requests:
		why = "the log has no report of usage"
	case b.Unpriced == 0:
		why = quantity.Count(b.Unreported, "request") + " without a report"
	case b.Unreported == 0:
		why = "no price for " + quantity.Count(b.Unpriced, "request")
	default:
		why = fmt.Sprintf("no price for %s, %d without a report", quantity.Count(b.Unpriced, "request"), b.Unreported)
	}
	if b.Dollars() == nil {
		return "cost unknown: " + why
	}
	return "at least " + dollars(b.Cost) + ": " + why
}
