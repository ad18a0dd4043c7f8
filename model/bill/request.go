package bill

import (
	"cmp"
	"math"

	"github.com/winnowhq/winnow/model"
	"github.com/winnowhq/winnow/session"
)

// Kind says what a request was for.
type Kind string

const (
	Step    Kind = "step"
	Summary Kind = "summary"
	Agent   Kind = "agent" // of a sub-agent
	// what it gave is no part of the session: of a branch that was left, or an answer that the log
	// does not have
	Left   Kind = "left"
	Wasted Kind = "vain" // it came to nothing
)

// Request is one request to a model as a log tells of it.
type Request struct {
	ID    string // of the message that answers it, or the provider's own
	Kind  Kind
	Time  session.Millis
	Model string         // "anthropic/claude-sonnet-4-5"; "" where the log names none
	Usage *session.Usage // nil: the log has no report
	// Logged is what the log says that it cost, in US dollars; nil where it does not.
	Logged *float64
}

// Priced names what a price is missing of: the model, else the session's, with the service where
// that is not the usual one: "anthropic/claude-opus-4-6 (fast)".
func (r *Request) Priced(session string) string {
	name := cmp.Or(r.Model, session)
	if r.Usage != nil && r.Usage.Tier != "" {
		name += " (" + r.Usage.Tier + ")"
	}
	return name
}

// Silent reports whether the log says nothing of what it took.
func (r *Request) Silent() bool { return !taken(r.Usage) && !(r.Logged != nil && *r.Logged > 0) }

// Requests are those that a message of the log answers: one, where its steps do not report
// themselves; none, where no model was asked.
func Requests(m *session.Message) []Request {
	if m.Role != session.Assistant || m.Repeats != "" {
		return nil
	}
	one := Request{ID: m.ID, Kind: Step, Time: m.Time.Created, Usage: m.Tokens, Logged: m.Cost}
	if m.IsSummary() {
		one.Kind = Summary
	}
	by := m.Answers()
	one.Model = by.String()
	if steps := reported(m, one); len(steps) > 1 {
		return steps
	}
	silent := one.Silent()
	// A program that says something in the model's place asked nobody, nor did what failed with
	// nothing said. A summary that was made from the log alone asked nobody either.
	if silent && (by == nil && (m.ModelID != "" || m.Failed()) || m.Failed() && !says(m) || m.IsSummary()) {
		return nil
	}
	return []Request{one}
}

// reported are the steps of a message that holds several, each with its own report.
func reported(m *session.Message, one Request) []Request {
	var steps []Request
	for i := range m.Parts {
		if p := &m.Parts[i]; p.Type == session.StepFinishPart && (taken(p.Tokens) || p.Cost != nil && *p.Cost > 0) {
			step := one
			step.Usage, step.Logged = p.Tokens, p.Cost
			steps = append(steps, step)
		}
	}
	return steps
}

func says(m *session.Message) bool {
	for i := range m.Parts {
		if p := &m.Parts[i]; p.Type == session.ToolPart ||
			(p.Type == session.TextPart || p.Type == session.ReasoningPart) && !p.Ignored && p.Text != "" {
			return true
		}
	}
	return false
}

// taken reports whether a report says anything.
func taken(u *session.Usage) bool { return u != nil && Usage(*u) != model.Usage{} }

// Prices finds the models of requests, and remembers them.
type Prices struct {
	find  func(name string) model.Model
	known map[string]model.Model
}

// NewPrices finds models by their names with a function, which is asked once a name. It is asked
// for "" where a log names no model.
func NewPrices(find func(name string) model.Model) *Prices {
	return &Prices{find: find, known: map[string]model.Model{}}
}

// Model of a name.
func (p *Prices) Model(name string) model.Model {
	m, known := p.known[name]
	if !known {
		m = p.find(name)
		p.known[name] = m
	}
	return m
}

// Of is the bill of one request: what its model's price list says of its usage, or what the log
// says where there is no price or no report.
func (p *Prices) Of(r Request) Bill {
	b := Bill{Requests: 1}
	logged, told := 0.0, false
	if r.Logged != nil && *r.Logged > 0 && !math.IsInf(*r.Logged, 0) {
		logged, told = *r.Logged, true
	}
	plausible := taken(r.Usage) && Usage(*r.Usage).Plausible()
	known := false
	if plausible {
		b.Usage = *r.Usage
		b.Usage.Unknown, b.Usage.Cache.Unknown, b.Usage.Tier = nil, nil, ""
		b.Cost, known = p.Model(r.Model).Cost(Usage(*r.Usage))
	}
	switch {
	case known && told:
		b.Logged, b.Counted = logged, b.Cost
	case known:
	case told:
		b.Cost = logged
	case plausible:
		b.Unpriced = 1
	default:
		b.Unreported = 1
	}
	return b
}

// Of sums up a log, and what its file tells beside it.
func Of(messages []session.Message, beside []Request, prices *Prices) Sums {
	var sums Sums
	for i := range messages {
		for _, r := range Requests(&messages[i]) {
			sums.Add(r.Kind, prices.Of(r))
		}
	}
	for _, r := range beside {
		sums.Add(r.Kind, prices.Of(r))
	}
	return sums
}
