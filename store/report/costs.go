package report

import (
	"cmp"
	"maps"
	"slices"

	"github.com/winnowhq/winnow/model/bill"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/plan/view"
	"github.com/winnowhq/winnow/session"
)

// Costs says what the money of a session went to. Amounts are US dollars.
//
// Each request is billed by the usage that the log reports, as bill.Sums says, and each bill is
// divided into what was paid for the prompt (read from the provider's cache, written to it,
// neither) and for the answer. What a prompt cost is shared among all that it carried, in
// proportion to the tokens that each had in that request, by the session's counter: the parts of
// the log that were in the window at the time, as much of them as was shown, and what requests
// carry besides (system prompt, tools) where its size is known. What an answer cost belongs to the
// turn and the model that wrote it, and is of the kind [Answers].
//
// So the amounts of ByKind add up to Total, which is the cost of Report.Bill; so do those of
// ByModel, and those of ByTurn with Beside. Of ByTool and ByFile each is a share of the prompts.
// Requests of unknown cost are in none of them.
type Costs struct {
	Total float64    `json:"total"` // all requests whose cost is known; "split" divides it
	Split bill.Split `json:"split"` // the total, divided by use of the provider's cache
	// By kind: the kinds of "tokens.byKind", for carrying them, and "system, tools", "answers",
	// "writing summaries", "sub-agents", "left branches", "in vain", "searches". They add up to
	// "total".
	ByKind map[string]float64 `json:"byKind"`
	// The inputs and outputs of calls, for carrying them, by tool.
	ByTool map[string]float64 `json:"byTool"`
	// The inputs and outputs of calls, for carrying them, by the path that they name.
	ByFile map[string]float64 `json:"byFile"`
	// By the model that answered; they add up to "total".
	ByModel map[string]float64 `json:"byModel"`
	// The turns with requests, oldest first. With "beside" they add up to "total".
	ByTurn []TurnCost `json:"byTurn"`
	// Requests of no turn: sub-agents, abandoned branches, summaries that winnow asked for, failed
	// requests.
	Beside   float64   `json:"beside,omitzero"`
	Requests []Request `json:"requests"` // every request, oldest first
	// ByPart is what carrying each part of the log cost, by its id.
	ByPart map[string]float64 `json:"-"`
}

// Kinds of costs that are no kinds of parts.
const (
	Besides   = "system, tools" // sent with every request the messages
	Answers   = "answers"       // what the model wrote, when it wrote it
	Summaries = "writing summaries"
	SubAgents = "sub-agents"
	Branches  = "left branches" // requests that are no part of the session
	Wasted    = "in vain"       // failed, and billed
	Searches  = "searches"      // of the web, and what is priced without a usage
)

// TurnCost is what a turn cost: all its requests.
type TurnCost struct {
	Turn     int     `json:"turn"`     // the turn, 1-based; 0 before the first
	Requests int     `json:"requests"` // its requests
	Cost     float64 `json:"cost"`     // their cost
}

// CostsOf says what the money of a session went to, nil where nothing is known of any request.
func CostsOf(s *Session) *Costs {
	a := s.account()
	c := &costing{
		Session: s, account: a, elided: CommittedAt(s.Log, s.State.Ledger.All()), carried: map[*session.Part]*carried{},
		Costs: Costs{ByKind: map[string]float64{}, ByTool: map[string]float64{}, ByFile: map[string]float64{},
			ByModel: map[string]float64{}, ByPart: map[string]float64{}, ByTurn: []TurnCost{}, Requests: []Request{}},
	}
	c.walk()
	c.reported()
	c.spent()
	if c.Costs.Total == 0 {
		return nil
	}
	c.share()
	return &c.Costs
}

// costing goes once over a log. Each request has a price per token of its prompt; their sum up to
// now is rate, so that what carrying a part costs is its tokens times how much the sum grew while
// it was in the window.
type costing struct {
	*Session
	account account
	Costs   Costs
	elided  map[string]int // by part, from which message on less of it is shown
	carried map[*session.Part]*carried
	order   []*carried // the same, as they came into a window first
	rate    float64    // the sum of the prices per token
	weight  int        // tokens of the window now
	window  []*carried // the parts in it
	turn    int        // of the message that is looked at
	step    int        // up to it
	newest  *Request   // the newest step before it, nil before the first
	change  Cause      // of the window since, "" if it only grew
}

