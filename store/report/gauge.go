package report

import (
	"github.com/winnowhq/winnow/model/bill"
	"github.com/winnowhq/winnow/plan/budget"
	"github.com/winnowhq/winnow/plan/view"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/text/span"
)

// Gauge says how full the window of a session is, and what the session has cost (S004, the resource
// bar). Sizes are in tokens, costs in US dollars.
type Gauge struct {
	Model string `json:"model"`

	// What fills the window, as strata: their sum is Total. System and Tools are what every request
	// begins with, Pinned what pins hold, in messages of the window and under the summary, Summary
	// what else the window begins with after a compaction, Live everything else.
	System  int `json:"system"`
	Tools   int `json:"tools"`
	Pinned  int `json:"pinned"`
	Summary int `json:"summary"`
	Live    int `json:"live"`
	// Split says that System and Tools were told apart, in proportion to what Config.Prefix says of
	// each; else System has both.
	Split bool `json:"split"`
	// Learned says that a report told what both take together. Else they are counted from
	// Config.Prefix, and are 0 where that is unknown too.
	Learned bool `json:"learned"`
	// Elided is what the ledger keeps out of this window, no part of Total, and ElidedParts of how
	// many parts.
	Elided      int `json:"elided"`
	ElidedParts int `json:"elidedParts"`

	Total int `json:"total"`
	// Reported says that Total is what the provider counted for the newest step, with what came in
	// since by estimate. Else all of it is an estimate: that of View and Inspect, or, after a
	// commit or a compaction, that in proportion to what the provider made of it last.
	Reported bool `json:"reported"`
	Usable   int  `json:"usable"` // where the window is folded; 0 is unlimited
	// From here on a warning is due: at Usable where it was postponed, 0 where Usable is.
	Warn    int `json:"warn"`
	Context int `json:"context"` // of the model; 0 is unknown

	Bills
}

// Bills are what a session has cost, by what was paid for.
type Bills struct {
	// Last is the newest step that was reported. Steps are all that stand in the log, Summaries the
	// calls for summaries that came to something, Failed requests of either kind that were paid for
	// in vain.
	Last      bill.Bill `json:"last"`
	Steps     bill.Bill `json:"steps"`
	Summaries bill.Bill `json:"summaries"`
	Failed    bill.Bill `json:"failed"`
	// Unreported is how many steps of the log say nothing of what they took. They are in none of
	// the bills but those of Sums.
	Unreported int `json:"unreported,omitzero"`
	// Agents and Left are requests that the file of an imported session tells of beside its log: of
	// sub-agents, and of branches that were left.
	Agents bill.Bill `json:"agents,omitzero"`
	Left   bill.Bill `json:"left,omitzero"`
}

// Percent is how much of the usable window is filled, 0 where that is unlimited. It may be above
// 100.
func (g Gauge) Percent() float64 {
	if g.Usable <= 0 {
		return 0
	}
	return 100 * float64(g.Total) / float64(g.Usable)
}

// Warns reports whether the window is so full that a warning is due.
func (g Gauge) Warns() bool { return g.Usable > 0 && g.Total >= g.Warn }

// Full reports whether the window has to be folded.
func (g Gauge) Full() bool { return g.Usable > 0 && g.Total >= g.Usable }

// All is the bill of the whole session.
func (g Gauge) All() bill.Bill {
	return g.Steps.Plus(g.Summaries).Plus(g.Failed).Plus(g.Agents).Plus(g.Left)
}

// Sums are the bills of the whole session, by what was paid for, with the steps that say nothing.
func (g Gauge) Sums() bill.Sums {
	steps := g.Steps.Plus(bill.Bill{Requests: g.Unreported, Unreported: g.Unreported})
	return bill.Sums{Steps: steps, Summaries: g.Summaries, Agents: g.Agents, Left: g.Left, Failed: g.Failed}
}

// Measure measures how full the window of a session is, and what the session has cost.
func Measure(s *Session) (Gauge, error) {
	g := Gauge{Model: s.Model.String(), Context: s.Model.Limits.Context}
	if usable := s.Policy.Budget.Usable(s.Model); !usable.Unlimited {
		g.Usable = usable.Threshold
		if g.Warn = int(budget.WarnAt * float64(g.Usable)); Postponed(s.State.Info) {
			g.Warn = g.Usable
		}
	}
	s.strataOf(&g)
	s.account().bills(&g)
	return g, nil
}

