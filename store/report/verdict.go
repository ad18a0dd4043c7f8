package report

import (
	"github.com/winnowhq/winnow/plan/budget"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/session"
)

// Verdict is what the policy in force makes of the newest usage that was reported in the window. It
// is by the policy's own formula: that of classic and aggressive adds input, cache reads and output
// up (S001 phase 1), that of balanced cache writes and what came since as well.
type Verdict struct {
	budget.Verdict
	Step string `json:"step,omitzero"` // id of the message that it was reported for
	// Whether something was left out, or shown again, since: the next report will be another one.
	Stale bool `json:"stale,omitzero"`
}

// verdict judges the newest report; nil when the window has none.
func (s *Session) verdict() *Verdict {
	window := s.window()
	for i := len(s.Log) - 1; i >= 0 && len(window) > 0; i-- {
		m := &s.Log[i]
		if m.IsSummary() {
			break // what was reported before is of another window
		}
		if !reports(m) {
			continue
		}
		v, over := s.Policy.Overflows(s.Planner, *m.Tokens, Pending(s.Log, i, s.Facts))
		v.Overflow = over
		return &Verdict{Verdict: v, Step: m.ID, Stale: s.changes().since(i, m)}
	}
	return nil
}

// reports reports whether a message is a request with a report of what it took.
func reports(m *session.Message) bool {
	return m.Role == session.Assistant && !m.IsSummary() && m.Tokens != nil &&
		(m.Tokens.Prompt() > 0 || m.Tokens.Output > 0)
}

// Judge says whether the window overflows: by the verdict, where one stands, else by what it was
// measured at.
func (w *Window) Judge(full bool) {
	used := w.Tokens + w.Overhead
	switch {
	case w.Verdict != nil && !w.Verdict.Stale:
		w.Overflow = w.Verdict.Overflow
	case w.Usable > 0:
		w.Overflow = used > w.Usable || full && used == w.Usable
	}
}

// Pending estimates what a report for the step at a position of the log does not have: the results
// of its calls, and what was appended since.
func Pending(log []session.Message, at int, facts *rule.Facts) int {
	pending := 0
	for j := range log[at].Parts {
		if p := &log[at].Parts[j]; p.Type == session.ToolPart {
			size := facts.Size(p)
			pending += size.Output + size.Files
		}
	}
	return pending + facts.Total(log[at+1:])
}

// change is when the view was changed: by how many messages the log had, 0 where only the time is
// known.
type change struct {
	log  int
	time session.Millis
}

// changes are all changes of the view that stand in receipts and in the ledger.
type changes []change

func (s *Session) changes() (all changes) {
	known := map[session.Millis]bool{}
	for i := range s.State.Receipts {
		r := &s.State.Receipts[i]
		all, known[r.Time] = append(all, change{r.Log, r.Time}), true
	}
	for _, el := range s.State.Ledger.All() {
		if !known[el.Time] && el.Time != 0 {
			all, known[el.Time] = append(all, change{0, el.Time}), true
		}
	}
	return all
}

// since reports whether something was changed after a step was asked for.
func (c changes) since(position int, step *session.Message) bool { return c.after(position, step) > 0 }

// after is how many of the changes were made after a step was asked for.
func (c changes) after(position int, step *session.Message) (n int) {
	for _, one := range c {
		if one.log > position || one.log == 0 && one.time > step.Time.Created {
			n++
		}
	}
	return n
}

// Cut is a window that the server seems to have and does not tell.
type Cut struct {
	budget.Cut
	Text string `json:"text"` // the observation, and what to do, as a sentence
}

// Cut looks through what was reported in the window for a server that cuts what it is sent; nil
// where none does, or where the log does not say when something was left out.
func (s *Session) Cut() *Cut {
	for _, el := range s.State.Ledger.All() {
		if el.Time == 0 {
			return nil
		}
	}
	var watch budget.Watch
	all, made, unsure, model, turn := s.changes(), -1, 0, "", false
	for i := range s.Log {
		m := &s.Log[i]
		sent := s.View.TokensBefore(i)
		if reports(m) && sent >= 0 {
			left, by := all.after(i, m), ""
			if ref := m.Answers(); ref != nil {
				by = ref.String()
			}
			watch = watch.Next(budget.Sent{Tokens: sent - unsure, Reported: m.Tokens.Prompt(),
				Changed: left != made || by != model, Turn: turn})
			made, model, turn = left, by, false
		}
		turn = turn || m.Role == session.User
		if sent >= 0 {
			unsure += Unsure(m, s.Facts)
		}
	}
	found, ok := watch.Cut()
	if !ok {
		return nil
	}
	return &Cut{found, found.Explain(s.Model) + "; or the agent left out what its log does not tell"}
}

// Unsure is how many tokens of a message a server may leave out by right, or counts by rules of its
// own: reasoning and media.
func Unsure(m *session.Message, facts *rule.Facts) (tokens int) {
	for j := range m.Parts {
		size := facts.Size(&m.Parts[j])
		if tokens += size.Files; m.Parts[j].Type == session.ReasoningPart {
			tokens += size.Text
		}
	}
	return tokens
}
