package policy

import (
	"github.com/winnowhq/winnow/model"
	"github.com/winnowhq/winnow/pivot"
	"github.com/winnowhq/winnow/schedule"
)

// What a fold is expected to leave and to lose, measured on recorded sessions: see
// docs/economics.md.
const (
	carriedOver  = 4_000 // tokens that the engine writes under a summary
	foldRegrets  = 5     // requests for something that the summary has not
	regretOutput = 120   // tokens that such a request produces
	regretTokens = 1_000 // that it brings back
)

// economicTail is the tail, in tokens, where folds come because they pay: they come more often
// then, and what they leave is carried ever after.
const economicTail = 8_000

// Folding are the settings of a pivot of a session that a model reads.
func (p Policy) Folding(m model.Model) pivot.Settings {
	s := p.Pivot
	if s.Keep == pivot.KeepAuto && !s.SummaryAlone && p.Budget.Economic(m) {
		usable := 0
		if u := p.Budget.Usable(m); !u.Unlimited {
			usable = u.Threshold
		}
		s.Keep = min(economicTail, s.Tail(usable))
	}
	return s
}

// hidesOverflow reports whether the window would have overflowed if nothing had been left out of
// it. A fold would have come by now: what was left out only delays it, and a fold that pays is not
// delayed.
func (p Policy) hidesOverflow(s State) bool {
	u := p.Budget.Usable(s.Model)
	return p.Prune && !p.Pivot.SummaryAlone && !u.Unlimited && s.Account.Base+s.Facts.Total(s.Window) >= u.Threshold
}

// foldPays reports whether a fold has become worth what it costs, long before the window is full:
// when the tokens that it would have spared, at the price of reading them from the cache, add up to
// the price of the summary, of writing what it leaves to the cache, and of what will be missed; and
// when as much again can be expected of the rest of the session. It is the rule by which elisions
// are committed (schedule.Economic): no more is paid than twice what somebody would have paid who
// knew when the session ends.
func (p Policy) foldPays(s State) bool {
	a := s.Account
	usable := 0
	if u := p.Budget.Usable(s.Model); !u.Unlimited {
		usable = u.Threshold
	}
	summary := pivot.AnswerBudget(usable, a.Size, 0)
	leaves := p.Folding(s.Model).Tail(usable) + summary + carriedOver
	if a.Size < 2*leaves {
		return false
	}
	read, write, output := s.Model.Terms(a.Base + a.Size)
	cost := float64(a.Base+a.Size)*read + float64(summary)*output + float64(leaves)*(write-read)
	cost += foldRegrets * (float64(a.Base+a.Size)*read + regretOutput*output + regretTokens*write)
	rent := float64(a.Carried-a.SincePivot*leaves) * read
	ahead := float64(a.Size-leaves) * read * schedule.DefaultAhead * float64(a.Steps)
	return rent >= cost && ahead-cost >= schedule.DefaultGain*a.Bill
}
