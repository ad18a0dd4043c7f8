package live

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/winnowhq/winnow/gateway/transport"
	"github.com/winnowhq/winnow/plan/pivot"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/text/quantity"
	"github.com/winnowhq/winnow/text/secret"
)

// entriesOf are the lines of the feed that a notice makes.
func (h *Hub) entriesOf(n transport.Notice) (entries []Entry) {
	e := Entry{Time: session.Millis(n.Time.UnixMilli()), Session: n.Session, Client: n.From.Client,
		Observed: n.Observed}
	if n.Receipt != nil {
		entries = append(entries, h.decision(e, n.Receipt))
	}
	if n.Spent != nil && n.Spent.Live != nil {
		for _, a := range n.Spent.Live.Again {
			entries = append(entries, recalled(e, a))
		}
		if n.Spent.Live.Resent {
			e.Kind, e.Reason = "failure", "the provider refused what was left out, and took the request whole: "+
				"nothing is left out of this session any more"
			entries = append(entries, e)
		}
	}
	if n.Failure != "" {
		e.Kind, e.Reason = "failure", n.Failure
		if n.Status > 0 {
			e.Reason = fmt.Sprintf("%s: HTTP %d", n.Failure, n.Status)
		}
		entries = append(entries, e)
	}
	return entries
}

// recalled is a line about what an agent asked for again.
func recalled(e Entry, a store.Again) Entry {
	e.Kind, e.Tokens, e.Reason = "recall", a.Tokens, "the agent repeated a call whose output was left out"
	if a.Asked {
		e.Reason = "the agent asked winnow for what was left out"
	}
	if a.Rule != "" {
		e.Rules = []RuleSum{{Rule: a.Rule, Parts: 1, Tokens: a.Tokens}}
	}
	return e
}

// decision is a line about a receipt.
func (h *Hub) decision(e Entry, r *pivot.Receipt) Entry {
	e.Kind, e.Trigger, e.Receipt, e.Tokens = string(r.Kind), r.Trigger, r.ID, r.Saved
	sums := map[string]RuleSum{}
	for _, el := range r.Committed {
		s := sums[el.Rule]
		sums[el.Rule] = RuleSum{Rule: el.Rule, Parts: s.Parts + 1, Tokens: s.Tokens + el.Saves}
	}
	e.Rules = slices.SortedFunc(maps.Values(sums), func(a, b RuleSum) int {
		return cmp.Or(b.Tokens-a.Tokens, cmp.Compare(a.Rule, b.Rule))
	})
	committed := slices.Clone(r.Committed)
	slices.SortStableFunc(committed, func(a, b rule.Elision) int { return b.Saves - a.Saves })
	for i, el := range committed {
		if i == mostParts {
			e.More = len(committed) - i
			break
		}
		part := Part{Part: el.Part, Rule: el.Rule, Tokens: el.Saves}
		if !h.withheld {
			part.Because, _ = secret.Mask(rule.Shorten(el.Because, mostReason))
		}
		e.Parts = append(e.Parts, part)
	}
	switch {
	case r.Marker != "":
		e.Reason = quantity.Count(r.Folded, "message") + " folded into a summary"
	case len(e.Rules) == 1 && len(e.Parts) > 0 && e.More == 0 && len(e.Parts) == 1:
		e.Reason = e.Parts[0].Because
	default:
		e.Reason = quantity.Count(len(committed), "part") + " left out"
	}
	if m := r.Money; m != nil {
		e.Step = m.Step
		if m.Rewriting != nil || m.Summary != nil {
			once := 0.0
			for _, dollars := range []*float64{m.Rewriting, m.Summary} {
				if dollars != nil {
					once += *dollars
				}
			}
			e.Once = &once
		}
	}
	return e
}
