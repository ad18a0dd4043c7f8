package bill

import (
	"math"

	"github.com/winnowhq/winnow/model"
	"github.com/winnowhq/winnow/session"
)

// Dollars are US dollars that a provider asks for, by the usage that it reported. Where it reported
// none and a budget had to be kept, they are what the budget was charged.
type Dollars float64

// Estimate is what requests would have cost, in US dollars. Where nobody knows when the client
// would have compacted by itself, it is a range.
type Estimate struct {
	Likely float64 `json:"otherwise"`
	// Early and Late are what it would have cost more, or less, had the client compacted as early
	// as clients do, and not before its model's window was full.
	Early float64 `json:"early,omitzero"`
	Late  float64 `json:"late,omitzero"`
}

// Over is how much more than what was paid requests would have cost, most likely.
func (e Estimate) Over(paid Dollars) float64 { return e.Likely - float64(paid) }

// Plus sums up two estimates.
func (e Estimate) Plus(f Estimate) Estimate {
	return Estimate{e.Likely + f.Likely, e.Early + f.Early, e.Late + f.Late}
}

// Minus is the difference of two estimates.
func (e Estimate) Minus(f Estimate) Estimate {
	return Estimate{e.Likely - f.Likely, e.Early - f.Early, e.Late - f.Late}
}

// Range is the least and the most that it would have been.
func (e Estimate) Range() (low, high float64) {
	return e.Likely + min(0, e.Early, e.Late), e.Likely + max(0, e.Early, e.Late)
}

// The courses that a conversation may have taken without winnow.
const (
	likely = iota
	early
	late
	paths

	never = math.MaxInt
	ended = -1 // the size of a prompt that there would not have been: the window was full
)

// Conversation follows what the requests of one conversation would have been without winnow, in the
// provider's own tokens. What the client adds has the size by which the provider's report grows.
// The zero value is a conversation that begins.
type Conversation struct {
	Sent   int `json:"sent"`   // tokens of the newest prompt, as reported
	Answer int `json:"answer"` // tokens of its answer
	// Likely, Early and Late are tokens of the newest prompt as it would have been, as of Estimate.
	Likely int `json:"likely"`
	Early  int `json:"early"`
	Late   int `json:"late"`
	Whole  int `json:"whole"` // the same of one that nobody had compacted
	Left   int `json:"left,omitzero"`
	Under  int `json:"under,omitzero"` // as of Habit
	// Tail is how many tokens at the end of a prompt the cache did not have for the next one, and
	// Cached whether it had anything.
	Tail   int  `json:"tail,omitzero"`
	Cached bool `json:"cached,omitzero"`
	Writes bool `json:"writes,omitzero"` // the client asks for entries of the cache
	Hour   bool `json:"hour,omitzero"`   // for an hour
	// First is the first prompt, as reported, and FirstNew what of it is the client's, estimated.
	First    int `json:"first"`
	FirstNew int `json:"firstNew"`
	// Pruned is how it would be had it been pruned, where it is only observed.
	Pruned Pruned `json:"pruned,omitzero"`
	// Reported is by how much the prompts grew, and Estimated the same by our own estimate.
	Reported  int `json:"reported,omitzero"`
	Estimated int `json:"estimated,omitzero"`
}

// Sent is a request as it was sent, and answered.
type Sent struct {
	Usage session.Usage // by the provider's report
	// New is the size of what the client added since the request before, by our own estimate, and
	// Shaped how much of that was left out before anybody had seen it.
	New, Shaped int
	Left        int  // tokens left out of it, all in all
	Cold        bool // the cache had forgotten the conversation
	Bridged     bool // it would have, had winnow not kept it
}

// Without is what a request would have been without winnow.
type Without struct {
	Cost  Estimate
	Usage session.Usage // as it would have been reported, most likely
	// Unpriced: nobody knows what it costs.
	Unpriced bool
}

