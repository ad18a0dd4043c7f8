package schedule

import (
	"slices"

	"github.com/winnowhq/winnow/plan/rule"
)

// Account is what a session's requests took so far.
type Account struct {
	Steps       int // requests so far
	SinceCommit int // requests since the prompt was rewritten last
	// Sent is how many tokens of the messages the provider's cache has: those of the last request,
	// 0 when it is cold.
	Sent int
	// Colds is how often a request found that the provider's cache had forgotten the session.
	Colds int
	// Base is what system prompt and tools take, Size what the messages take as they would be sent
	// now, in tokens.
	Base, Size int
	// SincePivot is how many requests there were since the past was folded last, Carried the sum of
	// what their messages took, in tokens.
	SincePivot, Carried int
	// Bill is what the requests so far cost, in tokens at the input price.
	Bill float64
	// Left is how many parts are left out, Missed how often the agent got one back because it
	// needed it, and Back how many tokens that brought in all.
	Left, Missed, Back int
	// Before is how many tokens of the messages stand before what an elision leaves out; nil:
	// unknown.
	Before func(rule.Elision) int
}

// Committed notes that the prompt was rewritten.
func (a *Account) Committed() { a.SinceCommit = 0 }

// Folded notes that the past was folded.
func (a *Account) Folded() { a.SinceCommit, a.SincePivot, a.Carried = 0, 0, 0 }

// Defaults of the economic schedule, measured on recorded sessions: see docs/economics.md.
const (
	DefaultLeast = 2_000 // tokens: each commit is an event that somebody may want to understand
	DefaultAhead = 0.5   // of the steps so far: of sessions that came so far, most go on for longer
	DefaultGap   = 40    // steps
	// of the bill so far: smaller gains are lost when the session ends sooner, and each batch hides
	// something that may be needed
	DefaultGain = 0.1
)

// Economic commits when it pays. What could go and is carried costs rent at each step: its tokens
// at the price of reading them from the cache. Leaving it out costs once: what stands behind it is
// written to the cache again instead of read. A batch is committed when the rent that was paid for
// it has reached that cost, so that no more is paid than twice what somebody would have paid who
// knew when the session ends, and when it can be expected to bring enough to be worth a change
// before the session ends or the cache is cold. Of several the one goes that brings most. What
// costs nothing is committed at once: what was not sent yet, and everything when the cache is cold.
//
// Parts like those that the agent missed before must save more, because it may miss them again.
//
// What goes for its age alone waits for pressure, or for somebody to ask.
type Economic struct {
	Least int     // tokens that a batch must save to be paid for; see DefaultLeast
	Ahead float64 // steps that are expected for each step so far; see DefaultAhead
	// Gap is how many steps there are between two moments at which the cache is cold, before the
	// session tells; 0: it is never cold. See DefaultGap.
	Gap  float64
	Gain float64 // the least expected gain of a batch, as a share of the cost of the session so far; see DefaultGain
}

// regret is what leaving out one more part must be expected to cost because it is needed again, in
// tokens at the input price: as often as it happened in this session, a request more, and what it
// brings back.
func (now Moment) regret() float64 {
	a := now.Account
	if a.Missed == 0 {
		return 0
	}
	each := float64(a.Base+a.Size)*now.Read + float64(a.Back)/float64(a.Missed)*now.Write
	return each * float64(a.Missed) / float64(max(a.Left, a.Missed))
}

// ahead is for how many steps a commit can be expected to save something: until the session ends,
// or until the cache is cold, when the same could be left out for nothing. Both come at a rate, and
// that of the second is what the session has shown, with one such moment after Gap steps before it
// began.
func (e Economic) ahead(a Account) float64 {
	ahead := e.Ahead * float64(a.Steps)
	if !(e.Gap > 0) || !(ahead > 0) {
		return ahead
	}
	cold := float64(1+a.Colds) / (e.Gap + float64(a.Steps))
	return 1 / (1/ahead + cold)
}

// NewEconomic returns the schedule with its defaults.
func NewEconomic() Economic {
	return Economic{Least: DefaultLeast, Ahead: DefaultAhead, Gain: DefaultGain, Gap: DefaultGap}
}

// Name is "economic".
func (Economic) Name() string { return "economic" }

// Ready reports whether there is anything to weigh.
func (e Economic) Ready(now Moment) bool {
	return urgent(now) || now.Paying && now.Account.Before != nil
}

// weighed is a candidate with its place in the prompt, and for how many steps its rent was paid.
type weighed struct {
	rule.Elision
	at, age int
}

// Choose takes the batch that brings most.
func (e Economic) Choose(found []rule.Elision, now Moment) []rule.Elision {
	if now.Asked || now.Pressure {
		return found
	}
	if !e.Ready(now) {
		return nil
	}
	found = slices.DeleteFunc(slices.Clone(found),
		func(f rule.Elision) bool { return f.Rule == rule.Backward{}.Name() })
	if now.Cold || len(found) == 0 {
		return found
	}
	all := make([]weighed, len(found))
	for i, f := range found {
		all[i] = weighed{f, now.Account.Before(f), min(now.Age(f), now.Account.SinceCommit)}
	}
	// A batch is everything behind a place of the prompt: what stands behind its first change is
	// written again anyway.
	slices.SortStableFunc(all, func(a, b weighed) int { return b.at - a.at })
	chosen, most := 0, e.Gain*now.Account.Bill
	rate, rent, saved := 0.0, 0.0, 0
	ahead, regret := e.ahead(now.Account), now.regret()
	for i, x := range all {
		rate += float64(x.Saves) * now.Read
		rent += float64(x.Saves) * now.Read * float64(x.age)
		if x.at >= now.Account.Sent {
			chosen = i + 1 // it was not sent yet
			continue
		}
		saved += x.Saves
		if i+1 < len(all) && all[i+1].at == x.at {
			continue
		}
		cost := float64(max(0, now.Account.Sent-x.at-saved)) * (now.Write - now.Read)
		if now.Bound || saved < e.Least || rent < cost {
			continue
		}
		if gain := rate*ahead - cost - regret*float64(i+1); gain > most {
			chosen, most = i+1, gain
		}
	}
	batch := make([]rule.Elision, chosen)
	for i, x := range all[:chosen] {
		batch[i] = x.Elision
	}
	return batch
}
