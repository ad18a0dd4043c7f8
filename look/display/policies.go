package display

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/winnowhq/winnow/lab"
	"github.com/winnowhq/winnow/model/bill"
	"github.com/winnowhq/winnow/text/quantity"
)

// Policy is how one policy of a replay is called wherever it is shown.
type Policy struct {
	Name  string // with its window, where several policies have one name
	Key   string // a letter; in a sweep what sets the policy apart, such as "40k"
	Sweep int    // its sweep, -1 if it is by itself
	On    bool   // the frontier: no other policy is as cheap with as few missed steps
	// Replaced: something was chosen from its sweep and judged on sessions that were left out. That
	// has a standing of its own, and neither tables nor pictures show this one.
	Replaced bool
}

// Standings are the policies of a report, in its order, and behind them what was chosen with
// sessions left out and judged on these.
func Standings(r *lab.Report) []*lab.Standing {
	all := make([]*lab.Standing, 0, len(r.Policies)+len(r.Holdout))
	for i := range r.Policies {
		all = append(all, &r.Policies[i])
	}
	for i := range r.Holdout {
		if s := &r.Holdout[i].Standing; s.Name != "" {
			all = append(all, s)
		}
	}
	return all
}

// replaced reports whether a choice stands for the policies of a sweep.
func replaced(r *lab.Report, group string) bool {
	return group != "" && slices.ContainsFunc(r.Holdout, func(c lab.Choice) bool {
		return c.Of == group && c.Standing.Name != ""
	})
}

// Policies names all standings of a report, and its sweeps in the order in which they appear.
func Policies(r *lab.Report) (all []Policy, sweeps []string) {
	standings := Standings(r)
	var shown []lab.Standing
	times := map[string]int{}
	for _, s := range standings {
		times[s.Name]++
		if !replaced(r, s.Group) {
			shown = append(shown, *s)
		}
	}
	on := lab.Undominated(shown)
	letters := 0
	members := map[int][]int{}
	for i, s := range standings {
		one := Policy{Name: cmp.Or(s.Name, "no name"), Sweep: -1, Replaced: replaced(r, s.Group)}
		if !one.Replaced {
			one.On, on = on[0], on[1:]
		}
		if times[s.Name] > 1 {
			one.Name += ", " + windowOf(s.Window)
		}
		if s.Group == "" {
			one.Key = string(letter(letters))
			letters++
		} else {
			if one.Sweep = slices.Index(sweeps, s.Group); one.Sweep < 0 {
				one.Sweep = len(sweeps)
				sweeps = append(sweeps, s.Group)
			}
			members[one.Sweep] = append(members[one.Sweep], i)
		}
		all = append(all, one)
	}
	for _, of := range members {
		names := make([]string, len(of))
		for k, i := range of {
			names[k] = standings[i].Name
		}
		for k, own := range distinct(names) {
			all[of[k]].Key = own
		}
	}
	return all, sweeps
}

func windowOf(tokens int) string {
	switch {
	case tokens == lab.Unlimited:
		return "unlimited"
	case tokens <= 0:
		return "the model's window"
	}
	return quantity.Number(tokens) + " tokens"
}

// AsRecorded is the name of the table's first row: what the sessions really cost.
const AsRecorded = "as recorded"

// Column is one of the table's columns of figures.
type Column struct {
	Head, Meaning string
	// Rank says which column a narrow table leaves out first: the one with the highest rank. Those
	// of rank 0 stay.
	Rank   int
	Strong bool

	cell     func(s *lab.Standing) Cell
	recorded func(r *lab.Report, all bill.Bill) string
}

// Cell is a figure. A bad one is to be noticed.
type Cell struct {
	Text string
	Bad  bool
}

// Cell is the column's figure for a policy.
func (c *Column) Cell(s *lab.Standing) Cell { return c.cell(s) }

// Recorded is the column's figure for what the sessions really cost, or "".
func (c *Column) Recorded(r *lab.Report) string {
	if c.recorded == nil {
		return ""
	}
	return c.recorded(r, r.Paid.Total())
}