// carried is a part of the log that a prompt carried.
type carried struct {
	message *session.Message
	part    *session.Part
	size    rule.Size // as it is shown now; nothing outside the window
	since   float64   // the rate when that began
	paid    [4]float64
}

// The amounts of carried.paid, as rule.Size has them.
const (
	textPaid = iota
	inputPaid
	outputPaid
	filesPaid
)

func sizes(s rule.Size) [4]int { return [4]int{s.Text, s.Input, s.Output, s.Files} }

// show notes that a part has another size from now on.
func (c *costing) show(p *carried, size rule.Size) {
	for i, n := range sizes(p.size) {
		p.paid[i] += float64(n) * (c.rate - p.since)
	}
	c.weight += size.Total() - p.size.Total()
	p.size, p.since = size, c.rate
}

// add puts parts of a message into the window, as they were shown at a position of the log.
func (c *costing) add(m *session.Message, parts []session.Part, at int) {
	for j := range parts {
		p := &parts[j]
		one := c.carried[p]
		if one == nil {
			one = &carried{message: m, part: p}
			c.carried[p] = one
			c.order = append(c.order, one)
		}
		c.window = append(c.window, one)
		c.show(one, c.sizeAt(p, at))
	}
}

func (c *costing) sizeAt(p *session.Part, at int) rule.Size {
	if from, ok := c.elided[p.ID]; ok && from <= at {
		return view.Part(p, c.State.Ledger, c.Facts)
	}
	return c.Facts.Size(p)
}

// walk goes over the log: each request is billed when its window is as it was.
func (c *costing) walk() {
	c.weight = max(0, c.Overhead)
	turns, shrinks := session.Turns(c.Log), c.shrinks()
	for i := range c.Log {
		m := &c.Log[i]
		if c.turn < len(turns) && turns[c.turn].Start == i {
			c.turn++
		}
		for _, p := range shrinks[i] {
			if one := c.carried[p]; one != nil && one.size.Total() > 0 {
				c.show(one, c.sizeAt(p, i))
			}
			c.change = Edit
		}
		if m.Role == session.Assistant && !m.IsSummary() {
			c.step++
		}
		rest := c.answered(m, i)
		switch {
		case PivotAt(c.Log, c.State.Undone, i) >= 0:
			c.fold(i)
		case m.Marker() == nil && !m.IsSummary() && !c.State.Undone[m.Companion()]:
			c.add(m, rest, i)
		}
	}
}

// shrinks are the parts of which something was left out, by the message from which on.
func (c *costing) shrinks() map[int][]*session.Part {
	at := map[int][]*session.Part{}
	for i := range c.Log {
		for j := range c.Log[i].Parts {
			p := &c.Log[i].Parts[j]
			if from, ok := c.elided[p.ID]; ok && p.ID != "" {
				at[from] = append(at[from], p)
			}
		}
	}
	return at
}

// answered bills the requests that a message answers. What a message with several steps says before
// one of them is part of that one's prompt. The parts that are left are those of the last step.
func (c *costing) answered(m *session.Message, at int) (rest []session.Part) {
	rest = m.Parts
	for _, r := range c.account.of(m) {
		c.request(m, r)
		end := slices.IndexFunc(rest, func(p session.Part) bool {
			return p.Type == session.StepFinishPart && p.Tokens != nil && p.Tokens == r.Usage
		})
		if r.Kind == bill.Step && end >= 0 {
			c.add(m, rest[:end+1], at)
			rest = rest[end+1:]
		}
	}
	return rest
}

// fold replaces the window by the one that a pivot leaves, whose summary is at a position of the
// log.
func (c *costing) fold(at int) {
	for _, one := range c.window {
		c.show(one, rule.Size{})
	}
	c.window, c.change = nil, Compacted
	window := view.Window(c.Log[:at+1], c.State.Undone)
	for i := range window {
		m := &window[i]
		answered := i+1 < len(window) && window[i+1].Completes() && window[i+1].ParentID == m.ID
		if m.IsSummary() && !m.Completes() || m.Marker() != nil && !answered {
			continue
		}
		c.add(m, m.Parts, at)
	}
}

