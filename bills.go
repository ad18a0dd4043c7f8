package winnow

import (
	"cmp"
	"context"
	"slices"

	"github.com/winnowhq/winnow/model"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
)

// Bill sums up requests to models.
type Bill struct {
	Requests int           `json:"requests"`
	Usage    session.Usage `json:"usage"`
	Cost     float64       `json:"cost"` // of those whose price is known
	// Unpriced is how many took tokens at a price that nobody knows.
	Unpriced int `json:"unpriced,omitzero"`
}

// CacheShare is how much of the prompts was read from the provider's cache, between 0 and 1.
func (b Bill) CacheShare() float64 {
	if prompt := b.Usage.Prompt(); prompt > 0 {
		return float64(b.Usage.Cache.Read) / float64(prompt)
	}
	return 0
}

// Plus sums up two bills.
func (b Bill) Plus(c Bill) Bill {
	return Bill{b.Requests + c.Requests, b.Usage.Add(c.Usage), b.Cost + c.Cost, b.Unpriced + c.Unpriced}
}

// bills sums up what the session took: its steps and the summaries of other programs as the log has them, the engine's own summaries and what failed as it
// was stored when it was paid.
func (e *Engine) bills(l *live, g *Gauge) {
	b, s := &l.gauging.log, &l.gauging.spent
	if b.upTo == 0 {
		b.steps, b.summaries, b.last = Bill{}, Bill{}, Bill{}
	}
	add := func(m *session.Message, steps, summaries, last *Bill) {
		one, ok := e.billOf(l, m)
		switch {
		case !ok || m.IsSummary() && l.stored(m.ID):
		case m.IsSummary():
			*summaries = summaries.Plus(one)
		default:
			*steps, *last = steps.Plus(one), one
		}
	}
	for ; b.upTo < len(l.log)-settled; b.upTo++ {
		add(&l.log[b.upTo], &b.steps, &b.summaries, &b.last)
	}
	g.Steps, g.Summaries, g.Last = b.steps, b.summaries, b.last
	for i := b.upTo; i < len(l.log); i++ {
		add(&l.log[i], &g.Steps, &g.Summaries, &g.Last)
	}
	for ; s.upTo < len(l.state.Spent); s.upTo++ {
		x := &l.state.Spent[s.upTo]
		one := e.billOfSpend(l, x)
		switch {
		case x.Failed:
			s.failed = s.failed.Plus(one)
		case x.Kind != "step":
			s.summaries = s.summaries.Plus(one)
		}
	}
	g.Summaries, g.Failed = g.Summaries.Plus(s.summaries), s.failed
}

// Request is one request that a session took.
type Request struct {
	Time  session.Millis `json:"time"`
	Kind  string         `json:"kind"` // "step", "summary", or what else was stored
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
		b, ok := e.billOf(l, m)
		if !ok || m.IsSummary() && l.stored(m.ID) {
			continue
		}
		r := Request{Time: m.Time.Created, Kind: "step", Model: l.model.String(), Bill: b}
		if m.IsSummary() {
			r.Kind = "summary"
		}
		if by := m.Answers(); by != nil && by.String() != "" {
			r.Model = by.String()
		}
		all = append(all, r)
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

// billOf is what a message says that it took; ok is false where it says nothing.
func (e *Engine) billOf(l *live, m *session.Message) (b Bill, ok bool) {
	if m.Tokens != nil {
		b.Usage = *m.Tokens
	}
	if m.Role != session.Assistant || !taken(b.Usage) && (m.Cost == nil || *m.Cost <= 0) {
		return b, false
	}
	b.Requests = 1
	name := ""
	if by := m.Answers(); by != nil {
		name = by.String()
	}
	switch {
	case m.Cost != nil && *m.Cost > 0:
		b.Cost = *m.Cost
	case !e.priced(l, name):
		b.Unpriced = 1
	default:
		b.Cost = e.reader(l, name).Cost(modelUsage(b.Usage))
	}
	return b, true
}

func (e *Engine) billOfSpend(l *live, x *store.Spend) Bill {
	b := Bill{Requests: 1, Usage: x.Usage, Cost: x.Cost}
	if x.Cost == 0 && taken(x.Usage) && !e.priced(l, x.Model) {
		b.Unpriced = 1
	}
	return b
}

func taken(u session.Usage) bool { return u.Prompt()+u.Output+u.Reasoning > 0 }

// priced reports whether the price of a model is known.
func (e *Engine) priced(l *live, name string) bool { return e.reader(l, name).Price.Known() }

// reader is the model of a name, that of the session where a message names none.
func (e *Engine) reader(l *live, name string) model.Model {
	if name == "" || e.config.ForceModel {
		return l.model
	}
	m, known := l.gauging.models[name]
	if !known {
		m = e.config.Models.Lookup(name)
		if l.gauging.models == nil {
			l.gauging.models = map[string]model.Model{}
		}
		l.gauging.models[name] = m
	}
	return m
}
