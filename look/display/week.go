package display

import (
	"strings"

	"github.com/winnowhq/winnow/store/report"
	"github.com/winnowhq/winnow/text/quantity"
)

// Spent is the sum of some days, and when: "$215.00 this week", "at least" where requests of
// unknown cost are missing in it.
func Spent(d *report.Days) string {
	when := "in " + quantity.Count(len(d.Days), "day")
	switch len(d.Days) {
	case 1:
		when = "today"
	case 7:
		when = "this week"
	}
	sum := quantity.Dollars(d.Cost) + " " + when
	if d.Uncosted > 0 {
		sum = "at least " + sum
	}
	return sum
}

// Avoidable is what the largest finding would have saved, with its error, on the days that the
// advice looked at; "" where nothing is advised. Findings overlap: their sum says nothing.
func Avoidable(d *report.Days) string {
	if len(d.Advice) == 0 || d.Advice[0].Dollars <= 0 {
		return ""
	}
	most := &d.Advice[0]
	text := "about " + quantity.Dollars(most.Dollars)
	if most.Error > 0 {
		text += " ± " + quantity.Dollars(most.Error)
	}
	text += " avoidable"
	if d.Advised > 0 && d.Advised != len(d.Days) {
		text += " in " + quantity.Count(d.Advised, "day")
	}
	return text
}

// SpentFacts are what is said beside a sum: how it changed, what came from the cache, the dearest
// project, what winnow saved. before is what as many days before cost, 0 where that is unknown.
func SpentFacts(d *report.Days, before float64) (facts []string) {
	if before > 0 {
		facts = append(facts, risen(d.Cost, before)+" "+quantity.Dollars(before)+" in the "+
			quantity.Count(len(d.Days), "day")+" before")
	}
	if d.Prompts > 0 {
		facts = append(facts, quantity.Percent(d.Cached, d.Prompts)+" of the prompts came from the cache")
	}
	if len(d.Projects) > 0 && d.Projects[0].Name != "" && d.Cost > 0 {
		most := d.Projects[0]
		name := most.Name[strings.LastIndexAny(most.Name, `/\`)+1:]
		facts = append(facts, quantity.Share(most.Cost/d.Cost)+" of it in "+name)
	}
	switch g := d.Gateway; {
	case g == nil || !g.Known():
	case g.Net < 0:
		facts = append(facts, "winnow cost "+quantity.Dollars(-g.Net)+" more than it saved")
	default:
		facts = append(facts, "winnow saved "+quantity.Dollars(g.Net))
	}
	return facts
}

// risen is by how much a cost rose or fell.
func risen(now, before float64) string {
	switch share := (now - before) / before; {
	case share >= 0.005:
		return "▲ " + quantity.Share(share) + " from"
	case share <= -0.005:
		return "▼ " + quantity.Share(-share) + " from"
	}
	return "as much as"
}
