package transport

import (
	"cmp"
	"context"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/bill"
	"github.com/winnowhq/winnow/model"
	"github.com/winnowhq/winnow/pivot"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
)

// Totals are what a transport has done so far.
type Totals struct {
	Requests int // of conversations, answered
	Beside   int // others that were answered: for titles and the like
	Warm     int // others that kept the provider's cache: see Options.KeepWarm
	Edited   int // of them: requests of which something was left out, or would have been (Observe)
	Resent   int // requests that were refused with an edit, and sent once more without
	Passed   int // requests that passed as they came, because the store was lost
	// Billed is what all of them cost, in US dollars, by the usage that the provider reported.
	Billed float64
	// Otherwise is an estimate of what the same requests would have cost the other way: without
	// winnow; in the mode Observe, with what could be left out left out. Early and Late are those of
	// the estimate: see Totals.Estimate.
	Otherwise, Early, Late float64
	// Missed is how much of Otherwise would not have been paid, as requests asked again for what
	// was left out; Summaries is what summaries cost, which is not in Billed.
	Missed, Summaries float64
	// WarmCost is what the requests that kept the cache cost, which is in Billed; WarmSaved is how
	// much of Otherwise would have been paid for writing to the cache what it had forgotten.
	WarmCost, WarmSaved float64
	// Net is what was saved: Otherwise − Missed − Billed − Summaries, negative when negative. In
	// the mode Observe nothing is; ToSave is what could have been.
	Net, ToSave float64
	Unpriced    int // requests without usage, or of a model without a price: they are in neither sum
	// UnpricedModels are those of such requests, sorted.
	UnpricedModels []string
	LeftOut        int      // tokens left out of the newest requests, over Sessions
	Cleared        int      // tokens that the provider itself cleared of them, which are in no other figure
	Recalls        int      // outputs that gave back what was left out
	Sessions       []string // ids, in order; of very many those that asked last
	Live           int      // sessions with a request within the last hour
	// Outgrown are the sessions, by id, whose whole history no longer fits the window of their
	// model: without what is left out, their client cannot go on with them.
	Outgrown []string

	CacheRead, CacheWritten int            // tokens, as reported
	Rewritten               int            // tokens written to the cache again because of what was decided
	Decided                 map[string]int // parts that were left out, by rule
	Refusals                map[string]int // reasons why something was not left out, by code
}

