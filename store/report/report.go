package report

import (
	"github.com/winnowhq/winnow/model/bill"
	"github.com/winnowhq/winnow/plan/call"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/plan/schedule"
	"github.com/winnowhq/winnow/plan/view"
	"github.com/winnowhq/winnow/session"
)

// Report says where the tokens of a session went, what can go, and what the window looks like now.
// Token figures are estimates by the session's counter.
type Report struct {
	ID      string `json:"id"`      // id of the session
	Title   string `json:"title"`   // title of the session
	Model   string `json:"model"`   // "provider/id" of the model that reads it
	Counter string `json:"counter"` // name of the counter that estimates tokens
	Policy  string `json:"policy"`  // the policy in force
	// Messages: for a file as in "counts", for a session of the store those of its log.
	Messages    int    `json:"messages"`
	Steps       int    `json:"steps"`       // model requests
	Turns       int    `json:"turns"`       // turns of the user
	ToolCalls   int    `json:"toolCalls"`   // tool calls, counted as "messages"
	ToolResults int    `json:"toolResults"` // tool results, counted as "messages"
	Tokens      Tokens `json:"tokens"`      // the whole log as it was written, with nothing left out
	Money
	Window Window `json:"window"` // the messages that count now
	Pruning
	// The user's instructions that are in force; every summary keeps them word for word.
	Constraints []string `json:"constraints"`
	// Detected instructions that were dismissed; "winnow protect SRC" lists them with their
	// numbers.
	Dismissed []string   `json:"dismissed"`
	Pins      []rule.Pin `json:"pins"` // the pins of the session
	// Content that the agent got back by "winnow recall", or the tool "recall" of "winnow mcp",
	// after it had been left out, oldest first: "part", "time", and "tokens" of the content.
	Missed []session.Missed `json:"missed,omitempty"`
	Strata []Stratum        `json:"strata"` // the timeline, one entry for each message of the log
}

// Money is what a session has cost.
type Money struct {
	// US dollars for all requests in the file, each at the price of its own model and counted once;
	// "bill" has the details. A lower bound if "bill" has requests that are "unpriced" or
	// "unreported"; null if nothing is known about any of them.
	Cost *float64  `json:"cost"`
	Bill bill.Sums `json:"bill"` // the cost by purpose
	// The models without a known price, with their service if it is not the usual one.
	Unpriced []string `json:"unpriced,omitempty"`
	// The cost by the content that it was paid for, in US dollars; omitted if no cost is known, and
	// for files that are too large to be held.
	Costs *Costs `json:"costs,omitzero"`
	// Requests to models for summaries, including those that failed and stand in no log.
	Summaries SummaryCalls `json:"summaries,omitzero"`
}

// Pruning is what can go, and what cannot.
type Pruning struct {
	// Elisions that a rule found and that are not committed.
	Candidates []Candidate `json:"candidates"`
	// Parts that could be left out, by rule, the largest sum first; includes candidates that are
	// not listed.
	ByRule []RuleSum `json:"byRule"`
	// Candidates that are not listed, by rule: for a file of 64 MB and more only the largest 5,000
	// are listed.
	Omitted  []RuleSum      `json:"omitted,omitempty"`
	Refusals []rule.Refusal `json:"refusals"` // parts that rules found and let stay
}

// SummaryCalls counts the requests to models for summaries.
type SummaryCalls struct {
	Calls  int           `json:"calls"`  // how many requests
	Failed int           `json:"failed"` // how many of them failed
	Usage  session.Usage `json:"usage"`  // the usage of all of them
	// US dollars for those whose cost is known; null if nothing is known.
	Cost *float64 `json:"cost"`
}

// Tokens itemises the whole log as it was written, nothing elided.
type Tokens struct {
	Total int `json:"total"` // tokens of the whole log
	// Tokens by kind: "user", "synthetic", "assistant", "reasoning", "tool input", "tool output",
	// "file", "summary".
	ByKind map[string]int `json:"byKind"`
	ByTool map[string]int `json:"byTool"` // tokens by tool, input and output together
	ByFile map[string]int `json:"byFile"` // tokens of the calls that name a path, by path
}