// LaterMember is the member of a session's info that postpones warnings of a window that fills up:
// true until the window is full. Engine.Amend sets it.
const LaterMember = "winnowWarnLater"

// Postponed reports whether somebody said "later" to the warning of a session.
func Postponed(info session.Info) bool {
	return string(span.Get([]byte(info.Unknown), LaterMember)) == "true"
}

// leastScaled is how many tokens messages must be estimated at to tell how the provider counts
// them.
const leastScaled = 1_000

// strataOf measures what fills the window.
func (s *Session) strataOf(g *Gauge) {
	window := s.window()
	var system, tools int
	if s.Prefix != nil {
		system, tools = s.Facts.Count(s.Prefix.System), s.Facts.Count(string(s.Prefix.Tools))
	}
	overhead := s.Overhead
	if g.Learned = overhead > 0; !g.Learned {
		overhead = system + tools
	}
	s.pinnedAndElided(g, window)
	if view.Pivot(window) != nil {
		for i := range window[:2] {
			g.Summary += view.Message(&window[i], s.State.Ledger, s.Facts)
		}
	}
	messages := s.View.Tokens()
	g.Total = overhead + messages
	total, reported := s.reportedTotal()
	switch {
	case reported:
		if *s.Scale = 0; g.Learned && messages >= leastScaled {
			*s.Scale = min(3, max(1./3, float64(total-overhead)/float64(messages)))
		}
	case *s.Scale > 0: // the view is another one since, by what was left out or folded
		total = overhead + int(*s.Scale*float64(messages))
	}
	if total > 0 {
		// The provider counts differently. What it counts in all is true, and the shares of the
		// estimate are kept.
		g.Total, g.Reported = total, reported
		overhead = min(overhead, total)
		g.Pinned = portion(g.Pinned, total-overhead, messages)
		g.Summary = portion(g.Summary, total-overhead, messages)
	}
	g.Live = g.Total - overhead - g.Pinned - g.Summary
	g.System = overhead
	if g.Split = system+tools > 0; g.Split {
		g.Tools = portion(tools, overhead, system+tools)
		g.System = overhead - g.Tools
	}
}

// portion is what a part of a whole is of another whole.
func portion(part, of, whole int) int {
	if whole <= 0 {
		return 0
	}
	return int(float64(min(part, whole)) / float64(whole) * float64(of))
}

// reportedTotal is what the provider counted for the newest step, and what the view has more since.
// ok is false when no report speaks of the view, or it says more than the model can take and cannot
// be of one request.
func (s *Session) reportedTotal() (total int, ok bool) {
	prompt := s.Reported.Prompt()
	if s.Estimated < 0 || prompt <= 0 || s.Model.Limits.Context > 0 && prompt > s.Model.Limits.Context {
		return 0, false
	}
	at := len(s.Log) - 1
	for ; at >= 0; at-- {
		if m := &s.Log[at]; m.Role == session.Assistant && m.Tokens != nil && m.Tokens.Prompt() == prompt &&
			m.Tokens.Output == s.Reported.Output {
			break
		}
	}
	if at < 0 {
		return 0, false
	}
	before, after := s.View.TokensBefore(at), s.View.Tokens()
	if at+1 < len(s.Log) {
		after = s.View.TokensBefore(at + 1)
	}
	if before < 0 || after < 0 {
		return 0, false
	}
	total = prompt + s.Reported.Output + before - s.Estimated + s.View.Tokens() - after
	for j := range s.Log[at].Parts {
		if p := &s.Log[at].Parts[j]; p.Type == session.ToolPart {
			size := view.Part(p, s.State.Ledger, s.Facts)
			total += size.Output + size.Files
		}
	}
	return max(0, total), true
}

// pinnedAndElided measures what pins hold of the messages of the window, and what the ledger keeps
// out of it.
func (s *Session) pinnedAndElided(g *Gauge, window []session.Message) {
	parts, messages := map[string]bool{}, map[string]bool{}
	for _, p := range s.State.Pins {
		parts[p.Part], messages[p.Message] = p.Part != "", p.Message != ""
	}
	summary := view.Pivot(window) // what is pinned of it counts as the summary
	for i := range window {
		m := &window[i]
		quoted := isKept(m)
		for j := range m.Parts {
			p := &m.Parts[j]
			if s.State.Ledger.Touches(p.ID) {
				g.ElidedParts++
				g.Elided += s.elided(p)
			}
			if quoted || m != summary && (parts[p.ID] || messages[m.ID]) {
				g.Pinned += s.shown(p)
			}
		}
	}
}
