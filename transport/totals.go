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
	Passed   int // requests that were not decided about, because the store was lost
	// Billed is what all of them cost, in US dollars, by the usage that the provider reported.
	Billed float64
	// Otherwise is an estimate of what the same requests would have cost the other way: with
	// nothing left out; in the mode Observe, with it left out.
	Otherwise float64
	// Missed is how much of Otherwise would not have been paid, as requests asked again for what
	// was left out; Summaries is what summaries cost, which is not in Billed.
	Missed, Summaries float64
	// WarmCost is what the requests that kept the cache cost, which is in Billed; WarmSaved is how
	// much of Otherwise would have been paid for writing to the cache what it had forgotten.
	WarmCost, WarmSaved float64
	// Net is what was saved: Otherwise − Missed − Billed − Summaries, negative when negative. In
	// the mode Observe nothing is; ToSave is what could have been.
	Net, ToSave float64
	Unpriced    int      // requests without usage, or of a model without a price: they are in neither sum
	LeftOut     int      // tokens left out of the newest requests, over Sessions
	Cleared     int      // tokens that the provider itself cleared of them, which are in no other figure
	Recalls     int      // outputs that gave back what was left out
	Sessions    []string // ids, in order; of very many those that asked last
	Live        int      // sessions with a request within the last hour
	// Outgrown are the sessions, by id, whose whole history no longer fits the window of their
	// model: without what is left out, their client cannot go on with them.
	Outgrown []string

	CacheRead, CacheWritten int            // tokens, as reported
	Rewritten               int            // tokens written to the cache again because of what was decided
	Decided                 map[string]int // parts that were left out, by rule
	Refusals                map[string]int // reasons why something was not left out, by code
}

// lively is how long a session without a request counts as live.
const lively = time.Hour

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
		all.add(known, u)
		window := cmp.Or(x.model.Limits.Input, x.model.Limits.Context)
		t.newest[x.line.id] = newest{x.left.tokens(), now, x.client, window > 0 && x.line.whole > window,
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

func (all *Totals) add(known *store.Live, u session.Usage) {
	if known.Edited {
		all.Edited++
	}
	if known.Unpriced {
		all.Unpriced++
	}
	if known.Warm {
		all.Warm++
		all.WarmCost += known.Billed
	}
	all.WarmSaved += known.Bridged
	all.Billed += known.Billed
	all.Otherwise += known.Otherwise
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
// has none leaves no trace there. edited: something was left out of it all the same.
func (t *Transport) countedBeside(r *http.Request, client string, m model.Model, took took, edited bool,
) {
	u := took.Usage
	cost, priced := m.Cost(bill.Usage(u))
	known := &store.Live{Beside: true, Edited: edited, Unpriced: !priced || !reported(u)}
	if !known.Unpriced {
		known.Billed, known.Otherwise = cost, cost
	}
	took.on(known)
	spent := store.Spend{Time: session.Millis(t.now().UnixMilli()), Kind: string(bill.Left), Model: m.String(),
		Usage: u, Cost: known.Billed, Live: known}
	t.notice(Notice{From: originOf(r, nil), Model: m.String(), Spent: &spent})
	t.count(func(all *Totals) {
		all.Beside++
		all.add(known, u)
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
	whole, edited := u, u // the request with nothing left out, and with it left out
	if known.Observed {
		edited = t.asIfEdited(x, u)
	} else {
		whole = asIfWhole(x, u)
	}
	x.line.whole = whole.Prompt()
	x.line.again = append(x.line.again, x.left.again...)
	x.line.caches = x.line.caches || u.Cache.Read+u.Cache.Write > 0
	priced := reported(u)
	price := func(u session.Usage) float64 {
		cost, ok := x.model.Cost(bill.Usage(u))
		priced = priced && ok
		return cost
	}
	known.Billed, known.Otherwise = price(edited), price(whole)
	if known.Observed {
		known.Billed, known.Otherwise = known.Otherwise, known.Billed
	} else {
		known.Missed = price(whole) - price(x.left.unasked(whole))
	}
	kept := edited // had the cache not been lost
	if x.pruned != nil && !x.first() && !x.cold {
		read := min(whole.Cache.Read-x.left.tokens()+x.unsent, edited.Prompt())
		kept = resized(edited, edited.Prompt(), max(read, edited.Cache.Read))
	}
	known.Rewritten = kept.Cache.Read - edited.Cache.Read
	if !priced {
		known.Billed, known.Otherwise, known.Missed, known.Unpriced = 0, 0, 0, true
		known.Rules = shares(x, 0, 0, 0)
		return known
	}
	known.Rules = shares(x, price(whole)-price(kept), price(edited)-price(kept), known.Missed)
	if x.bridged && !known.Observed {
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
		return resized(whole, 0, 0)
	}
	carried, again := 0, 0
	for _, a := range w.carried {
		carried += a.Tokens
	}
	for _, a := range w.again {
		again += a.Tokens
	}
	prompt := max(whole.Prompt()-carried-again, 0)
	return resized(whole, prompt, min(max(whole.Cache.Read-carried, 0), prompt))
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

// asIfWhole is what a request would have taken if nothing had been left out of it or of those
// before it. What was sent before would have been read from the cache, unless the cache was cold.
func asIfWhole(x *exchange, u session.Usage) session.Usage {
	left := x.left.tokens()
	prompt := u.Prompt() + left
	read := 0
	switch {
	case x.cold:
		read = u.Cache.Read
	case !x.line.caches && u.Cache.Read == 0: // the client asks for no cache, or there is none
	case x.first() && u.Cache.Read > 0: // what was left out was in no cache
		read = u.Cache.Read + left - x.unsent
	case x.pruned != nil && !x.first(): // the cache was lost from the first edit on
		read = max(x.line.whole, u.Cache.Read)
	case u.Cache.Read > 0:
		read = u.Cache.Read + left
	}
	return resized(u, prompt, min(read, prompt))
}

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
	return resized(u, prompt, min(max(read, 0), prompt))
}

// resized is a usage with another prompt, of which so much was read from the cache. What is new is
// written to the cache where the provider asks for that.
func resized(u session.Usage, prompt, read int) session.Usage {
	fresh := prompt - read
	if u.Cache.Write > 0 {
		u.Input = min(u.Input, fresh)
		u.Cache.Write = fresh - u.Input
	} else {
		u.Input = fresh
	}
	u.Cache.Read = read
	if u.Total > 0 {
		u.Total = prompt + u.Output + u.Reasoning
	}
	return u
}

// reported reports whether a usage says anything.
func reported(u session.Usage) bool { return u.Prompt()+u.Output+u.Reasoning > 0 }
