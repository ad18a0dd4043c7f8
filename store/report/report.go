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
	ID          string `json:"id"`
	Title       string `json:"title"`
	Model       string `json:"model"`
	Counter     string `json:"counter"`
	Policy      string `json:"policy"`
	Messages    int    `json:"messages"`
	Steps       int    `json:"steps"` // model requests
	Turns       int    `json:"turns"`
	ToolCalls   int    `json:"toolCalls"`
	ToolResults int    `json:"toolResults"`
	Tokens      Tokens `json:"tokens"`
	Money
	Window Window `json:"window"`
	Pruning
	// Constraints are instructions that the user gave; they survive every pivot word for word.
	Constraints []string `json:"constraints"`
	// Dismissed are sentences that were taken for instructions until somebody said that they are
	// not. Nothing is done with them.
	Dismissed []string   `json:"dismissed"`
	Pins      []rule.Pin `json:"pins"`
	// Missed is what the agent got back after it had been left out, oldest first.
	Missed []session.Missed `json:"missed,omitempty"`
	// Strata is the timeline, one for each message of the log.
	Strata []Stratum `json:"strata"`
}

// Money is what a session has cost.
type Money struct {
	// Cost in US dollars of all requests that the log and its file tell of, at the price of the
	// model of each: at least so much where Bill says that some are unknown, nil where all of them
	// are.
	Cost *float64 `json:"cost"`
	// Bill is the same by what was paid for.
	Bill bill.Sums `json:"bill"`
	// Unpriced are the models whose price nobody knows, of the requests that the cost is without.
	Unpriced []string `json:"unpriced,omitempty"`
	// Costs says what the money went to, nil where no cost is known.
	Costs *Costs `json:"costs,omitzero"`
	// Summaries are the calls that were made for summaries, those included that came to nothing and
	// stand in no log.
	Summaries SummaryCalls `json:"summaries,omitzero"`
}

// Pruning is what can go, and what cannot.
type Pruning struct {
	Candidates []Candidate `json:"candidates"`
	// ByRule sums up the candidates, including the unlisted ones, the largest sum first.
	ByRule []RuleSum `json:"byRule"`
	// Omitted sums up the candidates that are not listed. Only of files too large to be read whole
	// are any left out.
	Omitted  []RuleSum      `json:"omitted,omitempty"`
	Refusals []rule.Refusal `json:"refusals"`
}

// SummaryCalls counts the requests to models for summaries.
type SummaryCalls struct {
	Calls  int           `json:"calls"`
	Failed int           `json:"failed"` // of them, in vain
	Usage  session.Usage `json:"usage"`  // of all of them
	Cost   *float64      `json:"cost"`   // of those whose cost is known, US dollars; nil where it is of none
}

// Tokens itemises the whole log as it was written, nothing elided.
type Tokens struct {
	Total  int            `json:"total"`
	ByKind map[string]int `json:"byKind"`
	ByTool map[string]int `json:"byTool"` // input and output together
	ByFile map[string]int `json:"byFile"` // of calls that name a path
}

// Window is what counts now.
type Window struct {
	Messages int `json:"messages"`
	Tokens   int `json:"tokens"` // rendered
	// Overhead is what system prompt and tools take, learned from the first reported step; 0 is
	// unknown.
	Overhead int `json:"overhead"`
	Context  int `json:"context"` // of the model; 0 is unknown
	Usable   int `json:"usable"`  // 0 is unlimited
	// Overflow is what Verdict says, unless it is stale; without one, that messages and overhead
	// together are over the usable budget, under balanced that they meet it.
	Overflow bool `json:"overflow"`
	// Verdict is the policy's own on the newest report, nil where the window has none. What the
	// next request will be is Tokens and Overhead.
	Verdict *Verdict `json:"verdict,omitzero"`
	// Cut is set where the server seems to drop the beginning of prompts without a word.
	Cut    *Cut   `json:"cut,omitzero"`
	Reason string `json:"reason,omitzero"` // about the limits, where they were assumed
	// Elided counts the parts of the window that are shown with less, and ElidedTokens what that
	// saves.
	Elided       int    `json:"elided"`
	ElidedTokens int    `json:"elidedTokens"`
	Pivot        string `json:"pivot,omitzero"`   // id of the marker that the window begins with
	Folded       int    `json:"folded"`           // messages of the log before the window
	Pending      string `json:"pending,omitzero"` // id of a marker that waits to be executed
}

// Candidate is an elision that a rule found and nobody committed.
type Candidate struct {
	rule.Elision
	Tool   string `json:"tool,omitzero"`
	Target string `json:"target,omitzero"`
	// When it may go, in a few words: "with the next request", "pays in about 61 steps".
	When string `json:"when,omitzero"`
	// Wait is why it is not committed yet, with figures; the zero value is of what goes with the
	// next request.
	Wait schedule.Wait `json:"wait,omitzero"`
}

// RuleSum sums up candidates of one rule.
type RuleSum struct {
	Rule  string `json:"rule"`
	Parts int    `json:"parts"`
	Saves int    `json:"saves"` // tokens, with what would be shown instead counted
	// When the first of them may go, in a few words; "" where it is not known.
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
	Message string       `json:"message"`
	Role    session.Role `json:"role"`
	Turn    int          `json:"turn"`  // 1-based; 0 before the first
	Zones   map[Zone]int `json:"zones"` // tokens as the log has them
	// Cost is what the requests that it answers cost, US dollars; 0 where it answers none, or
	// nobody knows.
	Cost float64 `json:"cost,omitzero"`
	// Written is the beginning of what the user wrote, of messages that begin a turn.
	Written string `json:"written,omitzero"`
	Pivot   bool   `json:"pivot,omitzero"` // a marker that counts
	// Messages is how many messages it stands for, when that is more than one.
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
	r.Window = s.windowReport()
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

func (s *Session) windowReport() Window {
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
