package page

import (
	"slices"

	"github.com/winnowhq/winnow/look/display"
	"github.com/winnowhq/winnow/store/report"
	"github.com/winnowhq/winnow/text/quantity"
)

// couldGo is what rules would leave out, and what they leave alone.
type couldGo struct {
	Candidates   string // in one sentence
	CandidatesBy []candidates
	Refusals     []string
}

// candidates is what one rule would elide.
type candidates struct {
	Rule, Sum string
	Because   string // if all of them have the same reason
	Entries   []entry
	More      int
}

// mostCandidates is how many of a rule are listed; each of the others says so at its place in the
// log.
const mostCandidates = 100

func (d *document) candidates() {
	r := &d.c.Report
	all := 0
	byRule := map[string][]entry{}
	list := slices.Clone(r.Candidates)
	slices.SortStableFunc(list, func(a, b report.Candidate) int { return b.Saves - a.Saves })
	for _, c := range list {
		all += c.Saves
		if len(byRule[c.Rule]) < mostCandidates {
			byRule[c.Rule] = append(byRule[c.Rule], entry{
				Href: partHref(d.at[c.Part]), What: line(c.Tool, 40), Text: line(d.near(c.Target), 120),
				Because: counted(c.Because), Tokens: quantity.Number(c.Saves),
			})
		}
	}
	d.Candidates = quantity.Number(all) + " tokens, " + display.StateOf(r).Part(all)
	for _, sum := range report.ByRule(r.Candidates, nil) {
		entries := byRule[sum.Rule]
		group := candidates{
			Rule: visible(sum.Rule), Sum: quantity.Count(sum.Parts, "part") + ", " + quantity.Count(sum.Saves, "token"),
			Entries: entries, More: max(0, sum.Parts-len(entries)),
		}
		first := group.Entries[0].Because
		if !slices.ContainsFunc(group.Entries, func(e entry) bool { return e.Because != first }) {
			group.Because = first
			for i := range group.Entries {
				group.Entries[i].Because = ""
			}
		}
		d.CandidatesBy = append(d.CandidatesBy, group)
	}
	sums, general := report.SumRefusals(r.Refusals)
	for _, one := range general {
		d.Refusals = append(d.Refusals, visible(display.Refused(one.Reason, one.Code)))
	}
	for _, one := range sums {
		text := quantity.Count(one.Parts, "part") + " stay"
		if one.Parts == 1 {
			text += "s"
		}
		if one.Rule != "" {
			text += " for " + visible(one.Rule)
		}
		text += ": " + visible(display.Refused(one.Reason, one.Code))
		if one.Others > 0 {
			text += "; " + quantity.Count(one.Others, "other reason")
		}
		d.Refusals = append(d.Refusals, text)
	}
}
