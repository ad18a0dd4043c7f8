package lab

import (
	"fmt"
	"maps"
	"math"
	"strconv"

	"github.com/winnowhq/winnow/text/quantity"
)

// DefaultRegrets is how many missed steps in 100 are bearable by default.
const DefaultRegrets = 2.5

// A recommendation needs this many sessions of this many steps, and this share of the bill saved.
const (
	adviceSessions = 3
	adviceSteps    = 30
	adviceGain     = 0.02
)

// advise recommends what the engine can run and what wins on sessions that it was not chosen on:
// the cheapest policy whose misses are bearable. It returns which of the policies is worth a closer
// look: the recommended one, else the one that came nearest to it, -1 for none.
func (c *chooser) advise() int {
	r := c.report
	among := c.where(func(i int) bool { return c.setups[i].Settings != nil })
	nearest := c.best(among, r.Bearable, -1)
	long := 0
	for i := range r.Sessions {
		if r.Sessions[i].Steps >= adviceSteps {
			long++
		}
	}
	choice := c.choose("", r.Bearable, among)
	switch {
	case long < adviceSessions:
		r.Unadvised = fmt.Sprintf("it takes %d sessions of %d steps or more; found %d",
			adviceSessions, adviceSteps, long)
	case choice == nil:
		r.Unadvised = "none of the policies is winnow's own"
	default:
		r.Unadvised = c.objection(choice)
	}
	if long >= adviceSessions {
		c.adviseProducts()
	}
	if r.Unadvised != "" {
		return nearest
	}
	r.Advice = &Advice{Policy: choice.InSample.Chosen, Reason: c.reason(choice), HeldOut: *choice,
		Settings: maps.Clone(c.setups[nearest].Settings)}
	return nearest
}

// objection says why a choice is not recommended, "" if it is: what it costs on sessions that it
// was not chosen on must be below the baseline's bill by more than its interval, and not above that
// of compaction alone.
func (c *chooser) objection(choice *Choice) string {
	bound, name := rate(c.report.Bearable), choice.InSample.Chosen
	where := fmt.Sprintf("on your %s, what is chosen on the other %s (on all of them %s)", c.report.extent(),
		c.report.By, name)
	switch {
	case choice.InSample.MissedStepsPer100 > c.report.Bearable:
		return fmt.Sprintf("none of the policies that winnow runs stays within %s missed steps in 100", bound)
	case choice.MissedStepsPer100 > c.report.Bearable:
		return fmt.Sprintf("%s has %s in 100; %s taken as bearable", where, regrets(choice.MissedStepsPer100),
			are(bound))
	case choice.Ratio > 1-adviceGain:
		return fmt.Sprintf("%s costs %s of %s: less than %d %% is no reason to change anything",
			where, share(choice.Ratio), c.report.Against(), int(100*adviceGain))
	case choice.Within.High >= 1:
		return fmt.Sprintf("%s costs %s of %s: the interval reaches 1", where, shareWithin(choice.Ratio, choice.Within),
			c.report.Against())
	case c.alone < 0:
		return "compaction alone is not among the policies, and nothing is recommended that costs more; add compact"
	}
	alone := &c.report.Policies[c.alone]
	switch {
	case choice.InSample.Policy == c.alone:
		return fmt.Sprintf("%s is compaction alone, and nothing within %s missed steps in 100 costs less", name, bound)
	case choice.ToAlone > 1+1e-9:
		return fmt.Sprintf("%s costs %s of %s, which is compaction alone", where,
			shareWithin(choice.ToAlone, choice.AloneWithin), alone.Name)
	case choice.AloneWithin.High >= 1 && choice.MissedStepsPer100 >= alone.MissedStepsPer100:
		return fmt.Sprintf("%s costs %s of %s, which is compaction alone, and misses no less: %s in 100, against %s",
			where, shareWithin(choice.ToAlone, choice.AloneWithin), alone.Name, regrets(choice.MissedStepsPer100),
			rate(alone.MissedStepsPer100))
	}
	return ""
}

// reason says what a choice is worth on sessions that it was not chosen on.
func (c *chooser) reason(choice *Choice) string {
	r, alone := c.report, &c.report.Policies[c.alone]
	text := fmt.Sprintf("On your %s, what is chosen on the other %s costs %s of %s and %s of %s (compaction alone), "+
		"with %s in 100, against %s; %s taken as bearable.",
		r.extent(), r.By, shareWithin(choice.Ratio, choice.Within), r.Against(),
		shareWithin(choice.ToAlone, choice.AloneWithin), alone.Name, regrets(choice.MissedStepsPer100),
		rate(alone.MissedStepsPer100), are(rate(c.report.Bearable)))
	same := 0
	for i := range choice.Folds {
		if choice.Folds[i].Policy == choice.InSample.Policy {
			same++
		}
	}
	if n := len(choice.Folds); same < n {
		text += fmt.Sprintf(" %d of %d choices were this policy.", same, n)
	}
	if p := &r.Policies[choice.InSample.Policy]; p.Rose > 0 {
		text += fmt.Sprintf(" It raises the bill of %s, by %.1f %% at most.", count(p.Rose, "session", "sessions"),
			100*p.Worst)
	}
	return text
}

// extent describes what was replayed: "34 sessions (5,120 steps) of 4 sources".
func (r *Report) extent() string {
	steps := 0
	for i := range r.Sessions {
		steps += r.Sessions[i].Steps
	}
	return fmt.Sprintf("%s (%s) of %s", count(len(r.Sessions), "session", "sessions"), count(steps, "step", "steps"),
		count(r.Sources, "source", "sources"))
}

func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return quantity.Number(n) + " " + many
}

// share formats a ratio; rate, below, missed steps in 100.
func share(f float64) string { return fmt.Sprintf("%.2f", f) }

// shareWithin formats a ratio with its interval: "0.62 (0.55 to 0.70)".
func shareWithin(f float64, within Range) string {
	if !within.Known() {
		return share(f)
	}
	return fmt.Sprintf("%s (%s to %s)", share(f), share(within.Low), share(within.High))
}

func regrets(f float64) string {
	if text := rate(f); text != "1" {
		return text + " missed steps"
	}
	return "1 missed step"
}

func are(number string) string {
	if number == "1" {
		return "1 is"
	}
	return number + " are"
}

func rate(f float64) string { return strconv.FormatFloat(math.Round(10*f)/10, 'f', -1, 64) }