// Next is what a request would have been without winnow, and how the conversation goes on. name is
// that with which the client introduces itself, seen what was seen of it.
func (c Conversation) Next(r Sent, name string, seen Habit, m model.Model) (Conversation, Without) {
	grown, first := c.grown(r), c.Sent == 0
	at := limitsOf(name, seen.With(Habit{Under: c.Under}), window(m))
	next := c.after(r, grown)
	if next.Whole = c.Whole + grown; first {
		next.Whole = r.Usage.Prompt() + c.Units(r.Left)
	}
	p := pricing{model: m}
	var w Without
	var costs [paths]float64
	for i, was := range c.prompts() {
		would := next.prompt(i)
		prompt, read := was+grown, c.cached(was, r, m)
		apart := first && r.Left > 0 || was != c.Sent || r.Left != c.Left || r.Shaped > 0
		switch {
		case !first && (was == ended || at.at[i] == never && prompt > at.window):
			*would = ended
			costs[i] = p.cost(r.Usage) // there is nothing to compare it with
			continue
		case !apart && !r.Bridged:
			prompt, read = r.Usage.Prompt(), r.Usage.Cache.Read
		case first:
			prompt, read = r.Usage.Prompt()+c.Units(r.Left), r.Usage.Cache.Read
		case was > c.Sent && was+c.Answer >= at.at[i]:
			summary := c.usage(r.Usage, prompt, read)
			summary.Output, summary.Reasoning = at.summary, 0
			costs[i] += p.cost(summary)
			base := next.base()
			if prompt, read = base+at.keep, base; base < m.Cache.MinPrefix || !c.Cached {
				read = 0
			}
		}
		*would = prompt
		u := next.usage(r.Usage, prompt, read)
		if i == likely {
			w.Usage = u
		}
		costs[i] += p.cost(u)
	}
	if next.Likely == ended {
		w.Usage = r.Usage
	}
	w.Cost, w.Unpriced = Estimate{costs[likely], costs[early] - costs[likely], costs[late] - costs[likely]}, p.unknown
	return next, w
}

// Compacted is how the conversation goes on, and what the two requests would have been together,
// when the client compacted by itself: with a request for the summary, and the first one behind it.
// seen is what that tells of the client.
func (c Conversation) Compacted(summary, r Sent, name string, known Habit, m model.Model) (next Conversation, w Without,
	seen Habit,
) {
	grown := c.grown(summary)
	next = c.after(r, 0)
	next.Whole = r.Usage.Prompt()
	seen = Habit{Under: c.Under, At: c.Sent + c.Answer, Summary: summary.Usage.Output + summary.Usage.Reasoning,
		Keep: max(0, r.Usage.Prompt()-c.base())}
	asked := seen.At <= c.Under
	if asked {
		seen = Habit{Under: c.Under}
	}
	at := limitsOf(name, known.With(seen), window(m))
	p := pricing{model: m}
	var costs [paths]float64
	for i, was := range c.prompts() {
		would := next.prompt(i)
		read := c.cached(was, summary, m)
		if was == ended {
			*would, costs[i] = ended, p.cost(summary.Usage)+p.cost(r.Usage)
			continue
		}
		// One that was smaller would have been compacted by who asked for it, but not for its size.
		if was == c.Sent || asked && was < c.Sent || was+c.Answer >= at.at[i] {
			*would = r.Usage.Prompt()
			costs[i] = p.cost(c.usage(summary.Usage, was+grown, read)) + p.cost(r.Usage)
			continue
		}
		*would = was + grown
		costs[i] = p.cost(next.usage(r.Usage, was+grown, read))
	}
	w.Usage = r.Usage
	w.Cost, w.Unpriced = Estimate{costs[likely], costs[early] - costs[likely], costs[late] - costs[likely]}, p.unknown
	return next, w, seen
}

// window is how many tokens a prompt of a model may have.
func window(m model.Model) int {
	switch {
	case m.Limits.Input > 0:
		return m.Limits.Input
	case m.Limits.Context > 0:
		return m.Limits.Context
	}
	return never / 2
}

// pricing prices usages, and notes whether it could.
type pricing struct {
	model   model.Model
	unknown bool
}

func (p *pricing) cost(u session.Usage) float64 {
	dollars, known := p.model.Cost(Usage(u))
	p.unknown = p.unknown || !known
	return dollars
}

