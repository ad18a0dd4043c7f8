package lab

import (
	"fmt"
	"maps"
	"math"
	"strconv"

	"github.com/winnowhq/winnow/quantity"
)

// DefaultRegrets is how many misses in 100 steps are bearable by default.
const DefaultRegrets = 2.5

// A recommendation needs this many sessions of this many steps, and this share of the bill saved.
const (
	adviceSessions = 3
	adviceSteps    = 30
	adviceGain     = 0.02
)

// advise recommends the policy that costs least of those that the engine can run and that cause no
// more regrets than is bearable; 0 is DefaultRegrets. It returns which of the policies is worth a
// closer look: the recommended one, else the one that came nearest to it, -1 for none.
func (r *Report) advise(setups []Setup, most float64) int {
	if most <= 0 {
		most = DefaultRegrets
	}
	best, cheaper := r.cheapest(setups, most)
	nearest := best
	if best < 0 {
		nearest = cheaper
	}
	long := 0
	for i := range r.Sessions {
		if r.Sessions[i].Steps >= adviceSteps {
			long++
		}
	}
	if long < adviceSessions {
		r.Unadvised = fmt.Sprintf("%s %d steps or more: too little to recommend anything by; it takes %d such sessions",
			count(long, "session has", "sessions have"), adviceSteps, adviceSessions)
		if long == 0 {
			r.Unadvised = fmt.Sprintf("no session has %d steps or more: too little to recommend anything by; it takes %d such sessions", adviceSteps, adviceSessions)
		}
		return nearest
	}
	bound := rate(most)
	if best < 0 {
		r.Unadvised = fmt.Sprintf("none of the policies that winnow runs stays within %s misses in 100 steps", bound)
		return nearest
	}
	p := &r.Policies[best]
	if p.Ratio > 1-adviceGain {
		r.Unadvised = fmt.Sprintf("on your %s the cheapest policy within %s misses in 100 steps, %s, costs %s of %s: less than %d %% is no reason to change anything",
			r.extent(), bound, p.Name, share(p.Ratio), r.Baseline, int(100*adviceGain))
		return nearest
	}
	reason := fmt.Sprintf("On your %s it costs %s of %s, with %s in 100 steps; %s taken as bearable.",
		r.extent(), share(p.Ratio), r.Baseline, regrets(p.Rate), are(bound))
	if cheaper >= 0 && r.Policies[cheaper].Ratio < p.Ratio {
		c := &r.Policies[cheaper]
		reason += fmt.Sprintf(" %s is cheaper still, %s, at %s.", c.Name, share(c.Ratio), regrets(c.Rate))
	} else if p.Rose > 0 {
		reason += fmt.Sprintf(" It raises the bill of %s, by %.1f %% at most.", count(p.Rose, "session", "sessions"),
			100*p.Worst)
	}
	r.Advice = &Advice{Policy: p.Name, Reason: reason, Settings: maps.Clone(setups[best].Settings)}
	return best
}

// cheapest are, of the policies that the engine can run, the cheapest of those that are bearable,
// and of those that are not; -1 for none.
func (r *Report) cheapest(setups []Setup, most float64) (bearable, other int) {
	bearable, other = -1, -1
	for i, s := range setups {
		best := &bearable
		if r.Policies[i].Rate > most {
			best = &other
		}
		if s.Settings != nil && (*best < 0 || r.Policies[i].Ratio < r.Policies[*best].Ratio) {
			*best = i
		}
	}
	return bearable, other
}

// extent describes what was replayed: "34 sessions (5,120 steps)".
func (r *Report) extent() string {
	steps := 0
	for i := range r.Sessions {
		steps += r.Sessions[i].Steps
	}
	return fmt.Sprintf("%s (%s)", count(len(r.Sessions), "session", "sessions"), count(steps, "step", "steps"))
}

func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return quantity.Number(n) + " " + many
}

// share formats a ratio; rate, below, misses in 100 steps.
func share(f float64) string { return fmt.Sprintf("%.2f", f) }

func regrets(f float64) string {
	if text := rate(f); text != "1" {
		return text + " misses"
	}
	return "1 miss"
}

func are(number string) string {
	if number == "1" {
		return "1 is"
	}
	return number + " are"
}

func rate(f float64) string { return strconv.FormatFloat(math.Round(10*f)/10, 'f', -1, 64) }
