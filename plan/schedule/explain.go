package schedule

import (
	"fmt"
	"math"
	"slices"

	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/text/quantity"
)

// Wait says why something that was found is not committed yet. The zero value is of what is.
type Wait struct {
	Code  rule.Code `json:"code"`  // the reason as a word
	Parts int       `json:"parts"` // parts in the batch that would pay soonest
	Saves int       `json:"saves"` // tokens that this batch would save at each step
	// Tokens that would be written to the provider's cache again for it, once.
	Rewrites int `json:"rewrites"`
	// Steps, from now on, after which the savings have paid for the rewrite.
	Steps int `json:"steps,omitzero"`
}

// When says in a few words when it may go.
func (w Wait) When() string {
	switch w.Code {
	case "":
		return "with the next request"
	case rule.Unprofitable:
		if w.Steps == 0 {
			return "when the cache is cold, or with a compaction"
		}
		return "pays in about " + quantity.Count(w.Steps, "step")
	case rule.BelowMinimum:
		return "when there is more of it"
	case rule.Recent:
		return "when the turn has ended"
	case rule.Fits:
		return "when the window is full"
	case rule.Disabled:
		return "not while compaction.prune is off"
	}
	return "only when asked"
}

// Before reports whether what waits so may go sooner than what waits as the other does.
func (w Wait) Before(other Wait) bool {
	if a, b := w.rank(), other.rank(); a != b {
		return a < b
	}
	return w.Steps < other.Steps
}

// rank orders the reasons by how soon they pass.
func (w Wait) rank() int {
	switch {
	case w.Code == "":
		return 0
	case w.Code == rule.Recent:
		return 1
	case w.Code == rule.Unprofitable && w.Steps > 0:
		return 2
	case w.Code == rule.BelowMinimum:
		return 3
	case w.Code == rule.Unprofitable:
		return 4
	case w.Code == rule.Fits:
		return 5
	}
	return 6
}

// String says it with figures.
func (w Wait) String() string {
	switch w.Code {
	case "":
		return "it goes with the next request"
	case rule.Unprofitable:
		if w.Steps == 0 {
			return "it waits until the provider's cache is cold, or for a compaction: " +
				"the schedule, or the model's reasoning, asks for that"
		}
		with := ""
		if w.Parts > 1 {
			with = fmt.Sprintf("with %s more ", quantity.Number(w.Parts-1))
		}
		return with + "it " + w.figures()
	case rule.BelowMinimum:
		return quantity.Number(w.Saves) + " tokens could go, too little to rewrite the prompt for"
	case rule.Recent:
		return "it waits until the turn has ended"
	case rule.Fits:
		return "it goes for its age alone: it waits until the window is full, or until somebody asks"
	case rule.Restored:
		return "it was restored; pruning on demand takes it again"
	case rule.Disabled:
		return "pruning is off (compaction.prune)"
	}
	return string(w.Code)
}

// figures are what a batch would save and what it would cost.
func (w Wait) figures() string {
	return fmt.Sprintf("would save %s tokens a step and rewrite %s; that pays in about %s", quantity.Number(w.Saves),
		quantity.Number(w.Rewrites), quantity.Count(w.Steps, "step"))
}

// Explain says of each elision that a schedule left for later why.
func Explain(s Schedule, waiting []rule.Elision, now Moment) []Wait {
	waits := make([]Wait, len(waiting))
	all := Wait{Code: rule.BelowMinimum, Parts: len(waiting), Saves: rule.Saves(waiting)}
	e, economic := s.(Economic)
	_, cold := s.(Cold)
	switch {
	case now.Bound || cold:
		all.Code = rule.Unprofitable
	case !economic && !s.Ready(now):
		all.Code = rule.Recent
	case economic:
		e.explain(waits, waiting, now)
		return waits
	}
	for i := range waits {
		waits[i] = all
	}
	return waits
}

// explain finds for each elision the batch that pays soonest among those that have it: it and what
// stands behind it, and what stands before it down to some place. Whatever a schedule asks for
// besides, nothing pays before this.
func (e Economic) explain(waits []Wait, waiting []rule.Elision, now Moment) {
	order := make([]int, 0, len(waiting))
	at := make([]int, len(waiting))
	all := Wait{Code: rule.BelowMinimum}
	for i := range waiting {
		if waiting[i].Rule == (rule.Backward{}).Name() {
			waits[i] = Wait{Code: rule.Fits, Parts: 1, Saves: waiting[i].Saves}
			continue
		}
		order = append(order, i)
		all.Parts, all.Saves = all.Parts+1, all.Saves+waiting[i].Saves
	}
	if now.Account.Before == nil || all.Saves < e.Least {
		for _, i := range order {
			waits[i] = all
		}
		return
	}
	for _, i := range order {
		at[i] = now.Account.Before(waiting[i])
	}
	slices.SortStableFunc(order, func(i, j int) int { return at[j] - at[i] })
	batches := make([]Wait, len(order))
	saves, sent := 0, 0
	for n, i := range order {
		saves += waiting[i].Saves
		if at[i] < now.Account.Sent {
			sent += waiting[i].Saves
		}
		batches[n] = Wait{Code: rule.Unprofitable, Parts: n + 1, Saves: saves,
			Rewrites: max(0, now.Account.Sent-at[i]-sent)}
		batches[n].Steps = pays(batches[n], now)
	}
	var best Wait
	for n := len(order) - 1; n >= 0; n-- {
		if best.Code == "" || batches[n].Saves >= e.Least && batches[n].Steps <= best.Steps {
			best = batches[n]
		}
		waits[order[n]] = best
	}
}

// pays is after how many steps what a batch saves has paid for what it rewrites, at least 1.
func pays(b Wait, now Moment) int {
	cost, rent := float64(b.Rewrites)*(now.Write-now.Read), float64(b.Saves)*now.Read
	if !(cost > 0) || !(rent > 0) {
		return 1
	}
	return int(min(math.Ceil(cost/rent), math.MaxInt32))
}

// Summary says of all that waits, as one, why: by what pays soonest.
func Summary(waits []Wait) rule.Refusal {
	if len(waits) == 0 {
		return rule.Refusal{}
	}
	best := waits[0]
	for _, w := range waits {
		if w.Before(best) {
			best = w
		}
	}
	r := rule.Refusal{Code: best.Code, Reason: best.String()}
	if best.Code == rule.Unprofitable && best.Steps > 0 {
		what := "the part that pays"
		if best.Parts > 1 {
			what = fmt.Sprintf("the %s parts that pay", quantity.Number(best.Parts))
		}
		r.Reason = what + " soonest " + best.figures()
	}
	return r
}