// Columns are the columns of figures that the table of policies has.
func Columns(r *lab.Report) []Column {
	all := []Column{
		{Head: "bill", Meaning: "over all sessions", recorded: recordedBill,
			cell: text(func(s *lab.Standing) string { return quantity.Bill(s.Bill.Total(), r.Relative) })},
		{Head: "ratio", Meaning: "to the baseline's bill", Strong: true, recorded: recordedRatio,
			cell: text(func(s *lab.Standing) string { return Ratio(s.Ratio) })},
		{Head: "90 %", Meaning: "where it would lie nine times in ten on other " + over(r), Rank: 1,
			cell: text(func(s *lab.Standing) string { return Within(s.Within, 2) })},
		{Head: "missed", Meaning: "steps in 100 that needed what was left out", Strong: true,
			cell: text(func(s *lab.Standing) string { return Rate(s.MissedStepsPer100) })},
		{Head: "90 %", Rank: 2, cell: text(func(s *lab.Standing) string { return Within(s.MissedWithin, 1) })},
		{Head: "rose", Meaning: "share of sessions whose bill is higher than the baseline's", Rank: 3,
			cell: text(func(s *lab.Standing) string { return shareOf(s.Rose, r) })},
		{Head: ">2%", Meaning: "by more than 2 %", Rank: 4,
			cell: func(s *lab.Standing) Cell { return Cell{shareOf(s.RoseMore, r), s.RoseMore > 0} }},
		{Head: "hits", Meaning: "prompt tokens that were read from the cache", Rank: 6,
			recorded: func(_ *lab.Report, all bill.Bill) string { return quantity.Share(all.CacheShare()) },
			cell:     text(func(s *lab.Standing) string { return quantity.Share(s.Hits) })},
		{Head: "folds", Meaning: "compactions", Rank: 5, cell: number(func(s *lab.Standing) int { return s.Folds })},
		{Head: "commits", Meaning: "of prunings", Rank: 7,
			cell: number(func(s *lab.Standing) int { return s.Commits })},
	}
	if slices.ContainsFunc(r.Policies, func(s lab.Standing) bool { return s.Over > 0 }) {
		all = append(all, Column{Head: "over", Meaning: "steps whose prompt is larger than the window", Rank: 8,
			cell: func(s *lab.Standing) Cell { return Cell{quantity.Number(max(0, s.Over)), s.Over > 0} }})
	}
	return all
}

// Details are the columns of the second table of policies: what else is lost, what the bill would
// be if an agent that sees less works longer, and how sessions differ.
func Details(r *lab.Report) []Column {
	decimal := func(of func(s *lab.Standing) float64) func(s *lab.Standing) Cell {
		return text(func(s *lab.Standing) string { return quantity.Decimal(of(s), 2) })
	}
	rate := func(of func(s *lab.Standing) float64) func(s *lab.Standing) Cell {
		return text(func(s *lab.Standing) string { return Rate(of(s)) })
	}
	all := []Column{
		{Head: "items", Meaning: "outputs and other pieces, in 100 steps, that missed steps needed", Rank: 1,
			cell: rate(func(s *lab.Standing) float64 { return s.MissedItemsPer100 })},
		{Head: "edits", Meaning: "in 100 steps, whose old text stands only in what was left out", Rank: 2,
			cell: rate(func(s *lab.Standing) float64 { return s.LostEditsPer100 })},
		{Head: "inputs", Meaning: "names and paths of calls that do", Rank: 3,
			cell: rate(func(s *lab.Standing) float64 { return s.LostInputsPer100 })},
	}
	if slices.ContainsFunc(r.Policies, func(s lab.Standing) bool { return s.Region != nil }) {
		all = append(all, Column{Head: "region", Meaning: "the ratio where a miss brings back a region alone", Rank: 4,
			cell: text(func(s *lab.Standing) string {
				if s.Region == nil {
					return ""
				}
				return Ratio(s.Region.Ratio)
			})})
	}
	all = append(all,
		Column{Head: "λ.27", Meaning: "the ratio if the agent takes 0.27 more steps for each 1,000 tokens removed",
			Rank: 5, cell: decimal(func(s *lab.Standing) float64 { return s.Lambda.Some })},
		Column{Head: "λ1.03", Meaning: "the same for 1.03", Rank: 6,
			cell: decimal(func(s *lab.Standing) float64 { return s.Lambda.Much })},
		Column{Head: "even", Meaning: "how many take away all that is saved", Rank: 7, cell: text(breakEven)},
		Column{Head: "p10", Meaning: "one session in ten has a lower ratio", Rank: 10,
			cell: decimal(func(s *lab.Standing) float64 { return s.P10 })},
		Column{Head: "p50", Meaning: "one in two", Rank: 9,
			cell: decimal(func(s *lab.Standing) float64 { return s.P50 })},
		Column{Head: "p90", Meaning: "nine in ten", Rank: 8,
			cell: decimal(func(s *lab.Standing) float64 { return s.P90 })},
		Column{Head: "mean", Meaning: "of the sessions' ratios", Rank: 14,
			cell: text(func(s *lab.Standing) string { return Ratio(s.Mean) })},
		Column{Head: "worst", Meaning: "the largest rise of a session", Rank: 12, cell: func(s *lab.Standing) Cell {
			return Cell{quantity.Signed(s.Worst), s.Worst > 0.02}
		}})
	if slices.ContainsFunc(r.Policies, func(s lab.Standing) bool { return s.Bound > 0 }) {
		all = append(all, Column{Head: "bound", Rank: 13,
			Meaning: "how many times the cheapest bill with knowledge of the future",
			cell:    decimal(func(s *lab.Standing) float64 { return s.Bound })})
	}
	return all
}

