package advise

import (
	"cmp"
	"time"

	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/lab"
	"github.com/winnowhq/winnow/model"
	"github.com/winnowhq/winnow/model/bill"
	"github.com/winnowhq/winnow/plan/call"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/token"
)

// Session is what was measured of one session. It holds no text of it but short examples, so that
// thousands of them can be held.
type Session struct {
	ID, Title string
	Product   string // the name of its format
	Project   string // the folder in which it worked
	Day       string // on which it began, "2026-11-23"; "" if the log has no times
	// Family is the session that sessions of sub-agents work for, with itself: what one of them
	// costs says nothing of other sessions. "" is a family of its own.
	Family string
	// Cost is what its requests cost, in US dollars, as far as that is known, and Requests how many
	// of its own reported what they took, at a known price. Nothing is said of a session without
	// any.
	Cost     float64
	Requests int

	base    float64 // dollars that one more token at the beginning of every prompt costs
	outputs map[string]*outputs
	rereads map[string]*rereads
	serial  serial
	pauses  pauses
	said    []said
}

// Source is what a session is measured from.
type Source struct {
	Doc    *format.Document
	Trace  *lab.Trace
	Prices *bill.Prices
	Count  token.Counter
	Zone   *time.Location // in which days are told
	Parent string         // the session that it works for, where the log does not say
	// Apart: the sessions of its sub-agents are measured as well, so that what its log tells of
	// them is no cost of its own.
	Apart bool
}

// Measure measures a session.
func Measure(src Source) Session {
	log := src.Doc.Session.Messages
	info := &src.Doc.Session.Info
	s := Session{ID: info.ID, Title: src.Trace.Name, Product: src.Doc.Format, Project: info.Directory,
		Family: cmp.Or(info.ParentID, src.Parent)}
	if s.Project == "" {
		s.Project = call.Directory(log)
	}
	for i := range log {
		if at := log[i].Time.Created; at > 0 {
			s.Day = time.UnixMilli(int64(at)).In(src.Zone).Format(time.DateOnly)
			break
		}
	}
	sums := bill.Of(log, src.Doc.Beside, src.Prices)
	if s.Cost = sums.Total().Cost; src.Apart {
		s.Cost -= sums.Agents.Cost
	}
	c := carriedBy(log, src.Prices)
	s.Requests = len(c.requests)
	if s.Requests == 0 {
		return s
	}
	for k := range c.requests {
		s.base += c.requests[k].marginal(baseTokens, 0) / baseTokens
	}
	s.outputs = outputsOf(src, &c)
	s.rereads = rereadsOf(src, &c)
	s.serial = serialOf(src, &c)
	s.pauses = pausesOf(&c)
	if s.Family == "" { // what a sub-agent is asked is not written by a person
		s.said = saidIn(log, &c)
	}
	return s
}

// baseTokens is how many tokens Session.base is measured with.
const baseTokens = 100

// request is a request that a log reports, at a known price.
type request struct {
	message int // position of its answer in the log
	window  int // how many folds came before it
	usage   session.Usage
	model   model.Model
	begun   session.Millis // when it was answered first, and ended last
	ended   session.Millis
	calls   bool // its answer calls tools
}

// cost is what a request would have cost with a usage.
func (r *request) cost(u session.Usage) float64 {
	dollars, _ := r.model.Cost(bill.Usage(u))
	return dollars
}

// marginal is what some tokens of its prompt cost that stand behind some others: those that the
// cache served, by their place, at the price of reading it, the others at that of writing it, or of
// fresh input.
func (r *request) marginal(tokens, before int) float64 {
	u := r.usage
	read := min(max(u.Cache.Read-before, 0), tokens)
	u.Cache.Read -= read
	if rest := tokens - read; rest > 0 {
		n := min(rest, u.Cache.Write)
		if u.Cache.Write > 0 {
			u.Cache.Write1h -= u.Cache.Write1h * n / u.Cache.Write
		}
		u.Cache.Write -= n
		u.Input -= min(rest-n, u.Input)
	}
	return r.cost(r.usage) - r.cost(u)
}

// again is what it costs to ask once more: the prompt, read from the cache, and a short answer.
func (r *request) again() float64 {
	return r.cost(session.Usage{Cache: session.CacheUsage{Read: r.usage.Prompt()}, Output: lab.Asked})
}

// carried says what carrying a piece of a log cost.
type carried struct {
	requests []request
	windows  []int // of each message: how many folds came before it
	until    []int // of each message: the last window that it is in, itself or as a fold's tail
	after    []int // of each message: the first request behind it
}

// carriedBy lists the requests of a log.
func carriedBy(log []session.Message, prices *bill.Prices) carried {
	c := carried{windows: make([]int, len(log)), until: make([]int, len(log)), after: make([]int, len(log))}
	window, tail := 0, ""
	for i := range log {
		m := &log[i]
		if marker := m.Marker(); marker != nil {
			tail = marker.TailStartID
		}
		if m.Completes() {
			window++
			if at := session.Index(log[:i], tail); at >= 0 {
				for k := at; k < i; k++ {
					c.until[k] = window
				}
			}
			tail = ""
		}
		c.windows[i], c.until[i] = window, window
		for _, r := range bill.Requests(m) {
			if r.Kind != bill.Step || r.Usage == nil || r.Usage.Prompt() == 0 {
				continue
			}
			one := request{message: i, window: window, usage: *r.Usage, model: prices.Model(r.Model),
				begun: m.Time.Created, ended: max(m.Time.Created, m.Time.Completed)}
			if _, known := one.model.Cost(bill.Usage(*r.Usage)); !known {
				continue
			}
			for j := range m.Parts {
				one.calls = one.calls || m.Parts[j].Type == session.ToolPart
			}
			c.requests = append(c.requests, one)
		}
		c.after[i] = len(c.requests)
	}
	return c
}

// made is the request that a message answers, nil if it reports nothing.
func (c *carried) made(message int) *request {
	if k := c.after[message]; k > 0 && c.requests[k-1].message == message {
		return &c.requests[k-1]
	}
	return nil
}

// next is the first request behind a message that carried it, nil if there is none.
func (c *carried) next(message int) *request {
	if k := c.after[message]; k < len(c.requests) && c.requests[k].window <= c.until[message] {
		return &c.requests[k]
	}
	return nil
}

// carry is what some tokens of an output of a message cost: all requests from there to the fold
// that takes it away carried them.
func (c *carried) carry(message, tokens int) float64 {
	before, sum := 0, 0.0
	if r := c.made(message); r != nil {
		before = r.usage.Prompt() + r.usage.Output
	}
	for k := c.after[message]; k < len(c.requests) && c.requests[k].window <= c.until[message]; k++ {
		sum += c.requests[k].marginal(tokens, before)
	}
	return sum
}
