package transport

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/model/bill"
	"github.com/winnowhq/winnow/plan/pivot"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
)

// Totals are what a transport has done so far.
type Totals struct {
	RequestTotals
	CostTotals
	SessionTotals

	CacheRead, CacheWritten int            // tokens, as reported
	Rewritten               int            // tokens written to the cache again because of what was decided
	Decided                 map[string]int // parts that were left out, by rule
	Refusals                map[string]int // reasons why something was not left out, by code
}

// RequestTotals are how many requests there were.
type RequestTotals struct {
	Requests int // of conversations, answered
	Beside   int // others that were answered: for titles and the like
	Warm     int // others that kept the provider's cache: see Options.KeepWarm
	Edited   int // of them: requests of which something was left out, or would have been (Observe)
	Resent   int // requests that were refused with an edit, and sent once more without
	Passed   int // requests that were not decided about, because the store was lost
	Recalls  int // outputs that gave back what was left out
}

// CostTotals are what all of them cost, in US dollars.
type CostTotals struct {
	// Billed is what they cost by the usage that the provider reported.
	Billed bill.Dollars
	// Otherwise is an estimate of what the same requests would have cost the other way: without
	// winnow; in the mode Observe, with what could be left out left out.
	Otherwise bill.Estimate
	// Missed is how much of Otherwise would not have been paid, as requests asked again for what
	// was left out; Summaries is what summaries cost, which is not in Billed.
	Missed, Summaries float64
	// WarmCost is what the requests that kept the cache cost, which is in Billed; WarmSaved is how
	// much of Otherwise would have been paid for writing to the cache what it had forgotten.
	WarmCost  bill.Dollars
	WarmSaved float64
	// Net is what was saved: Otherwise − Missed − Billed − Summaries, negative when negative. In
	// the mode Observe nothing is; ToSave is what could have been.
	Net, ToSave float64
	// Gained and Overpaid are the requests that Net is the sum of: those that cost less than
	// without winnow, and those and the summaries that cost more. Neither falls.
	Gained, Overpaid float64
	Unpriced         int // requests without usage, or of a model without a price: they are in neither sum
	// UnpricedModels are those of such requests, sorted.
	UnpricedModels []string
}

// SessionTotals are of the newest request of each session.
type SessionTotals struct {
	LeftOut  int      // tokens left out of them
	Cleared  int      // tokens that the provider itself cleared of them, which are in no other figure
	Sessions []string // ids, in order; of very many those that asked last
	Live     int      // sessions with a request within the last hour
	// Outgrown are the sessions, by id, whose whole history no longer fits the window of their
	// model: without what is left out, their client cannot go on with them.
	Outgrown []string
}

// lively is how long a session without a request counts as live.
const lively = time.Hour

// mostUnpriced is how many models without a price the totals name at most.
const mostUnpriced = 16

// mostNewest is how many sessions the totals speak of at most. A session that goes on is one of
// them again.
const mostNewest = 8192

// newest is what the newest request of a session was like.
type newest struct {
	left   int // tokens left out of it
	at     time.Time
	client string
	// outgrown: with nothing left out it would not fit the window
	outgrown bool
	cleared  int // tokens that the provider itself cleared of it
}

// Totals are what the transport has done so far.
func (t *Transport) Totals() Totals {
	t.recording.wait()
	now := t.options.Now()
	t.mu.Lock()
	defer t.mu.Unlock()
	all := t.totals
	all.UnpricedModels = slices.Sorted(slices.Values(all.UnpricedModels))
	all.Decided, all.Refusals = maps.Clone(all.Decided), maps.Clone(all.Refusals)
	all.Sessions = slices.Sorted(maps.Keys(t.newest))
	for _, id := range all.Sessions {
		n := t.newest[id]
		all.LeftOut += n.left
		all.Cleared += n.cleared
		if n.outgrown {
			all.Outgrown = append(all.Outgrown, id)
		}
		if now.Sub(n.at) <= lively {
			all.Live++
		}
	}
	return all
}

func (t *Transport) count(change func(*Totals)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	change(&t.totals)
}

// decided remembers and counts what the engine decided for a request of so many messages, and
// counts what it refused to do.
func (t *Transport) decided(ctx context.Context, x *exchange, out winnow.Outcome, sent int) {
	if out.Pruned != nil || out.Compacted != nil {
		t.note(ctx, x, sent)
	}
	t.watchDecided(x, out)
	t.count(func(all *Totals) {
		for _, receipt := range []*pivot.Receipt{out.Pruned, out.Compacted} {
			if receipt == nil {
				continue
			}
			all.Summaries += receipt.Cost
			all.net(-receipt.Cost)
			for _, e := range receipt.Committed {
				increase(&all.Decided, e.Rule, 1)
			}
			if receipt.Marker != "" {
				increase(&all.Decided, store.Compaction, receipt.Folded)
			}
		}
		for _, refusal := range out.Refusals {
			increase(&all.Refusals, string(refusal.Code), 1)
		}
	})
}

func increase(sums *map[string]int, key string, by int) {
	if *sums == nil {
		*sums = map[string]int{}
	}
	(*sums)[key] += by
}

// counted adds a request to the totals.
func (t *Transport) counted(x *exchange, known *store.Live, u session.Usage) {
	t.answered(x, known, u)
	now := t.options.Now()
	t.count(func(all *Totals) {
		all.Requests++
		all.add(known, x.model.String(), u)
		window := cmp.Or(x.model.Limits.Input, x.model.Limits.Context)
		t.newest[x.conversation.id] = newest{x.left.tokens(), now, x.client,
			window > 0 && x.conversation.without.Whole > window,
			x.conversation.delegation.tokens}
		t.forgetSome()
	})
}

// forgetSome makes room among the newest requests, an eighth at a time: those that are longest ago
// go. The lock is held.
func (t *Transport) forgetSome() {
	if len(t.newest) <= mostNewest {
		return
	}
	ids := slices.SortedFunc(maps.Keys(t.newest), func(a, b string) int { return t.newest[a].at.Compare(t.newest[b].at) })
	for _, id := range ids[:len(ids)-mostNewest+mostNewest/8] {
		delete(t.newest, id)
	}
}

// net adds what was saved, negative when negative.
func (all *CostTotals) net(saved float64) {
	all.Net += saved
	all.Gained += max(saved, 0)
	all.Overpaid += max(-saved, 0)
}

func (all *Totals) add(known *store.Live, model string, u session.Usage) {
	if known.Edited {
		all.Edited++
	}
	if known.Unpriced {
		if all.Unpriced++; len(all.UnpricedModels) < mostUnpriced && !slices.Contains(all.UnpricedModels, model) {
			all.UnpricedModels = append(all.UnpricedModels, model)
		}
	}
	if known.Warm {
		all.Warm++
		all.WarmCost += known.Billed
	}
	all.WarmSaved += known.Bridged
	all.Billed += known.Billed
	all.Otherwise = all.Otherwise.Plus(known.Otherwise)
	all.Missed += known.Missed
	if known.Observed {
		all.ToSave += known.Saved()
	} else {
		all.net(known.Saved())
	}
	all.Recalls += len(known.Again)
	all.Rewritten += known.Rewritten
	all.CacheRead += u.Cache.Read
	all.CacheWritten += u.Cache.Write
}
