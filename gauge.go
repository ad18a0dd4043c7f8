package winnow

import (
	"context"
	"slices"

	"github.com/winnowhq/winnow/bill"
	"github.com/winnowhq/winnow/rule"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/view"
)

// Gauge says how full the window of a session is, and what the session has cost (S004, the resource bar). Sizes are in tokens, costs in US dollars.
type Gauge struct {
	Model string `json:"model"`

	// What fills the window, as strata: their sum is Total. System and Tools are what every request begins with, Pinned what pins hold, in messages of the
	// window and under the summary, Summary what else the window begins with after a compaction, Live everything else.
	System  int `json:"system"`
	Tools   int `json:"tools"`
	Pinned  int `json:"pinned"`
	Summary int `json:"summary"`
	Live    int `json:"live"`
	// Split says that System and Tools were told apart, in proportion to what Config.Prefix says of each; else System has both.
	Split bool `json:"split"`
	// Learned says that a report told what both take together. Else they are counted from Config.Prefix, and are 0 where that is unknown too.
	Learned bool `json:"learned"`
	// Elided is what the ledger keeps out of this window, no part of Total, and ElidedParts of how many parts.
	Elided      int `json:"elided"`
	ElidedParts int `json:"elidedParts"`

	Total int `json:"total"`
	// Reported says that Total is what the provider counted for the newest step, with what came in since by estimate. Else all of it is an estimate: that
	// of View and Inspect, or, after a commit or a compaction, that in proportion to what the provider made of it last.
	Reported bool `json:"reported"`
	Usable   int  `json:"usable"`  // where the window is folded; 0 is unlimited
	Warn     int  `json:"warn"`    // from here on a warning is due; 0 where Usable is
	Context  int  `json:"context"` // of the model; 0 is unknown

	// Last is the newest step that was reported. Steps are all that stand in the log, Summaries the calls for summaries that came to something, Failed
	// requests of either kind that were paid for in vain.
	Last      Bill `json:"last"`
	Steps     Bill `json:"steps"`
	Summaries Bill `json:"summaries"`
	Failed    Bill `json:"failed"`
	// Unreported is how many steps of the log say nothing of what they took. They are in none of the bills but those of Sums.
	Unreported int `json:"unreported,omitzero"`
	// Agents and Left are requests that the file of an imported session tells of beside its log: of sub-agents, and of branches that were left.
	Agents Bill `json:"agents,omitzero"`
	Left   Bill `json:"left,omitzero"`
}

// Percent is how much of the usable window is filled, 0 where that is unlimited. It may be above 100.
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
func (g Gauge) All() Bill {
	return g.Steps.Plus(g.Summaries).Plus(g.Failed).Plus(g.Agents).Plus(g.Left)
}

// Sums are the bills of the whole session, by what was paid for, with the steps that say nothing.
func (g Gauge) Sums() bill.Sums {
	steps := g.Steps.Plus(Bill{Requests: g.Unreported, Unreported: g.Unreported})
	return bill.Sums{Steps: steps, Summaries: g.Summaries, Agents: g.Agents, Left: g.Left, Failed: g.Failed}
}

// Gauge measures a session. It is meant to be called after every step: what it costs grows with what came in since the last call, not with the log.
func (e *Engine) Gauge(ctx context.Context, id string) (Gauge, error) {
	var begins Prefix
	told := false
	if e.config.Prefix != nil { // before the session is locked: it is the program's, and may ask the engine
		prefix, err := e.config.Prefix(ctx, id)
		begins, told = prefix, err == nil
	}
	l, err := e.lock(ctx, "gauge", id)
	if err != nil {
		return Gauge{}, err
	}
	defer l.mu.Unlock()
	g := Gauge{Model: l.model.String(), Context: l.model.Limits.Context}
	if usable := e.policy.Budget.Usable(l.model); !usable.Unlimited {
		g.Usable = usable.Threshold
		g.Warn = int(warnAt * float64(g.Usable))
	}
	l.strata(&g, begins, told)
	e.bills(l, &g)
	return g, nil
}

// gauging is what was counted for the gauge of a session: of all messages but the newest, which may be replaced.
type gauging struct {
	window struct {
		upTo                       int // position in the window
		pinned, elided, fewerParts int
		parts, messages            map[string]bool // that are pinned
	}
	scale  float64        // tokens of the provider for one of the estimate, by the newest report; 0: not known
	saved  map[string]int // by part, what elisions keep out of it; it holds while nothing about the part changes
	prefix struct {
		Prefix
		tools, system int
	}
	log struct {
		upTo             int
		steps, summaries Bill
		last             Bill
		unreported       int
	}
	spent struct {
		upTo                            int // position in what is stored as spent
		summaries, failed, agents, left Bill
	}
	prices *bill.Prices
}

// settled is how many of the newest messages are counted anew each time: those that a program may still replace.
const settled = rule.Noticed

// leastScaled is how many tokens messages must be estimated at to tell how the provider counts them.
const leastScaled = 1_000

// changed takes in that a change was made, before its messages are in the log; moves says that the ledger or the pivots are others now.
func (g *gauging) changed(c store.Change, moves bool) {
	folds := slices.ContainsFunc(c.Append, func(m session.Message) bool { return m.Marker() != nil || m.IsSummary() })
	if moves || folds || len(c.Pin)+len(c.Unpin) > 0 {
		g.window.upTo = 0
	}
	for i := range c.Commit {
		delete(g.saved, c.Commit[i].Part)
	}
	for _, key := range c.Restore {
		delete(g.saved, key.Part)
	}
}

