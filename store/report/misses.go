package report

import (
	"cmp"
	"slices"
	"time"

	"github.com/winnowhq/winnow/model"
	"github.com/winnowhq/winnow/model/bill"
	"github.com/winnowhq/winnow/session"
)

// Cause is why the provider's cache did not have what an earlier request had put there.
type Cause string

const (
	OtherModel Cause = "model"      // another model had answered before: each has a cache of its own
	Idle       Cause = "idle"       // the pause was longer than the cache lives
	Compacted  Cause = "compaction" // a summary took the place of what was sent before
	Edit       Cause = "edit"       // something of what was sent before was left out or changed
	// Beginning: not even what stands before the messages was there, for no reason that the log
	// tells. Other tools or another system prompt do that, and a provider that dropped its cache.
	Beginning Cause = "beginning"
	Unclear   Cause = "unknown"
)

// Miss is what a request had to pay for anew because the cache no longer had it.
type Miss struct {
	// Why: "model" (another model had answered before), "idle" (a pause longer than the cache
	// lives), "compaction", "edit" (the past was pruned or changed), "beginning" (not even the
	// beginning was there, as when tools or the system prompt change, or the provider drops its
	// cache), "unknown".
	Cause Cause `json:"cause"`
	// Tokens that the prompt before had already, and that the cache should have had. Tokens that
	// are new to the prompt are no miss.
	Tokens int `json:"tokens"`
	// US dollars that they cost beyond reading them from the cache; 0 if no price is known.
	Cost float64        `json:"cost"`
	Idle session.Millis `json:"idle,omitzero"` // milliseconds since the request before
}

const (
	// leastMissed is how many tokens a miss has at least: the shortest prefix that the large
	// providers cache.
	leastMissed = 1024
	// missedShare is how much of what could have been read a miss is at least: caches end at
	// blocks, and the newest message is often not in them yet.
	missedShare = 0.1
	// shrunkShare is how much smaller than the one before a prompt is whose past was changed.
	shrunkShare = 0.02
)

// miss compares a step with the one before it. It is nil where the cache had what it could have.
func (c *costing) miss(r *Request) *Miss {
	before, change := c.newest, c.change
	usage := r.Bill.Usage
	if usage.Prompt() == 0 {
		return nil
	}
	c.newest, c.change = r, ""
	if before == nil {
		return nil
	}
	could := min(before.Bill.Usage.Prompt(), usage.Prompt())
	missed := could - usage.Cache.Read
	m := c.Prices.Model(r.Model)
	if missed < leastMissed || float64(missed) < missedShare*float64(could) || m.CacheLifetime() == 0 ||
		usage.Prompt() < m.Cache.MinPrefix {
		return nil
	}
	out := &Miss{Cause: Unclear, Tokens: missed, Cost: c.extra(r, missed)}
	if before.Time > 0 && r.Time > before.Time {
		out.Idle = r.Time - before.Time
	}
	switch {
	case before.Model != r.Model:
		out.Cause = OtherModel
	case time.Duration(out.Idle)*time.Millisecond > lifetime(m, before):
		out.Cause = Idle
	case change != "":
		out.Cause = change
	case float64(usage.Prompt()) < (1-shrunkShare)*float64(before.Bill.Usage.Prompt()):
		out.Cause = Edit
	case usage.Cache.Read < max(leastMissed, c.Overhead/2):
		out.Cause = Beginning
	}
	return out
}

// lifetime is how long what a request left in the cache stays.
func lifetime(m model.Model, r *Request) time.Duration {
	if r.Bill.Usage.Cache.Write1h > 0 {
		return time.Hour
	}
	return m.CacheLifetime()
}

// extra is what some tokens of a prompt cost more, billed as those were that the cache did not
// have.
func (c *costing) extra(r *Request, tokens int) float64 {
	usage := r.Bill.Usage
	fresh := usage.Prompt() - usage.Cache.Read
	all := usage
	all.Input, all.Output, all.Reasoning, all.Searches = 0, 0, 0, 0
	all.Cache = session.CacheUsage{Read: usage.Prompt()}
	read, known := c.Prices.Model(r.Model).Costs(bill.Usage(all))
	if !known || fresh <= 0 {
		return 0
	}
	each := (r.Split.Write+r.Split.Input)/float64(fresh) - read.CacheRead/float64(usage.Prompt())
	return max(0, each*float64(tokens))
}

// reported takes back the misses of models of which the log never reports a use of the cache.
func (c *costing) reported() {
	cached := map[string]bool{}
	for i := range c.Costs.Requests {
		if r := &c.Costs.Requests[i]; r.Bill.Usage.Cache.Read+r.Bill.Usage.Cache.Write > 0 {
			cached[r.Model] = true
		}
	}
	for i := range c.Costs.Requests {
		if r := &c.Costs.Requests[i]; !cached[r.Model] {
			r.Miss = nil
		}
	}
}

// MissSum sums up misses with one cause.
type MissSum struct {
	Cause    Cause
	Requests int
	Tokens   int
	Cost     float64
}

// Misses sums up what missed the cache, by cause, the dearest first; whole is all of it.
func (c *Costs) Misses() (by []MissSum, whole MissSum) {
	at := map[Cause]int{}
	for i := range c.Requests {
		m := c.Requests[i].Miss
		if m == nil {
			continue
		}
		if _, known := at[m.Cause]; !known {
			at[m.Cause] = len(by)
			by = append(by, MissSum{Cause: m.Cause})
		}
		for _, sum := range []*MissSum{&by[at[m.Cause]], &whole} {
			sum.Requests, sum.Tokens, sum.Cost = sum.Requests+1, sum.Tokens+m.Tokens, sum.Cost+m.Cost
		}
	}
	slices.SortStableFunc(by, func(a, b MissSum) int {
		return cmp.Or(cmp.Compare(b.Cost, a.Cost), cmp.Compare(b.Tokens, a.Tokens))
	})
	return by, whole
}