func (c *Conversation) prompts() [paths]int { return [paths]int{c.Likely, c.Early, c.Late} }

func (c *Conversation) prompt(path int) *int { return [paths]*int{&c.Likely, &c.Early, &c.Late}[path] }

// Units turns an estimate of ours into tokens of the provider's, as far as its reports tell how many
// they are.
func (c *Conversation) Units(tokens int) int {
	if c.Estimated == 0 {
		return tokens
	}
	return int(float64(tokens) * float64(c.Reported) / float64(c.Estimated))
}

// base is about how many tokens the system prompt and the tools have.
func (c *Conversation) base() int { return max(0, c.First-c.Units(c.FirstNew)) }

// decided reports whether something is left out of a request that the one before had.
func (c *Conversation) decided(r Sent) bool {
	return r.Left-r.Shaped != c.Left || r.Usage.Prompt() < c.Sent
}

// grown is how many tokens the client has added with a request.
func (c *Conversation) grown(r Sent) int {
	if c.Sent > 0 && !c.decided(r) {
		return r.Usage.Prompt() - c.Sent + c.Units(r.Shaped)
	}
	return c.Units(r.New)
}

// after is the conversation behind a request, but for what it would have been without winnow.
func (c Conversation) after(r Sent, grown int) Conversation {
	u := r.Usage
	switch {
	case c.Sent == 0:
		c.First, c.FirstNew = u.Prompt(), max(0, r.New-r.Left)
	case !c.decided(r):
		c.Under = max(c.Under, c.Sent+c.Answer)
		if grown > 0 && r.New > r.Shaped {
			c.Reported, c.Estimated = c.Reported+u.Prompt()-c.Sent, c.Estimated+r.New-r.Shaped
		}
		if !r.Cold && u.Cache.Read > c.Sent/2 {
			c.Tail = max(0, c.Sent-u.Cache.Read)
		}
	}
	c.Cached = c.Cached || u.Cache.Read+u.Cache.Write > 0
	c.Writes = c.Writes || u.Cache.Write > 0
	if u.Cache.Write > 0 {
		c.Hour = u.Cache.Write1h > 0
	}
	c.Sent, c.Answer, c.Left = u.Prompt(), u.Output+u.Reasoning, r.Left
	return c
}

// cached is how much of a request, the one before which had a prompt of that size, would have been
// in the provider's cache: as much as of the one that was sent, or all of it but its end where
// something was decided.
func (c *Conversation) cached(was int, r Sent, m model.Model) int {
	lost := !c.decided(r) && r.Usage.Cache.Read <= c.Sent/2 && c.Sent >= m.Cache.MinPrefix
	switch {
	case !c.Cached && r.Usage.Cache.Read == 0, was < m.Cache.MinPrefix:
		return 0
	case r.Cold, lost:
		return r.Usage.Cache.Read
	case r.Bridged:
		return 0
	case !c.decided(r) && r.Usage.Cache.Read > 0:
		return max(0, was-max(0, c.Sent-r.Usage.Cache.Read))
	}
	return max(0, was-c.Tail)
}

// usage is a usage with another prompt, of which so much was read from the cache.
func (c *Conversation) usage(u session.Usage, prompt, read int) session.Usage {
	if u.Cache.Write == 0 && c.Writes { // it was too short to be written
		u.Cache.Write, u.Input = u.Input, 0
		if c.Hour {
			u.Cache.Write1h = u.Cache.Write
		}
	}
	return Resized(u, prompt, min(read, prompt))
}

// Resized is a usage with another prompt, of which so much was read from the cache. What is new is
// written to the cache where the provider asks for that, with the same share of it for an hour.
func Resized(u session.Usage, prompt, read int) session.Usage {
	fresh := prompt - read
	if was := u.Cache; was.Write > 0 {
		u.Input = min(u.Input, fresh)
		u.Cache.Write = fresh - u.Input
		u.Cache.Write1h = int(float64(u.Cache.Write) * float64(was.Write1h) / float64(was.Write))
	} else {
		u.Input = fresh
	}
	u.Cache.Read = read
	if u.Total > 0 {
		u.Total = prompt + u.Output + u.Reasoning
	}
	return u
}