// Window is what counts now.
type Window struct {
	Messages int `json:"messages"` // messages in the window
	Tokens   int `json:"tokens"`   // their tokens, as rendered
	// Tokens of system prompt and tools, derived from the first reported step; 0 is unknown.
	Overhead int `json:"overhead"`
	Context  int `json:"context"` // tokens that the model accepts; 0 is unknown
	Usable   int `json:"usable"`  // tokens that may be used; 0 is unlimited
	// Whether it overflows: by "window.verdict", unless that is stale; without one, whether tokens
	// and overhead together are over the usable budget (under "balanced", reach it).
	Overflow bool `json:"overflow"`
	// The judgement of the policy in force about the newest usage that was reported in the window,
	// by its own formula: "classic" and "aggressive" add input, cache reads and output, "balanced"
	// cache writes and an estimate of later messages as well. The size of the next request is
	// "window.tokens" and "window.overhead".
	Verdict *Verdict `json:"verdict,omitzero"`
	// A sign that the server drops the beginning of prompts: while the log grew, the prompts that
	// it reported did not.
	Cut          *Cut   `json:"cut,omitzero"`
	Reason       string `json:"reason,omitzero"`  // which limits were assumed, and why
	Elided       int    `json:"elided"`           // parts that are left out or shortened
	ElidedTokens int    `json:"elidedTokens"`     // tokens that this saves
	Pivot        string `json:"pivot,omitzero"`   // id of the marker that the window begins with
	Folded       int    `json:"folded"`           // messages of the log before the window
	Pending      string `json:"pending,omitzero"` // id of a marker that waits to be executed
}

// Candidate is an elision that a rule found and nobody committed.
type Candidate struct {
	rule.Elision
	Tool string `json:"tool,omitzero"` // the tool
	// The file, command or address that the tool was called on.
	Target string `json:"target,omitzero"`
	// When it may be left out, in a few words: "with the next request", "pays in about 61 steps".
	When string        `json:"when,omitzero"`
	Wait schedule.Wait `json:"wait,omitzero"` // why it is not left out with the next request
}

// RuleSum sums up candidates of one rule.
type RuleSum struct {
	Rule  string `json:"rule"`  // the rule
	Parts int    `json:"parts"` // how many parts
	// Tokens that it would save to leave them out, less those of the text that would be shown
	// instead.
	Saves int `json:"saves"`
	// When the first of them may be left out, in a few words; omitted if it is not known.
	When string `json:"when,omitzero"`
}

// Zone is where a piece of the log stands, seen from the model.
type Zone string

const (
	Folded    Zone = "folded"    // the summary stands for it
	Summary   Zone = "summary"   // the pivot itself, and what is carried over under it
	Pruned    Zone = "pruned"    // elided
	Prunable  Zone = "prunable"  // a rule would elide it
	Guarded   Zone = "protected" // tool output that is protected
	Talk      Zone = "talk"      // what was said and asked
	ActiveNow Zone = "active"    // the last turns
)

// Stratum is one message in the timeline.
type Stratum struct {
	Message string       `json:"message"` // id of the message
	Role    session.Role `json:"role"`    // "user" or "assistant"
	Turn    int          `json:"turn"`    // its turn, 1-based; 0 before the first
	// Tokens of the log by zone: "folded", "summary", "pruned", "prunable", "protected", "talk",
	// "active".
	Zones map[Zone]int `json:"zones"`
	// US dollars for the requests that it answers; omitted if it answers none, or their cost is
	// unknown.
	Cost float64 `json:"cost,omitzero"`
	// The beginning of the user's text, where a turn begins.
	Written string `json:"written,omitzero"`
	Pivot   bool   `json:"pivot,omitzero"` // whether it is the marker of an active pivot
	// How many messages the entry stands for, if more than one.
	Messages int `json:"messages,omitzero"`
}