// breakEven is "" for a policy that removes nothing.
func breakEven(s *lab.Standing) string {
	if s.Lambda.BreakEven == nil {
		return ""
	}
	return strings.Replace(quantity.Decimal(*s.Lambda.BreakEven, 2), "-", "−", 1)
}

func text(of func(s *lab.Standing) string) func(s *lab.Standing) Cell {
	return func(s *lab.Standing) Cell { return Cell{Text: of(s)} }
}

func number(of func(s *lab.Standing) int) func(s *lab.Standing) Cell {
	return text(func(s *lab.Standing) string { return quantity.Number(max(0, of(s))) })
}

// shareOf is a number of sessions as a share of all.
func shareOf(n int, r *lab.Report) string {
	return quantity.Percent(max(0, n), max(1, len(r.Sessions)))
}

// over says what intervals are over.
func over(r *lab.Report) string { return cmp.Or(r.By, lab.BySources) }

// Within writes an interval, "" if it says nothing.
func Within(r lab.Range, decimals int) string {
	if !r.Known() {
		return ""
	}
	return quantity.Decimal(r.Low, decimals) + "–" + quantity.Decimal(r.High, decimals)
}

// Ratio writes a bill relative to another, and Rate missed steps in a hundred.
func Ratio(v float64) string { return quantity.Decimal(v, 3) }

// Rate writes missed steps, or items, in a hundred steps.
func Rate(v float64) string { return quantity.Decimal(v, 1) }

// recordedBill is in dollars, whatever the unit of the other bills.
func recordedBill(_ *lab.Report, all bill.Bill) string {
	switch {
	case all.Dollars() == nil:
		return "unknown"
	case all.Unknown() > 0:
		return "≥ " + quantity.Dollars(all.Cost)
	}
	return quantity.Dollars(all.Cost)
}

// recordedRatio is "" if the baseline's bill is in tokens, or some of the recorded bill is unknown.
func recordedRatio(r *lab.Report, all bill.Bill) string {
	base := r.Policies[Baseline(r)].Bill.Total()
	if r.Relative || all.Unknown() > 0 || !(base > 0) {
		return ""
	}
	return Ratio(all.Cost / base)
}

// Baseline is the position of the policy that the others are compared with.
func Baseline(r *lab.Report) int {
	return max(0, slices.IndexFunc(r.Policies, func(s lab.Standing) bool { return s.Name == r.Baseline }))
}

// Advised is the name of the policy that gains and losses are told of: the one that is recommended,
// else the one closest to it. It is "" if there is neither.
func Advised(r *lab.Report) string {
	if r.Advice != nil && r.Advice.Policy != "" {
		return r.Advice.Policy
	}
	return r.Subject
}

// Changes is a list of sessions whose bill would change most.
type Changes struct {
	Title, Under string
	Good         bool
	Rows         []Changed
}

// Changed is one of them.
type Changed struct{ Session, Name, Change, Before, After, Why string }

// ChangesOf lists the sessions that would gain most, and those that would lose most.
func ChangesOf(r *lab.Report) []Changes {
	under := ""
	if policy := Advised(r); policy != "" {
		under = "under " + policy + ", against " + r.Against()
	}
	var out []Changes
	for _, list := range []struct {
		title string
		good  bool
		all   []lab.Change
	}{{"Would gain most", true, r.Gains}, {"Would lose most", false, r.Losses}} {
		one := Changes{Title: list.title, Under: under, Good: list.good}
		for _, c := range list.all {
			one.Rows = append(one.Rows, Changed{c.Session, c.Name, quantity.Signed(c.After/c.Before - 1),
				quantity.Bill(c.Before, r.Relative), quantity.Bill(c.After, r.Relative), quantity.Sentence(c.Why)})
		}
		if len(one.Rows) > 0 {
			out = append(out, one)
		}
	}
	return out
}

// Capital begins a sentence with a capital letter.
func Capital(text string) string {
	first, size := utf8.DecodeRuneInString(text)
	if first == utf8.RuneError {
		return text
	}
	return string(unicode.ToUpper(first)) + text[size:]
}
