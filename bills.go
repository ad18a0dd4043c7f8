package winnow

import (
	"cmp"
	"context"
	"slices"

	"github.com/winnowhq/winnow/bill"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
)

// Bill sums up requests to models; see package bill.
type Bill = bill.Bill

// bills sums up what the session took: its steps and the summaries of other programs as the log has them, the engine's own summaries and what failed as it
// was stored when it was paid.
func (e *Engine) bills(l *live, g *Gauge) {
	b, s := &l.gauging.log, &l.gauging.spent
	if b.upTo == 0 {
		b.steps, b.summaries, b.last, b.unreported = Bill{}, Bill{}, Bill{}, 0
	}
	add := func(m *session.Message, steps, summaries, last *Bill, unreported *int) {
		for _, r := range l.requestsOf(m) {
			if r.Silent() {
				*unreported++
				continue
			}
			one := e.billOf(l, r)
			if r.Kind == bill.Summary {
				*summaries = summaries.Plus(one)
				continue
			}
			*steps, *last = steps.Plus(one), one
		}
	}
	for ; b.upTo < len(l.log)-settled; b.upTo++ {
		add(&l.log[b.upTo], &b.steps, &b.summaries, &b.last, &b.unreported)
	}
	g.Steps, g.Summaries, g.Last, g.Unreported = b.steps, b.summaries, b.last, b.unreported
	for i := b.upTo; i < len(l.log); i++ {
		add(&l.log[i], &g.Steps, &g.Summaries, &g.Last, &g.Unreported)
	}
	for ; s.upTo < len(l.state.Spent); s.upTo++ {
		x := &l.state.Spent[s.upTo]
		one := e.billOfSpend(l, x)
		switch {
		case x.Failed:
			s.failed = s.failed.Plus(one)
		case x.Kind == string(bill.Agent):
			s.agents = s.agents.Plus(one)
		case x.Kind == string(bill.Left):
			s.left = s.left.Plus(one)
		case x.Kind != "step":
			s.summaries = s.summaries.Plus(one)
		}
	}
	g.Summaries, g.Failed, g.Agents, g.Left = g.Summaries.Plus(s.summaries), s.failed, s.agents, s.left
}

// Request is one request that a session took.
type Request struct {
	Time  session.Millis `json:"time"`
	Kind  string         `json:"kind"` // "step", "summary", "agent" and "left" of what an imported file tells beside its log, or what else was stored
	Model string         `json:"model"`
	Bill  Bill           `json:"bill"`
	// Failed says that it was paid for in vain.
	Failed bool `json:"failed,omitzero"`
}

// Requests lists what the bills of a gauge sum up, oldest first: the steps and the summaries of other programs by the log, the engine's own summaries and
// what failed as it was stored.
func (e *Engine) Requests(ctx context.Context, id string) ([]Request, error) {
	l, err := e.lock(ctx, "requests", id)
	if err != nil {
		return nil, err
	}
	defer l.mu.Unlock()
	all := []Request{}
	for i := range l.log {
		m := &l.log[i]
		for _, r := range l.requestsOf(m) {
			if r.Silent() {
				continue
			}
			all = append(all, Request{Time: r.Time, Kind: string(r.Kind), Model: cmp.Or(r.Model, l.model.String()), Bill: e.billOf(l, r)})
		}
	}
	for i := range l.state.Spent {
		if x := &l.state.Spent[i]; x.Failed || x.Kind != "step" {
			all = append(all, Request{Time: x.Time, Kind: x.Kind, Model: x.Model, Bill: e.billOfSpend(l, x), Failed: x.Failed})
		}
	}
	slices.SortStableFunc(all, func(a, b Request) int { return cmp.Compare(a.Time, b.Time) })
	return all, nil
}

// stored reports whether what a summary cost stands in what is stored as spent.
func (l *live) stored(summary string) bool {
	for i := range l.state.Receipts {
		if r := &l.state.Receipts[i]; r.Summary == summary {
			return len(r.Usage) > 0
		}
	}
	return false
}

// Sums is what a session took, by what it was paid for: what Report.Bill says of it. It reads the log and keeps nothing of it at hand.
func (e *Engine) Sums(ctx context.Context, id string) (bill.Sums, error) {
	e.mu.Lock()
	atHand := e.live[id] != nil
	e.mu.Unlock()
	if atHand {
		l, err := e.lock(ctx, "sums", id)
		if err != nil {
			return bill.Sums{}, err
		}
		defer l.mu.Unlock()
		return e.sums(l), nil
	}
	state, err := e.config.Store.State(ctx, id)
	if err != nil {
		return bill.Sums{}, e.failed("sums", id, err)
	}
	l := &live{id: id, state: state, log: make([]session.Message, 0, state.Messages)}
	for m, err := range e.config.Store.Messages(ctx, id) {
		if err != nil {
			return bill.Sums{}, e.failed("sums", id, err)
		}
		l.log = append(l.log, m)
	}
	slices.Reverse(l.log)
	l.model = e.modelOf(state.Info, l.log)
	return e.sums(l), nil
}

// sums is what the session took, by what it was paid for.
func (e *Engine) sums(l *live) bill.Sums {
	var g Gauge
	e.bills(l, &g)
	return g.Sums()
}

// requestsOf are those that a message of the log answers, but for what is stored as spent.
func (l *live) requestsOf(m *session.Message) []bill.Request {
	if m.IsSummary() && l.stored(m.ID) {
		return nil
	}
	return bill.Requests(m)
}

// billOf is what a request took. One that names no model was answered by the session's.
func (e *Engine) billOf(l *live, r bill.Request) Bill {
	r.Model = cmp.Or(r.Model, l.model.String())
	return e.prices(l).Of(r)
}

func (e *Engine) billOfSpend(l *live, x *store.Spend) Bill {
	r := bill.Request{Model: x.Model, Usage: &x.Usage, Logged: &x.Cost}
	if x.Cost > 0 {
		r.Usage = nil // what it cost when it was paid
		b := e.billOf(l, r)
		b.Usage = x.Usage
		return b
	}
	if x.Failed && x.Usage.Prompt()+x.Usage.Output+x.Usage.Reasoning == 0 && !beside(x.Kind) {
		return Bill{Requests: 1} // it failed before anything was taken
	}
	return e.billOf(l, r)
}

// unpriced are the models without a price of which a session took something, in the order of their names.
func (e *Engine) unpriced(l *live) []string {
	var names []string
	note := func(r bill.Request) {
		if e.billOf(l, r).Unpriced == 0 {
			return
		}
		if name := r.Priced(l.model.String()); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	for i := range l.log {
		for _, r := range l.requestsOf(&l.log[i]) {
			note(r)
		}
	}
	for i := range l.state.Spent {
		if x := &l.state.Spent[i]; x.Cost == 0 && (x.Kind != "step" || x.Failed) {
			note(bill.Request{Model: x.Model, Usage: &x.Usage})
		}
	}
	slices.Sort(names)
	return names
}

// beside reports whether a kind of what was spent is of requests that the file of an imported session tells of beside its log.
func beside(kind string) bool { return kind == string(bill.Agent) || kind == string(bill.Left) }

// Beside is what to store of requests that a file tells of beside the session in it: see format.Document.
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

// prices finds the models of requests.
func (e *Engine) prices(l *live) *bill.Prices {
	if l.gauging.prices == nil {
		l.gauging.prices = bill.NewPrices(e.config.Models.Lookup)
	}
	return l.gauging.prices
}