// Inspect reports on a session as a whole.
func Inspect(s *Session) (Report, error) {
	window := s.window()
	r := Report{
		ID: s.id(), Title: session.Called(s.State.Info, s.Log), Model: s.Model.String(),
		Counter: s.Facts.Counter().Name(), Policy: s.Policy.Name,
		Messages: len(s.Log), Steps: session.Steps(s.Log), Turns: len(session.Turns(s.Log)),
		Pruning:     Pruning{Candidates: []Candidate{}, Refusals: []rule.Refusal{}},
		Constraints: []string{}, Dismissed: []string{}, Pins: append([]rule.Pin{}, s.State.Pins...),
		Missed: s.State.Info.Missed,
	}
	found := s.Policy.Find(s.Planner)
	waits := s.Policy.Waits(s.Planner, s.Next, found.Elisions)
	prunable, parts := map[string]bool{}, session.PartsByID(s.Log)
	for i, el := range found.Elisions {
		c := Candidate{Elision: el, When: waits[i].When(), Wait: waits[i]}
		if p := parts[el.Part]; p != nil {
			c.Tool, c.Target = p.Tool, s.Facts.Target(p)
		}
		prunable[el.Part] = true
		r.Candidates = append(r.Candidates, c)
	}
	r.ByRule = ByRule(r.Candidates, nil)
	r.Refusals = append(r.Refusals, found.Refusals...)
	if refusal := s.Refold(); refusal != nil {
		r.Refusals = append(r.Refusals, *refusal)
	}
	for _, c := range InstructionsOf(s.Log, s.State.Dismissed) {
		if c.Dismissed {
			r.Dismissed = append(r.Dismissed, c.Text)
		} else {
			r.Constraints = append(r.Constraints, c.Text)
		}
	}
	r.count(s)
	spent := s.account()
	r.Summaries = spent.summaryCalls()
	r.Bill = spent.sums()
	r.Cost = r.Bill.Total().Dollars()
	r.Unpriced = spent.unpriced()
	r.Costs = CostsOf(s)
	r.Window = s.Window()
	r.Strata = s.strata(window, prunable)
	r.charge()
	return r, nil
}

// charge notes at the messages of the timeline what their requests cost.
func (r *Report) charge() {
	if r.Costs == nil {
		return
	}
	by := map[string]float64{}
	for i := range r.Costs.Requests {
		one := &r.Costs.Requests[i]
		by[one.Message] += one.Split.Total()
	}
	for i := range r.Strata {
		if id := r.Strata[i].Message; id != "" {
			r.Strata[i].Cost = by[id]
		}
	}
}

// elided is what the ledger keeps out of a part, in tokens.
func (s *Session) elided(p *session.Part) int {
	return s.Facts.Size(p).Total() - view.Part(p, s.State.Ledger, s.Facts).Total()
}

func (r *Report) count(s *Session) {
	r.Tokens = Tokens{ByKind: map[string]int{}, ByTool: map[string]int{}, ByFile: map[string]int{}}
	for i := range s.Log {
		m := &s.Log[i]
		for j := range m.Parts {
			p := &m.Parts[j]
			size := s.Facts.Size(p)
			if size.Total() == 0 && p.Type != session.ToolPart {
				continue
			}
			r.Tokens.Total += size.Total()
			if p.Type != session.ToolPart {
				r.Tokens.ByKind[view.Kind(m, p)] += size.Total()
				continue
			}
			r.ToolCalls++
			if p.State != nil && p.State.Final() {
				r.ToolResults++
			}
			r.Tokens.ByKind[view.KindToolInput] += size.Input
			r.Tokens.ByKind[view.KindToolOutput] += size.Output
			if size.Files > 0 {
				r.Tokens.ByKind[view.KindFile] += size.Files
			}
			r.Tokens.ByTool[p.Tool] += size.Total()
			if name := s.fileOf(p); name != "" {
				r.Tokens.ByFile[name] += size.Total()
			}
		}
	}
}