// Estimate is what the requests would have cost without winnow, if they were not only observed.
func (all Totals) Estimate() bill.Estimate {
	return bill.Estimate{Likely: all.Otherwise, Early: all.Early, Late: all.Late}
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
	now := t.now()
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

// decided counts what the engine decided, and what it refused to do.
func (t *Transport) decided(x *exchange, out winnow.Outcome) {
	t.watchDecided(x, out)
	t.count(func(all *Totals) {
		for _, receipt := range []*pivot.Receipt{out.Pruned, out.Compacted} {
			if receipt == nil {
				continue
			}
			all.Summaries += receipt.Cost
			all.Net -= receipt.Cost
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
	now := t.now()
	t.count(func(all *Totals) {
		all.Requests++
		all.add(known, x.model.String(), u)
		window := cmp.Or(x.model.Limits.Input, x.model.Limits.Context)
		t.newest[x.line.id] = newest{x.left.tokens(), now, x.client, window > 0 && x.line.without.Whole > window,
			x.line.delegation.tokens}
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
	all.Otherwise += known.Otherwise
	all.Early += known.Early
	all.Late += known.Late
	all.Missed += known.Missed
	if known.Observed {
		all.ToSave += known.Saved()
	} else {
		all.Net += known.Saved()
	}
	all.Recalls += len(known.Again)
	all.Rewritten += known.Rewritten
	all.CacheRead += u.Cache.Read
	all.CacheWritten += u.Cache.Write
}

// mostBeside is how many requests beside a client's conversations wait at most to be written down
// with the next one of these.
const mostBeside = 32

// countedBeside adds a request that belongs to no conversation. In the store it comes with the next
// request of a conversation of the same client, or at the end with its newest one; a client that
// has none leaves no trace there.
func (t *Transport) countedBeside(r *http.Request, client string, m model.Model, u session.Usage) {
	cost, priced := m.Cost(bill.Usage(u))
	known := &store.Live{Beside: true, Unpriced: !priced || !reported(u)}
	if !known.Unpriced {
		known.Billed, known.Otherwise = cost, cost
	}
	spent := store.Spend{Time: session.Millis(t.now().UnixMilli()), Kind: string(bill.Left), Model: m.String(),
		Usage: u, Cost: known.Billed, Live: known}
	t.notice(Notice{From: originOf(r, nil), Model: m.String(), Spent: &spent})
	t.count(func(all *Totals) {
		all.Beside++
		all.add(known, spent.Model, u)
		if waiting := t.aside[client]; len(waiting) < mostBeside && (waiting != nil || len(t.aside) < maxFamilies) {
			t.aside[client] = append(waiting, spent)
		}
	})
}

// takeBeside are the requests of a client that wait to be written down.
func (t *Transport) takeBeside(client string) []store.Spend {
	t.mu.Lock()
	defer t.mu.Unlock()
	waiting := t.aside[client]
	delete(t.aside, client)
	return waiting
}

// writeBeside writes down the requests that wait for a next one of their client's, which does not
// come any more.
func (t *Transport) writeBeside() {
	t.mu.Lock()
	waiting := t.aside
	t.aside = map[string][]store.Spend{}
	sessions := map[string]string{}
	for id, n := range t.newest {
		if was := sessions[n.client]; was == "" || n.at.After(t.newest[was].at) {
			sessions[n.client] = id
		}
	}
	t.mu.Unlock()
	for client, spent := range waiting {
		id := sessions[client]
		if id == "" {
			continue
		}
		if err := t.engine.Amend(context.Background(), id, winnow.Amendment{Spent: spent}); err != nil {
			t.log.Error("could not record requests beside a conversation", "session", id, "error", err)
		}
	}
}

// live is what is known of a request now that it was answered. The family's lock is held.
func (t *Transport) live(x *exchange, u session.Usage) *store.Live {
	known := &store.Live{Observed: t.mode == Observe, Edited: x.left.tokens() > 0, Resent: x.resent,
		Again: x.left.again}
	before := x.line.without
	sent := bill.Sent{Usage: u, New: x.added, Shaped: x.unsent, Left: x.left.tokens(), Cold: x.cold}
	if known.Observed {
		sent.Left, sent.Shaped = 0, 0
	}
	without := t.without(x, sent)
	whole, edited := without.Usage, u // the request with nothing left out, and with it left out
	if known.Observed {
		whole, edited = u, t.asIfEdited(x, u)
	}
	x.line.again = append(x.line.again, x.left.again...)
	priced := reported(u) && !without.Unpriced
	price := func(u session.Usage) float64 {
		cost, ok := x.model.Cost(bill.Usage(u))
		priced = priced && ok
		return cost
	}
	known.Billed, known.Otherwise = price(u), without.Cost.Likely
	known.Early, known.Late = without.Cost.Early, without.Cost.Late
	if known.Observed {
		known.Otherwise, known.Early, known.Late = price(edited), 0, 0
	} else {
		known.Missed = price(whole) - price(x.left.unasked(whole))
	}
	kept := edited // had the cache not been lost
	if x.pruned != nil && !x.first() && !x.cold {
		read := before.Sent - before.Tail - (x.left.tokens() - x.unsent - before.Left)
		if known.Observed {
			read = whole.Cache.Read - x.left.tokens() + x.unsent
		}
		kept = bill.Resized(edited, edited.Prompt(), max(min(read, edited.Prompt()), edited.Cache.Read))
	}
	known.Rewritten = kept.Cache.Read - edited.Cache.Read
	if !priced {
		*known = store.Live{Observed: known.Observed, Edited: known.Edited, Resent: known.Resent, Again: known.Again,
			Rewritten: known.Rewritten, Unpriced: true, Rules: shares(x, 0, 0, 0)}
	} else {
		whole := known.Otherwise
		if known.Observed {
			whole = known.Billed
		}
		known.Rules = shares(x, whole-price(kept), price(edited)-price(kept), known.Missed)
	}
	now := x.line.without
	known.Without = &now
	if x.bridged && !known.Observed && priced {
		known.Bridged = max(0, price(unkept(edited))-known.Billed)
		known.Otherwise += known.Bridged
		known.Rules[store.KeepWarm] = store.Share{Net: known.Bridged}
	}
	return known
}

// unasked is what a request would have taken, had nothing been left out and therefore nothing been
// asked for again.
func (w *left) unasked(whole session.Usage) session.Usage {
	if w.only { // the one before would have had this answer
		return bill.Resized(whole, 0, 0)
	}
	carried, again := 0, 0
	for _, a := range w.carried {
		carried += a.Tokens
	}
	for _, a := range w.again {
		again += a.Tokens
	}
	prompt := max(whole.Prompt()-carried-again, 0)
	return bill.Resized(whole, prompt, min(max(whole.Cache.Read-carried, 0), prompt))
}

// shares are the rules that left something out of a request, each with its share of the gain, of
// what it lost because the cache did, and of what was asked for again.
func shares(x *exchange, gain, lost, missed float64) map[string]store.Share {
	all := map[string]store.Share{}
	divide := func(dollars float64, among map[string]int) {
		sum := 0
		for _, n := range among {
			sum += n
		}
		for rule, n := range among {
			if share := all[rule]; sum > 0 {
				share.Net += dollars * float64(n) / float64(sum)
				all[rule] = share
			}
		}
	}
	for rule, n := range x.left.rules {
		all[rule] = store.Share{Tokens: n}
	}
	divide(gain, x.left.rules)
	divide(-lost, causes(x.pruned))
	again := map[string]int{}
	for _, a := range slices.Concat(x.left.carried, x.left.again) {
		again[a.Rule] += a.Tokens
	}
	divide(-missed, again)
	return all
}

// causes are the rules by which something was decided, weighed by the tokens that they save.
func causes(decided *pivot.Receipt) map[string]int {
	switch {
	case decided == nil:
		return nil
	case decided.Marker != "":
		return map[string]int{store.Compaction: 1}
	}
	sums := map[string]int{}
	for _, e := range decided.Committed {
		sums[e.Rule] += e.Saves
	}
	return sums
}

// first reports whether what is left out from this request on was never sent.
func (x *exchange) first() bool { return x.pruned != nil && x.pruned.Trigger == pivot.FirstSend }

// asIfEdited is what a request would have taken with what the session leaves out left out of it.
func (t *Transport) asIfEdited(x *exchange, u session.Usage) session.Usage {
	left := x.left.tokens()
	prompt := max(u.Prompt()-left, 0)
	read := u.Cache.Read - left + x.unsent // no cache has what was not sent yet
	switch {
	case x.pruned == nil || x.first() || x.cold:
	case x.pruned.Kind == pivot.Compaction: // what is before the messages stays in the cache
		read = min(read, prompt-(u.Prompt()-u.Cache.Read)-x.pruned.TokensAfter)
	default:
		read -= x.pruned.Rewritten
	}
	return bill.Resized(u, prompt, min(max(read, 0), prompt))
}

// reported reports whether a usage says anything.
func reported(u session.Usage) bool { return u.Prompt()+u.Output+u.Reasoning > 0 }
