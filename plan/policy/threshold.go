package policy

import (
	"github.com/winnowhq/winnow/model"
	"github.com/winnowhq/winnow/plan/pivot"
	"github.com/winnowhq/winnow/plan/schedule"
	"github.com/winnowhq/winnow/session"
)

// What a fold is expected to leave and to lose, measured on recorded sessions: see
// docs/economics.md.
const (
	carriedOver = 8_000 // tokens that the engine writes under a summary
	// leastSteps is for how many steps at least what a fold leaves is taken to be carried.
	leastSteps = 40

	// What a request for something that was folded produces, and what it brings back, in tokens.
	regretOutput = 120
	regretTokens = 1_500
	// regretSteps are the newest steps that tell what a fold will lose, and regretWeight is how
	// many such requests it is taken to cause for each text from further back that they quoted:
	// more than are counted, for an agent does not notice all that it misses. Where compaction
	// alone would have folded as well they count once.
	regretSteps  = 20
	regretWeight = 3
)

// weighedTail is the tail where folds come because the window would be full.
const weighedTail = 16_000

// Folding are the settings of a pivot of a session as it stands. What stays word for word because
// the work continues with it is weighed against a request for it, at today's size of the prompt.
func (p Policy) Folding(s State) pivot.Settings {
	f := p.Pivot
	if f.SummaryAlone {
		return f
	}
	read, write, _ := s.Model.Terms(s.Account.Base + s.Account.Size)
	if kept := write + read*float64(max(leastSteps, s.Account.SincePivot)); kept > 0 {
		f.Miss = regretWeight * p.regret(s) / kept
	}
	most := 0
	switch {
	case f.Keep != pivot.KeepAuto:
	case p.Budget.Economic(s.Model):
		most = tail(p.Name)
	case p.weighs():
		most = weighedTail
	}
	if most > 0 {
		f.Keep = most
		if usable := p.usable(s.Model); usable > 0 {
			f.Keep = min(most, max(p.Pivot.Tail(usable), usable/6))
		}
	}
	return f
}

// usable are the tokens that a prompt may have, 0 if they are unlimited.
func (p Policy) usable(m model.Model) int {
	if u := p.Budget.Usable(m); !u.Unlimited {
		return u.Threshold
	}
	return 0
}

// regret is what a request for something that was folded costs now.
func (p Policy) regret(s State) float64 {
	size := s.Account.Base + s.Account.Size
	read, write, output := s.Model.Terms(size)
	return float64(size)*read + regretOutput*output + regretTokens*write
}

// weighs reports whether the policy weighs what leaving something out costs and saves.
func (p Policy) weighs() bool {
	_, economic := p.Schedule.(schedule.Economic)
	return economic && p.Prune
}

// hidesOverflow reports whether the window would have overflowed if nothing had been left out of
// it, and nothing had come back for that. A fold would have come by now: what was left out only
// delays it, and a fold that pays is not delayed.
func (p Policy) hidesOverflow(s State) bool {
	u := p.Budget.Usable(s.Model)
	return p.weighs() && !p.Pivot.SummaryAlone && !u.Unlimited &&
		s.Account.Base+s.Facts.Total(s.Window)-s.Account.Back >= u.Threshold
}

// foldPays reports whether a fold has become worth what it costs, long before the window is full:
// when the tokens that it would have spared, at what carrying them costs, add up to the price of
// the summary, of writing what it leaves to the cache, and of what will be missed; and when as much
// again can be expected of the rest of the session. It is the rule by which elisions are committed
// (schedule.Economic): no more is paid than twice what somebody would have paid who knew when the
// session ends.
//
// What will be missed is told by what the newest steps quoted: work that goes on with texts from
// further back will go on with them behind the fold as well.
func (p Policy) foldPays(s State) bool {
	economic := p.Budget.Economic(s.Model)
	if !economic && !p.weighs() {
		return false
	}
	a := s.Account
	usable := p.usable(s.Model)
	summary := pivot.AnswerBudget(usable, a.Size, 0)
	leaves := p.Folding(s).Tail(usable) + summary + carriedOver
	if a.Size < 2*leaves {
		return false
	}
	read, write, output := s.Model.Terms(a.Base + a.Size)
	cost := float64(a.Base+a.Size)*read + float64(summary)*output + float64(leaves)*(write-read)
	each := carrying(a, read, write)
	rent := float64(a.Carried-a.SincePivot*leaves) * each
	if rent < cost {
		return false
	}
	weight := float64(regretWeight) // the window is looked through now, when a fold may pay, not at every step
	if p.hidesOverflow(s) {
		weight = 1
	} else if !economic {
		return false
	}
	cost += weight * float64(p.window(s).Reach(regretSteps)) * p.regret(s)
	ahead := float64(a.Size-leaves) * each * schedule.DefaultAhead * float64(a.Steps)
	return rent >= cost && ahead-cost >= schedule.DefaultGain*a.Bill
}

// foldsCold reports whether the past is folded because the cache is cold: all of the prompt would
// be written to it anew, and of a folded one only what the fold leaves.
func (p Policy) foldsCold(s State) bool {
	if p.ColdFold <= 0 || s.Model.BoundReasoning && s.inRound() {
		return false
	}
	a, usable, least := s.Account, p.usable(s.Model), p.ColdFold
	if usable > 0 {
		least = min(least, usable*2/3)
	}
	leaves := p.Folding(s).Tail(usable) + pivot.AnswerBudget(usable, a.Size, 0) + carriedOver
	return a.Base+a.Size >= least && a.Size >= 2*leaves
}

// inRound reports whether the newest message is an answer whose calls have ended.
func (s State) inRound() bool {
	return len(s.Log) > 0 && s.Log[len(s.Log)-1].Role == session.Assistant
}

// carrying is what a token of the prompt costs in a step: it is read from the cache, or, as often
// as that had forgotten the session so far, written there again.
func carrying(a schedule.Account, read, write float64) float64 {
	return read + float64(a.Colds)/(schedule.DefaultGap+float64(a.Steps))*(write-read)
}
