package report

import (
	"cmp"
	"slices"

	"github.com/winnowhq/winnow/model/bill"
	"github.com/winnowhq/winnow/plan/pivot"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
)

// Request is one request that a session took.
type Request struct {
	Time session.Millis `json:"time"` // when it was made
	// "step", "summary", "agent" (a sub-agent) or "left" (beside the session).
	Kind   string    `json:"kind"`
	Model  string    `json:"model"`           // the model
	Bill   bill.Bill `json:"bill"`            // its bill
	Failed bool      `json:"failed,omitzero"` // whether it was paid for in vain

	// What follows is known where the costs of a session are divided; see Costs.

	Message string     `json:"message,omitzero"` // id of the message that answers it
	Turn    int        `json:"turn,omitzero"`    // the turn of that message, 1-based
	Step    int        `json:"step,omitzero"`    // the step of that message, 1-based
	Split   bill.Split `json:"split,omitzero"`   // its cost, divided as "costs.split" is
	// The part of the prompt that the provider's cache no longer had; omitted if it had everything
	// that it could have had.
	Miss *Miss `json:"miss,omitzero"`
}

// Requests lists what the bills of a gauge sum up, oldest first: the steps and the summaries of
// other programs by the log, our own summaries and what failed as it was stored.
func Requests(s *Session) ([]Request, error) { return s.account().requests(), nil }

// Sums is what a session took, by what it was paid for: what Report.Bill says of it.
func Sums(s *Session) (bill.Sums, error) { return s.account().sums(), nil }

// SumsOf does the same from what is stored. model is the one that answered requests that name none.
func SumsOf(state store.State, log []session.Message, model string, prices *bill.Prices) bill.Sums {
	return account{state, log, model, prices}.sums()
}

// account is what the requests of a session are known by.
type account struct {
	state  store.State
	log    []session.Message
	model  string // that answered what names none
	prices *bill.Prices
}

func (s *Session) account() account { return account{s.State, s.Log, s.Model.String(), s.Prices} }

// of lists the requests that a message of the log answers, but for what is stored as spent.
func (a account) of(m *session.Message) []bill.Request {
	if m.IsSummary() {
		for i := range a.state.Receipts {
			if r := &a.state.Receipts[i]; r.Summary == m.ID && len(r.Usage) > 0 {
				return nil
			}
		}
	}
	return bill.Requests(m)
}

// bill is what a request took. One that names no model was answered by the session's.
func (a account) bill(r bill.Request) bill.Bill {
	r.Model = cmp.Or(r.Model, a.model)
	return a.prices.Of(r)
}

func (a account) spent(x *store.Spend) bill.Bill { return Spent(x, a.model, a.prices) }

// Spent is the bill of something that was stored when it was paid. model is the one that answered
// where none is named.
func Spent(x *store.Spend, model string, prices *bill.Prices) bill.Bill {
	r := bill.Request{Model: cmp.Or(x.Model, model), Usage: &x.Usage, Logged: &x.Cost}
	if x.Cost > 0 {
		r.Usage = nil // what it cost when it was paid
		b := prices.Of(r)
		b.Usage = x.Usage
		return b
	}
	beside := x.Kind == string(bill.Agent) || x.Kind == string(bill.Left)
	if x.Failed && x.Usage.Prompt()+x.Usage.Output+x.Usage.Reasoning == 0 && !beside {
		return bill.Bill{Requests: 1} // it failed before anything was taken
	}
	return prices.Of(r)
}

func (a account) requests() []Request {
	all := []Request{}
	for i := range a.log {
		for _, r := range a.of(&a.log[i]) {
			if !r.Silent() {
				model := cmp.Or(r.Model, a.model)
				all = append(all, Request{Time: r.Time, Kind: string(r.Kind), Model: model, Bill: a.bill(r)})
			}
		}
	}
	for i := range a.state.Spent {
		if x := &a.state.Spent[i]; x.Failed || x.Kind != "step" {
			all = append(all, Request{Time: x.Time, Kind: x.Kind, Model: x.Model, Bill: a.spent(x), Failed: x.Failed})
		}
	}
	slices.SortStableFunc(all, func(a, b Request) int { return cmp.Compare(a.Time, b.Time) })
	return all
}