// updated takes in that a message of the log was replaced, which has so many others behind it.
func (g *gauging) updated(m *session.Message, behind int) {
	if behind >= settled || m.Marker() != nil || m.IsSummary() {
		g.window.upTo, g.log.upTo = 0, 0
	}
	for j := range m.Parts {
		delete(g.saved, m.Parts[j].ID)
	}
}

// strata measures what fills the window.
func (l *live) strata(g *Gauge, begins Prefix, told bool) {
	now := l.look()
	window := now.Window()
	var system, tools int
	if told {
		system, tools = l.gauging.begins(l.facts, begins)
	}
	g.Learned = l.overhead() > 0
	overhead := l.base
	if !g.Learned {
		overhead = system + tools
	}
	g.Pinned, g.Elided, g.ElidedParts = l.pinnedAndElided(window)
	if view.Pivot(window) != nil {
		g.Summary = view.Message(&window[0], l.state.Ledger, l.facts) + view.Message(&window[1], l.state.Ledger, l.facts)
	}
	messages := now.Tokens()
	g.Total = overhead + messages
	total, reported := l.reportedTotal(now)
	switch scale := &l.gauging.scale; {
	case reported:
		if *scale = 0; g.Learned && messages >= leastScaled {
			*scale = min(3, max(1./3, float64(total-overhead)/float64(messages)))
		}
	case *scale > 0: // the view is another one since, by what was left out or folded
		total = overhead + int(*scale*float64(messages))
	}
	if total > 0 {
		// The provider counts differently. What it counts in all is true, and the shares of the estimate are kept.
		g.Total, g.Reported = total, reported
		overhead = min(overhead, total)
		g.Pinned, g.Summary = portion(g.Pinned, total-overhead, messages), portion(g.Summary, total-overhead, messages)
	}
	g.Live = g.Total - overhead - g.Pinned - g.Summary
	g.System = overhead
	if g.Split = told && system+tools > 0; g.Split {
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

// begins counts what requests begin with, anew when that is another text.
func (g *gauging) begins(facts *rule.Facts, p Prefix) (system, tools int) {
	if g.prefix.System != p.System || string(g.prefix.Tools) != string(p.Tools) {
		g.prefix.Prefix = Prefix{System: p.System, Tools: p.Tools.Clone()}
		g.prefix.system, g.prefix.tools = facts.Count(p.System), facts.Count(string(p.Tools))
	}
	return g.prefix.system, g.prefix.tools
}

// reportedTotal is what the provider counted for the newest step, and what the view has more since. ok is false when no report speaks of the view, or
// it says more than the model can take and cannot be of one request.
func (l *live) reportedTotal(now *view.Live) (total int, ok bool) {
	prompt := l.reported.Prompt()
	if l.estimated < 0 || prompt <= 0 || l.model.Limits.Context > 0 && prompt > l.model.Limits.Context {
		return 0, false
	}
	at := len(l.log) - 1
	for ; at >= 0; at-- {
		if m := &l.log[at]; m.Role == session.Assistant && m.Tokens != nil && m.Tokens.Prompt() == prompt && m.Tokens.Output == l.reported.Output {
			break
		}
	}
	if at < 0 {
		return 0, false
	}
	before, after := now.TokensBefore(at), now.Tokens()
	if at+1 < len(l.log) {
		after = now.TokensBefore(at + 1)
	}
	if before < 0 || after < 0 {
		return 0, false
	}
	total = prompt + l.reported.Output + before - l.estimated + now.Tokens() - after
	for j := range l.log[at].Parts {
		if p := &l.log[at].Parts[j]; p.Type == session.ToolPart {
			size := view.Part(p, l.state.Ledger, l.facts)
			total += size.Output + size.Files
		}
	}
	return max(0, total), true
}

// pinnedAndElided is what pins hold of the messages of a window, and what the ledger keeps out of it, of how many parts.
func (l *live) pinnedAndElided(window []session.Message) (pinned, elided, fewer int) {
	w := &l.gauging.window
	if w.upTo == 0 || w.upTo > len(window) {
		w.upTo, w.pinned, w.elided, w.fewerParts = 0, 0, 0, 0
		w.parts, w.messages = map[string]bool{}, map[string]bool{}
		for _, p := range l.state.Pins {
			w.parts[p.Part], w.messages[p.Message] = p.Part != "", p.Message != ""
		}
	}
	summary := view.Pivot(window) // what is pinned of it counts as the summary
	add := func(m *session.Message, pinned, elided, fewer *int) {
		quoted := isKept(m)
		for j := range m.Parts {
			p := &m.Parts[j]
			if l.state.Ledger.Touches(p.ID) {
				*fewer++
				*elided += l.saved(p)
			}
			if quoted || len(l.state.Pins) > 0 && m != summary && (w.parts[p.ID] || w.messages[m.ID]) {
				*pinned += l.partTokens(p, l.state.Ledger)
			}
		}
	}
	for ; w.upTo < len(window)-settled; w.upTo++ {
		add(&window[w.upTo], &w.pinned, &w.elided, &w.fewerParts)
	}
	pinned, elided, fewer = w.pinned, w.elided, w.fewerParts
	for i := w.upTo; i < len(window); i++ {
		add(&window[i], &pinned, &elided, &fewer)
	}
	return pinned, elided, fewer
}

// saved is what elisions keep out of a part.
func (l *live) saved(p *session.Part) int {
	n, known := l.gauging.saved[p.ID]
	if !known {
		n = l.facts.Size(p).Total() - l.plainTokens(p, l.state.Ledger)
		if l.gauging.saved == nil {
			l.gauging.saved = map[string]int{}
		}
		l.gauging.saved[p.ID] = n
	}
	return n
}
