package schedule

import (
	"slices"

	"github.com/winnowhq/winnow/rule"
)

// Account is what a session's requests took so far.
type Account struct {
	Steps       int // requests so far
	SinceCommit int // requests since the prompt was rewritten last
	// Sent is how many tokens of the messages the provider's cache has: those of the last request, 0 when it is cold.
	Sent int
	// Base is what system prompt and tools take, Size what the messages take as they would be sent now, in tokens.
	Base, Size int
	// Bill is what the requests so far cost, in tokens at the input price.
	Bill float64
	// Before is how many tokens of the messages stand before what an elision leaves out; nil: unknown.
	Before func(rule.Elision) int
}

// Committed takes in that the prompt was rewritten.
func (a *Account) Committed(int) { a.SinceCommit = 0 }

// Economic commits when it pays. What could go and is carried costs rent at each step: its tokens at the price of reading them from the cache.
// Leaving it out costs once: what stands behind it is written to the cache again instead of read. A batch is committed when the rent that was paid for it
// has reached that cost, so that no more is ever paid than twice what somebody would have paid who knew when the session ends; and it is the batch
// that brings most for it. What costs nothing is committed at once.
type Economic struct {
	// Least is how many tokens a batch must save to be paid for.
	Least int
	// Share of the cost that the rent must have reached; 1 is the rule above.
	Share float64
	// Ahead is how many steps are expected for each step so far.
	Ahead float64
	// Free commits at free moments, too, when fewer tokens are saved.
	Slack float64
}

// Name is "economic".
func (Economic) Name() string { return "economic" }

// Ready reports whether there is anything to weigh.
func (e Economic) Ready(now Moment) bool {
	return urgent(now) || now.Paying && now.Account.Before != nil
}

type weighed struct {
	rule.Elision
	at, age int
}

// Choose takes the batch that brings most.
func (e Economic) Choose(found []rule.Elision, now Moment) []rule.Elision {
	if urgent(now) {
		return found
	}
	if !e.Ready(now) || len(found) == 0 {
		return nil
	}
	all := make([]weighed, len(found))
	for i, f := range found {
		all[i] = weighed{f, now.Account.Before(f), min(now.Age(f), now.Account.SinceCommit)}
	}
	slices.SortStableFunc(all, func(a, b weighed) int { return b.at - a.at })
	best, most := 0, 0.0
	rate, rent, saved := 0.0, 0.0, 0
	ahead := e.Ahead * float64(now.Account.Steps)
	for i, x := range all {
		saves := float64(x.Saves)
		rate += saves * now.Read
		rent += saves * now.Read * float64(x.age)
		if x.at >= now.Account.Sent {
			best = i + 1 // not sent yet
			continue
		}
		saved += x.Saves
		if i+1 < len(all) && all[i+1].at == x.at {
			continue
		}
		cost := float64(max(0, now.Account.Sent-x.at-saved)) * (now.Write - now.Read)
		if saved < e.Least || rent < e.Share*cost || now.Bound {
			continue
		}
		if e.Slack > 0 && cost > e.Slack*now.Account.Bill {
			continue
		}
		if gain := rate*ahead - cost; gain > most {
			best, most = i+1, gain
		}
	}
	chosen := make([]rule.Elision, 0, best)
	for _, x := range all[:best] {
		chosen = append(chosen, x.Elision)
	}
	return chosen
}
