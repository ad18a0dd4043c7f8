package transport

import (
	"maps"
	"slices"

	"github.com/winnowhq/winnow/bill"
	"github.com/winnowhq/winnow/model"
	"github.com/winnowhq/winnow/session"
)

// Totals are what a transport has done so far.
type Totals struct {
	Requests int // of conversations, answered
	Beside   int // others that were answered: for titles and the like
	Edited   int // of them: requests of which something was left out, or would have been (Observe)
	Resent   int // requests that were refused with an edit, and sent once more without
	// Billed is what all of them cost, in US dollars, by the usage that the provider reported.
	Billed float64
	// Otherwise is an estimate of what the same requests would have cost the other way: with
	// nothing left out; in the mode Observe, with it left out.
	Otherwise float64
	Unpriced  int      // requests without usage, or of a model without a price: they are in neither sum
	LeftOut   int      // tokens left out of the newest requests, over all sessions
	Sessions  []string // ids, in order
}

// Totals are what the transport has done so far.
func (t *Transport) Totals() Totals {
	t.recording.wait()
	t.mu.Lock()
	defer t.mu.Unlock()
	all := t.totals
	all.Sessions = slices.Sorted(maps.Keys(t.left))
	for _, left := range t.left {
		all.LeftOut += left
	}
	return all
}

func (t *Transport) count(change func(*Totals)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	change(&t.totals)
}

// counted adds a request to the totals.
func (t *Transport) counted(x *exchange, u session.Usage) {
	billed, ok := x.model.Cost(bill.Usage(u))
	if ok = ok && reported(u); !ok {
		billed = 0
	}
	var otherwise float64
	if t.mode == Observe {
		otherwise, _ = x.model.Cost(bill.Usage(t.asIfEdited(x, u)))
		x.line.whole = u.Prompt()
	} else {
		whole := asIfWhole(x, u)
		otherwise, _ = x.model.Cost(bill.Usage(whole))
		x.line.whole = whole.Prompt()
	}
	t.count(func(all *Totals) {
		all.Requests++
		if x.left > 0 {
			all.Edited++
		}
		if ok {
			all.Billed += billed
			all.Otherwise += otherwise
		} else {
			all.Unpriced++
		}
		t.left[x.line.id] = x.left
	})
}

// countedBeside adds a request that belongs to no conversation.
func (t *Transport) countedBeside(m model.Model, u session.Usage) {
	cost, ok := m.Cost(bill.Usage(u))
	t.count(func(all *Totals) {
		all.Beside++
		if ok && reported(u) {
			all.Billed += cost
			all.Otherwise += cost
		} else {
			all.Unpriced++
		}
	})
}

// asIfWhole is what a request would have taken if nothing had been left out of it or of those
// before it. What was sent before would have been read from the cache, unless the cache was cold.
func asIfWhole(x *exchange, u session.Usage) session.Usage {
	prompt := u.Prompt() + x.left
	read := 0
	switch {
	case x.cold:
		read = u.Cache.Read
	case x.pruned != nil: // the cache was lost from the first edit on
		read = max(x.line.whole, u.Cache.Read)
	case u.Cache.Read > 0:
		read = u.Cache.Read + x.left
	}
	return resized(u, prompt, min(read, prompt))
}

// asIfEdited is what a request would have taken with what the session leaves out left out of it.
func (t *Transport) asIfEdited(x *exchange, u session.Usage) session.Usage {
	prompt := max(u.Prompt()-x.left, 0)
	read := u.Cache.Read - x.left
	if x.pruned != nil && !x.cold {
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