// bills fills in what a gauge says of costs: steps and the summaries of other programs as the log
// has them, our own summaries and what failed as it was stored when it was paid.
func (a account) bills(g *Gauge) {
	for i := range a.log {
		for _, r := range a.of(&a.log[i]) {
			switch {
			case r.Silent():
				g.Unreported++
			case r.Kind == bill.Summary:
				g.Summaries = g.Summaries.Plus(a.bill(r))
			default:
				g.Last = a.bill(r)
				g.Steps = g.Steps.Plus(g.Last)
			}
		}
	}
	var summaries bill.Bill
	for i := range a.state.Spent {
		x := &a.state.Spent[i]
		to := &summaries
		switch {
		case x.Failed:
			to = &g.Failed
		case x.Kind == string(bill.Agent):
			to = &g.Agents
		case x.Kind == string(bill.Left):
			to = &g.Left
		case x.Kind == "step":
			continue // the log has it
		}
		*to = to.Plus(a.spent(x))
	}
	g.Summaries = g.Summaries.Plus(summaries)
}

func (a account) sums() bill.Sums {
	var g Gauge
	a.bills(&g)
	return g.Sums()
}

// summaryCalls are the requests to models for summaries, as they were stored when they were paid.
func (a account) summaryCalls() (sum SummaryCalls) {
	var paid bill.Bill
	for i := range a.state.Spent {
		s := &a.state.Spent[i]
		if s.Kind != "summary" {
			continue
		}
		sum.Calls++
		if s.Failed {
			sum.Failed++
		}
		sum.Usage = sum.Usage.Add(s.Usage)
		paid = paid.Plus(a.spent(s))
	}
	if sum.Calls > 0 {
		sum.Cost = paid.Dollars()
	}
	return sum
}

// unpriced are the models without a price that answered something, sorted by name.
func (a account) unpriced() []string {
	var names []string
	note := func(r bill.Request) {
		if a.bill(r).Unpriced > 0 {
			names = append(names, r.Priced(a.model))
		}
	}
	for i := range a.log {
		for _, r := range a.of(&a.log[i]) {
			note(r)
		}
	}
	for i := range a.state.Spent {
		if x := &a.state.Spent[i]; x.Cost == 0 && (x.Kind != "step" || x.Failed) {
			note(bill.Request{Model: x.Model, Usage: &x.Usage})
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Beside is what to store of requests that a file tells of beside the session in it: see
// format.Document.
func Beside(requests []bill.Request) []store.Spend {
	spent := make([]store.Spend, 0, len(requests))
	for _, r := range requests {
		s := store.Spend{Time: r.Time, Kind: string(r.Kind), Message: r.ID, Model: r.Model}
		if r.Usage != nil {
			s.Usage = *r.Usage
		}
		if r.Logged != nil {
			s.Cost = *r.Logged
		}
		spent = append(spent, s)
	}
	return spent
}

// Stands reports whether what a receipt of a session is for counts now, or was taken back: all of
// it, of the elisions of a pruning.
func Stands(state store.State, r *pivot.Receipt) bool {
	switch {
	case r.Kind == pivot.Pinning && r.Pinned != nil:
		return slices.ContainsFunc(state.Pins, func(p rule.Pin) bool { return p.ID == r.Pinned.ID })
	case r.Kind == pivot.Restoring || r.Kind == pivot.Pinning:
		return !state.Undone[r.ID]
	case r.Marker != "":
		return !state.Undone[r.Marker]
	}
	if len(r.Committed) == 0 && len(r.Replaced) > 0 { // it showed something whole again, and left nothing out
		return len(Standing(state.Ledger, r.Replaced)) == 0
	}
	return len(Standing(state.Ledger, r.Committed)) > 0
}

// Standing are those of some elisions that stand as they are, and have not been replaced by others.
func Standing(ledger rule.Ledger, elisions []rule.Elision) []rule.Elision {
	var own []rule.Elision
	for _, el := range elisions {
		for _, standing := range ledger.Of(el.Part) {
			if standing.Field == el.Field && standing.Rule == el.Rule && standing.Shown == el.Shown {
				own = append(own, el)
			}
		}
	}
	return own
}
