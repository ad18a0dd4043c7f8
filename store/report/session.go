// Package report computes what people look at from a session and its state: what takes the space,
// why each part is shown as it is, how full the window is, and what the session has cost. It
// changes nothing.
package report

import (
	"strings"

	"github.com/winnowhq/winnow/model"
	"github.com/winnowhq/winnow/model/bill"
	"github.com/winnowhq/winnow/plan/pivot"
	"github.com/winnowhq/winnow/plan/policy"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/plan/view"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
)

// Session is a session as it stands, with everything that is needed to report on it. Nothing of it
// is changed but Scale.
type Session struct {
	State   store.State
	Log     []session.Message
	Model   model.Model // that reads it
	Policy  policy.Policy
	Facts   *rule.Facts
	Handles *rule.Handles // of all parts of the log
	View    *view.Live    // of the log, up to date
	Prices  *bill.Prices

	// Next is the occasion of the next request, and Planner the state that it finds.
	Next    policy.Occasion
	Planner policy.State
	// Overhead is what system prompt and tools take, in tokens, as reports told; 0 is unknown.
	Overhead int
	// Refold says why compacting now would only repeat the last summary, nil when it would not.
	Refold func() *rule.Refusal

	// Prefix is what every request begins with, nil when that is unknown.
	Prefix *pivot.Prefix
	// Reported is the usage of the newest step, and Estimated what the view was estimated at then;
	// -1 when no report speaks of the view as it is.
	Reported  session.Usage
	Estimated int
	// Scale is how many of the provider's tokens one of the estimate stood for at the newest
	// report, 0 when that is unknown. Measure keeps it for the time when the view is another one
	// and not yet reported on.
	Scale *float64
}

// Missing is the error of something that a session does not have.
type Missing struct {
	Op, What string
	// Withheld: the session has it, and its text was kept out of the store.
	Withheld bool
}

func (m *Missing) Error() string { return "there is no " + m.What }

// Find returns the part that a name stands for, with its message: the name is the id of a part, of
// a call, or a handle. Both are nil when it names nothing.
func Find(log []session.Message, handles *rule.Handles, name string) (*session.Message, *session.Part) {
	if m, p := session.FindPart(log, name); p != nil {
		return m, p
	}
	handles.Name(log)
	if part := handles.Part(name); part != "" {
		return session.FindPart(log, part)
	}
	return nil, nil
}

// Reader names the model that reads a session, "provider/id": by the newest message that names one,
// else by the session, else the one that is given.
func Reader(info session.Info, log []session.Message, otherwise string) string {
	for i := len(log) - 1; i >= 0; i-- {
		if m := &log[i]; !m.IsSummary() {
			if ref := m.Answers(); ref != nil && ref.String() != "" {
				return ref.String()
			}
		}
	}
	if info.Model != nil && info.Model.String() != "" {
		return info.Model.String()
	}
	return otherwise
}

func (s *Session) id() string { return s.State.Info.ID }

func (s *Session) window() []session.Message { return s.View.Window() }

// shown is the size of a part in the view, in tokens.
func (s *Session) shown(p *session.Part) int { return s.View.PartTokens(p, s.State.Ledger, s.Facts) }

// firstActive is the position of the first message of the last turns, which the policy leaves
// alone.
func (s *Session) firstActive() int {
	active := rule.DefaultProtectTurns
	if b, ok := s.Policy.Backward(); ok {
		active = b.Turns
	}
	if turns := session.Turns(s.Log); len(turns) > 0 && active > 0 {
		return turns[max(0, len(turns)-active)].Start
	}
	return len(s.Log)
}

// quotedTokens is what a part takes when it is quoted behind a summary.
func (s *Session) quotedTokens(part string) int {
	id := pivot.Identity{NewID: func(string) string { return "" }}
	m := pivot.QuotationMessage(id, s.id(), nil, session.Note{}, pivot.QuoteRestored(s.Log, part))
	return view.Message(&m, rule.Ledger{}, s.Facts)
}

// Switch returns the configuration key that turns a rule off under a policy. It is "" for what no
// key governs: marks of other products, and what somebody asked for.
func Switch(ruleName, policyName string) string { return policy.Key(ruleName, policyName) }

func firstLine(text string) string {
	start := min(1, len(text)) // a break before the first word ends nothing
	line, _, _ := strings.Cut(text[start:], "\n")
	return text[:start] + line
}