// fileOf is the first file that a call names, "" if it names none.
func (s *Session) fileOf(p *session.Part) string {
	paths := s.Facts.Paths(p)
	if len(paths) == 0 {
		return ""
	}
	name := call.Shorten(paths[0], s.State.Info.Directory)
	if name == "." { // the folder itself is no file
		return ""
	}
	return name
}

// Window reports on the messages that the next request has.
func (s *Session) Window() Window {
	window := s.window()
	usable := s.Policy.Budget.Usable(s.Model)
	w := Window{
		Messages: len(window), Tokens: s.View.Tokens(), Overhead: s.Overhead,
		Context: s.Model.Limits.Context, Reason: usable.Fallback, Folded: len(s.Log) - len(window),
	}
	if !usable.Unlimited {
		w.Usable = usable.Threshold
	}
	w.Verdict, w.Cut = s.verdict(), s.Cut()
	w.Judge(s.Policy.Budget.Full)
	for _, assumed := range s.Model.Assumed {
		if w.Reason != "" {
			w.Reason += "; "
		}
		w.Reason += assumed
	}
	for i := range window {
		for j := range window[i].Parts {
			if p := &window[i].Parts[j]; s.State.Ledger.Touches(p.ID) {
				w.Elided++
				w.ElidedTokens += s.elided(p)
			}
		}
	}
	if view.Pivot(window) != nil {
		w.Pivot = window[0].ID
	}
	if at := view.Pending(s.Log, s.State.Undone); at >= 0 {
		w.Pending = s.Log[at].ID
	}
	return w
}

func (s *Session) strata(window []session.Message, prunable map[string]bool) []Stratum {
	inWindow, firstActive := idsOf(window), s.firstActive()
	turns := session.Turns(s.Log)
	out := make([]Stratum, 0, len(s.Log))
	turn := 0
	for i := range s.Log {
		m := &s.Log[i]
		row := Stratum{Message: m.ID, Role: m.Role, Zones: map[Zone]int{}}
		if turn < len(turns) && turns[turn].Start == i {
			turn++
			row.Written = rule.Shorten(firstLine(m.Text()), 120)
		}
		row.Turn = turn
		row.Pivot = m.Marker() != nil && len(window) > 0 && window[0].ID == m.ID && view.Pivot(window) != nil
		for j := range m.Parts {
			p := &m.Parts[j]
			if size := s.Facts.Size(p); size.Total() > 0 {
				row.add(s.zone(m, p, inWindow[m.ID], prunable, i >= firstActive), p, size)
			}
		}
		out = append(out, row)
	}
	return out
}

func idsOf(messages []session.Message) map[string]bool {
	ids := make(map[string]bool, len(messages))
	for i := range messages {
		ids[messages[i].ID] = true
	}
	return ids
}

func (s *Session) zone(m *session.Message, p *session.Part, inWindow bool, prunable map[string]bool, active bool) Zone {
	switch {
	case !inWindow:
		return Folded
	case m.IsSummary():
		return Summary
	case s.State.Ledger.Touches(p.ID):
		return Pruned
	case prunable[p.ID]:
		return Prunable
	case active:
		return ActiveNow
	case p.Type == session.ToolPart:
		return Guarded
	}
	return Talk
}

// add counts a part in its zone. What stays of a call whose output goes is talk.
func (s *Stratum) add(z Zone, p *session.Part, size rule.Size) {
	if p.Type == session.ToolPart && (z == Pruned || z == Prunable || z == Guarded) {
		s.Zones[z] += size.Output + size.Files
		if size.Input > 0 {
			s.Zones[Talk] += size.Input
		}
		return
	}
	s.Zones[z] += size.Total()
}