// request bills a request of the log, whose prompt is the window as it is.
func (c *costing) request(m *session.Message, r bill.Request) {
	if r.Silent() {
		return
	}
	r.Model = cmp.Or(r.Model, c.account.model)
	one := Request{Time: r.Time, Kind: string(r.Kind), Model: r.Model, Message: m.ID, Turn: c.turn, Step: c.step,
		Bill: c.Prices.Of(r), Split: c.Prices.Split(r)}
	costs := &c.Costs
	if r.Kind == bill.Step {
		one.Miss = c.miss(&one)
		prompt := one.Split.Prompt()
		if c.weight > 0 {
			each := prompt / float64(c.weight)
			c.rate += each
			prompt = each * float64(max(0, c.Overhead))
		}
		costs.ByKind[Besides] += prompt // all of it where nothing is known that it carried
		costs.ByKind[Answers] += one.Split.Output
		costs.ByKind[Searches] += one.Split.Other
	} else {
		costs.ByKind[Summaries] += one.Split.Total()
	}
	if n := len(costs.ByTurn); n == 0 || costs.ByTurn[n-1].Turn != c.turn {
		costs.ByTurn = append(costs.ByTurn, TurnCost{Turn: c.turn})
	}
	turn := &costs.ByTurn[len(costs.ByTurn)-1]
	turn.Requests, turn.Cost = turn.Requests+1, turn.Cost+one.Split.Total()
	costs.count(one)
}

// count adds a request to what is known of all of them.
func (c *Costs) count(r Request) {
	c.Total += r.Bill.Cost
	c.Split = c.Split.Plus(r.Split)
	c.ByModel[r.Model] += r.Bill.Cost
	c.Requests = append(c.Requests, r)
}

// spent bills what was paid for beside the log.
func (c *costing) spent() {
	for i := range c.State.Spent {
		x := &c.State.Spent[i]
		kind := Summaries
		switch {
		case x.Failed:
			kind = Wasted
		case x.Kind == string(bill.Agent):
			kind = SubAgents
		case x.Kind == string(bill.Left):
			kind = Branches
		case x.Kind == string(bill.Step):
			continue // the log has it
		}
		r := Request{Time: x.Time, Kind: x.Kind, Model: cmp.Or(x.Model, c.account.model), Failed: x.Failed,
			Bill: c.account.spent(x)}
		priced := bill.Request{Model: r.Model, Usage: &x.Usage, Logged: &x.Cost}
		r.Split = c.Prices.Split(priced).Of(r.Bill.Cost)
		c.Costs.ByKind[kind] += r.Bill.Cost
		c.Costs.Beside += r.Bill.Cost
		c.Costs.count(r)
	}
	slices.SortStableFunc(c.Costs.Requests, func(a, b Request) int { return cmp.Compare(a.Time, b.Time) })
}

// share adds up what carrying the parts of the log cost.
func (c *costing) share() {
	costs := &c.Costs
	for _, one := range c.order {
		c.show(one, rule.Size{})
		p, paid := one.part, 0.0
		for _, dollars := range one.paid {
			paid += dollars
		}
		if paid == 0 {
			continue
		}
		costs.ByPart[p.ID] += paid
		if p.Type != session.ToolPart {
			costs.ByKind[view.Kind(one.message, p)] += paid
			continue
		}
		costs.ByKind[view.KindToolInput] += one.paid[textPaid] + one.paid[inputPaid]
		costs.ByKind[view.KindToolOutput] += one.paid[outputPaid]
		costs.ByKind[view.KindFile] += one.paid[filesPaid]
		costs.ByTool[p.Tool] += paid
		if name := c.fileOf(p); name != "" {
			costs.ByFile[name] += paid
		}
	}
	maps.DeleteFunc(costs.ByKind, func(_ string, dollars float64) bool { return dollars == 0 })
}
