package transport

import (
	"cmp"
	"slices"

	"github.com/winnowhq/winnow/model/bill"
	"github.com/winnowhq/winnow/plan/pivot"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
)

// live is what is known of a request now that it was answered. The lineage's lock is held.
func (t *Transport) live(x *exchange, u session.Usage) *store.Live {
	known := &store.Live{Observed: t.options.Mode == Observe, Edited: x.left.tokens() > 0, Resent: x.resent,
		Again: x.left.again, Person: x.person}
	before, compacted := x.conversation.without, x.conversation.estimate.compacted
	sent := bill.Sent{Usage: u, New: x.added, Shaped: x.unsent, Left: x.left.tokens(), Cold: x.cold, Bridged: x.bridged}
	if known.Observed {
		sent.Left, sent.Shaped = 0, 0
	}
	without := t.without(x, sent)
	whole, edited := without.Usage, u // the request with nothing left out, and with it left out
	var summary session.Usage         // that the client would have asked for
	if known.Observed {
		whole = u
		edited, summary = t.asIfPruned(x, u, before, compacted)
	}
	x.conversation.again = append(x.conversation.again, x.left.again...)
	priced := reported(u) && !without.Unpriced
	price := func(u session.Usage) float64 {
		cost, ok := x.model.Cost(bill.Usage(u))
		priced = priced && ok
		return cost
	}
	known.Billed, known.Otherwise = bill.Dollars(price(u)), without.Cost
	if known.Observed {
		known.Otherwise = bill.Estimate{Likely: price(edited)}
		if reported(summary) {
			known.Otherwise.Likely += price(summary)
		}
		if compacted != nil { // this is instead of the one that the client asked for
			known.Otherwise.Likely -= compacted.cost.Likely
		}
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
		*known = store.Live{Person: known.Person, Observed: known.Observed, Edited: known.Edited, Resent: known.Resent,
			Again: known.Again, Rewritten: known.Rewritten, Unpriced: true, Rules: shares(x, 0, 0, 0)}
	} else {
		whole := known.Otherwise.Likely
		if known.Observed {
			whole = price(u)
		}
		if x.bridged && !known.Observed { // elisions gain the rest
			known.Bridged = max(0, price(unkept(edited))-price(u))
		}
		known.Rules = shares(x, whole-known.Bridged-price(kept), price(edited)-price(kept), known.Missed)
		if known.Bridged > 0 {
			known.Rules[store.KeepWarm] = store.Share{Net: known.Bridged}
		}
	}
	now := x.conversation.without
	known.Without = &now
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

// asIfPruned is what a request that is only observed would have taken, and a request for a summary
// that its client would have asked for before it, zero without one. before is the conversation
// before it, and compacted the one that its client compacted just now, nil without any. The
// lineage's lock is held.
func (t *Transport) asIfPruned(x *exchange, u session.Usage, before bill.Conversation, compacted *estimate) (
	would, summary session.Usage) {
	edited, now := t.asIfEdited(x, u), &x.conversation.without
	var behind *bill.Conversation
	if compacted != nil {
		behind = &compacted.before
	}
	folded := false
	if x.pruned != nil {
		now.Pruned.Folds, folded = cmp.Or(x.pruned.Usable, now.Pruned.Folds), x.pruned.Kind == pivot.Compaction
	}
	return now.Observe(edited, before, folded, behind, t.seen(x.agent+" "+x.model.String()))
}

// asIfEdited is what a request would have taken with what the session leaves out left out of it.
func (t *Transport) asIfEdited(x *exchange, u session.Usage) session.Usage {
	units := func(tokens int) int { return x.conversation.without.Units(x.left.unscaled(tokens)) }
	left := units(x.left.tokens())
	prompt := max(u.Prompt()-left, 0)
	read := u.Cache.Read - left + units(x.unsent) // no cache has what was not sent yet
	switch {
	case x.pruned == nil || x.first() || x.cold:
	case x.pruned.Kind == pivot.Compaction: // what is before the messages stays in the cache
		read = min(read, prompt-(u.Prompt()-u.Cache.Read)-units(x.pruned.TokensAfter))
	default:
		read -= units(x.pruned.Rewritten)
	}
	return bill.Resized(u, prompt, min(max(read, 0), prompt))
}

// reported reports whether a usage says anything.
func reported(u session.Usage) bool { return u.Prompt()+u.Output+u.Reasoning > 0 }
